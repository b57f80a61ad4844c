//! Frames of attackers: changed, truncated, repeated and invented. A node drops such frames or ends
//! the session, and continues.

use garrick_actor::NoReply;
use proptest::prelude::*;

use crate::attacks::{send_entries, send_frame, use_exports};
use crate::forged::{
    DEAD, Forged, NODE, NUMBER, NUMBERS, ORDERS, PEER, SEEN, SESSION, TAKEN, has_entries,
    put_number,
};
use crate::pair::{Msg, Pair, ready};

/// Type of the entry which reports that a node leaves the cluster.
const LEAVE: u8 = 5;

#[test]
fn changed_and_cut_frames_are_dropped() {
    let pair = Pair::new();
    let frames = pair.talk();
    let delivered = pair.server.sample().delivered;
    let mut count = 0;
    for frame in &frames {
        for at in 0..frame.len() {
            let mut changed = frame.clone();
            changed[at] ^= 0x55;
            pair.inject(changed);
            pair.inject(frame[..at].to_vec());
            count += 2;
        }
        // A frame that comes again. Those without entries do no harm.
        pair.inject(frame.clone());
        count += u64::from(has_entries(frame));
    }
    let sample = pair.server.sample();
    assert_eq!(sample.delivered, delivered);
    assert!(sample.frames_dropped >= count, "{sample:?}");
    pair.check();
}

#[test]
fn changed_frames_with_right_checksums_do_no_harm() {
    for frame in 0..Pair::new().talk().len() {
        let length = Pair::new().talk()[frame].len();
        for at in 0..length {
            // Who says that a node has started again, and has the right name and checksum, is
            // believed.
            if (NODE..PEER).contains(&at) || (SESSION..NUMBER).contains(&at) {
                continue;
            }
            let pair = Pair::new();
            let mut changed = pair.talk()[frame].clone();
            changed[at] = changed[at].wrapping_add(1);
            // As the next frame.
            pair.inject(Forged::of(changed).with(NUMBER, 100).sign());
            pair.check();
        }
    }
}

#[test]
fn numbers_at_their_limits_do_no_harm() {
    for place in NUMBERS {
        for number in [0, 1, 2, 1 << 63, u64::MAX - 1, u64::MAX] {
            for entries in [&[][..], &[LEAVE]] {
                let pair = Pair::met();
                let count = entries.len() as u32;
                let forged = pair.forge("server", 50).entries(count, entries);
                let frame = forged.with(place, number).sign();
                pair.inject(frame.clone());
                pair.inject(frame);
                if number <= 1 || place != NODE && place != SESSION {
                    pair.check();
                }
                pair.pass(20);
                pair.check_links();
            }
        }
    }
}

#[test]
fn frames_of_older_sessions_are_dropped() {
    let pair = Pair::met();
    // The client does not answer.
    pair.spy.cut(&["server", "client"]);
    let leave = |session| {
        let forged = pair.forge("server", 1).entries(1, &[LEAVE]);
        pair.inject(forged.with(SESSION, session).sign());
        let sample = pair.server.sample();
        (sample.losses, sample.frames_dropped)
    };
    let dropped = pair.server.sample().frames_dropped;
    assert_eq!(leave(1 << 40), (1, dropped));
    assert_eq!(leave(3), (1, dropped + 1));
    assert_eq!(leave(1 << 40), (1, dropped + 2));
    assert_eq!(leave((1 << 40) + 1), (2, dropped + 2));
    pair.check_links();
}

#[test]
fn a_frame_that_cannot_be_read_ends_the_session() {
    let pair = Pair::met();
    let question = pair.far.ask(Msg::Wait);
    pair.run();
    pair.inject(pair.forge("server", 50).entries(1, &[99]).sign());
    let sample = pair.server.sample();
    assert_eq!(sample.losses, 1);
    let refusal = sample.refusal.unwrap();
    let expected = "a frame from the node client: an entry is of an unknown kind";
    assert_eq!(&*refusal, expected);
    // The other node is told at once.
    assert_eq!(ready(question), Some(Err(NoReply::NodeLost)));
    assert_eq!(pair.client.sample().losses, 1);
    pair.check();
}

#[test]
fn what_was_not_sent_is_not_confirmed() {
    for place in [TAKEN, ORDERS] {
        let pair = Pair::met();
        let forged = pair.forge("server", 50).with(SEEN, 2);
        pair.inject(forged.clone().with(place, 1_000).sign());
        assert_eq!(pair.server.sample().losses, 0, "of another session");
        pair.inject(forged.with(SEEN, 1).with(place, 1_000).sign());
        assert_eq!(pair.server.sample().losses, 1);
        pair.check();
    }
}

/// Sends the frame with these entries to the server. Checks that the server sends at most 100 times
/// as many bytes within a second as it has received.
fn check_echo(count: u32, entries: &[u8]) {
    let pair = Pair::met();
    let before = pair.server.sample();
    let frame = pair.forge("server", 2).entries(count, entries).sign();
    let length = frame.len() as u64;
    pair.inject(frame);
    pair.pass(2);
    let after = pair.server.sample();
    let sent = after.bytes_sent - before.bytes_sent;
    assert!(sent < 100 * length, "{length} bytes in, {sent} bytes out");
    // The frame was not dropped.
    assert_eq!(after.frames_dropped, before.frames_dropped);
    pair.check();
}

#[test]
fn a_small_frame_with_many_replies_has_small_answers() {
    let mut entries = Vec::new();
    for _ in 0..100 {
        // A message to the service `x`.
        entries.extend([1, 0, 1, b'x']);
        entries.extend([0; 8]);
        // Replies, from the question 1 on, no addresses, no content.
        put_number(65_536, &mut entries);
        entries.extend([1, 0, 0]);
    }
    check_echo(100, &entries);
    entries.clear();
    for _ in 0..100 {
        // With as much content as there must be.
        entries.extend([1, 0, 1, b'x']);
        entries.extend([0; 8]);
        put_number(1_000, &mut entries);
        entries.extend([1, 0]);
        put_number(1_000, &mut entries);
        entries.extend([0; 1_000]);
    }
    check_echo(100, &entries);
}

#[test]
fn an_address_in_a_message_is_decoded_once() {
    let pair = Pair::met();
    let all = || Msg::KeepAll(vec![pair.counter.clone(); 2]);
    pair.far.send(all()).unwrap();
    pair.run();
    let sample = pair.server.sample();
    assert_eq!((sample.delivered, sample.refused), (2, 0));
    // The message ends with the number of addresses, and their indices. A small number has one
    // byte, which is twice the number plus 1.
    let mut frames = pair.spy.frames("server").into_iter();
    let mut frame = frames.find(|frame| frame.ends_with(&[5, 1, 3])).unwrap();
    *frame.last_mut().unwrap() = 1;
    pair.inject(Forged::of(frame).with(NUMBER, 100).sign());
    let sample = pair.server.sample();
    assert_eq!((sample.delivered, sample.refused), (2, 1));
    let why = sample.refusal.unwrap();
    assert!(why.contains("no such address"), "{why}");
    pair.check();
}

#[test]
fn losses_that_are_told_many_times_have_small_answers() {
    let mut entries = Vec::new();
    for watch in 1..=1_000 {
        // Watches the service `x`.
        entries.push(4);
        put_number(watch, &mut entries);
        entries.push(1);
        put_number(watch, &mut entries);
        entries.extend([0, 1, b'x']);
    }
    for _ in 0..1_000 {
        // The frame 1 was lost.
        entries.push(4);
        put_number(5_000, &mut entries);
        entries.extend([5, 1, 1]);
    }
    check_echo(2_000, &entries);
}

#[test]
fn nodes_that_are_told_wrong_lives_of_each_other_do_not_argue() {
    let pair = Pair::new();
    assert_eq!(pair.get(&pair.far), Some(Ok(0)));
    for to in ["server", "client"] {
        pair.spy
            .inject(to, pair.forge(to, 50).with(NODE, 1_000).sign());
    }
    pair.run();
    pair.pass(20);
    assert!(pair.spy.count() < 200, "{} frames", pair.spy.count());
    pair.check_links();
}

/// Returns numbers that are often at a limit.
fn limits() -> impl Strategy<Value = u64> {
    let near = prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(u64::MAX - 1)];
    prop_oneof![4 => near, 2 => 0..8_u64, 1 => any::<u64>()]
}

/// Returns numbers that are mostly 1, the number of the first incarnation and session.
fn firsts() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(1), 1 => limits()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn invented_entries_do_no_harm(
        entries: Vec<u8>,
        count in prop_oneof![Just(0), 0..40_u32, Just(u32::MAX)],
        who in [firsts(), firsts(), firsts()],
        numbers in [limits(), limits(), limits(), limits(), limits()],
    ) {
        let pair = Pair::new();
        pair.talk();
        let mut forged = pair.forge("server", 0).entries(count, &entries);
        for (place, number) in NUMBERS.into_iter().zip(who.into_iter().chain(numbers)) {
            forged.set(place, number);
        }
        pair.inject(forged.sign());
        let [node, _, session] = who;
        if node <= 1 && session <= 1 {
            pair.check();
        }
        pair.pass(4);
        pair.check_links();
        prop_assert!(!pair.counter.is_stopped());
    }

    #[test]
    fn entries_of_known_kinds_do_no_harm(
        parts in prop::collection::vec((1..7_u8, prop::collection::vec(0..20_u8, 0..12)), 1..20),
        dead in 0..2_u64,
    ) {
        let pair = Pair::new();
        pair.talk();
        let mut entries = Vec::new();
        for (kind, rest) in &parts {
            entries.push(*kind);
            entries.extend(rest);
        }
        let count = parts.len() as u32;
        let taken = pair.server.sample().frames_taken;
        let forged = pair.forge("server", 100).entries(count, &entries).with(DEAD, dead);
        pair.inject(forged.sign());
        prop_assert!(pair.server.sample().frames_taken > taken);
        pair.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn drawn_frames_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        send_frame(&bytes);
    }

    #[test]
    fn drawn_entries_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        send_entries(&bytes);
    }

    #[test]
    fn drawn_uses_of_exports_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        use_exports(&bytes);
    }
}
