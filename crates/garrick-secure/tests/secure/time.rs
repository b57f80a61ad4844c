//! Tests slow peers, with a simulated clock.

use std::time::Duration;

use garrick_secure::{Error, Options, Role, Transport, Wait};
use tokio::io::duplex;

use super::stand::{Stand, sealed};

const SECOND: Duration = Duration::from_secs(1);

/// A time that is longer than the maximum delay of a timer.
const MOMENT: Duration = Duration::from_millis(1);

#[test]
fn a_frame_that_drips_is_cut_at_its_deadline() {
    let stand = Stand::new();
    let limit = 5 * SECOND;
    let options = Options {
        frame_timeout: limit,
        ..Options::default()
    };
    let wait = Wait::Frame;
    // The limit counts from the very first byte, wherever the stream stops.
    for dripping in [1, 3, 4, 5, 20, 40] {
        let (side, _writer, mut raw, mut session) = stand.greeted(options.clone());
        let frame = sealed(&mut session, b"drip drip drip");
        stand.advance(60 * SECOND);
        assert!(side.told().is_empty(), "silence is allowed");
        for byte in &frame[..dripping] {
            raw.say(&[*byte]);
            stand.run();
            stand.advance(SECOND / 10);
            assert!(side.told().is_empty());
        }
        let spent = SECOND * (dripping as u32) / 10;
        stand.advance(limit - spent - MOMENT);
        assert!(side.told().is_empty(), "not before its deadline");
        stand.advance(2 * MOMENT);
        assert_eq!(side.closed(), Err(Error::TimedOut { wait, limit }));
    }
}

#[test]
fn frames_in_time_may_go_on_for_ever() {
    let stand = Stand::new();
    let options = Options {
        frame_timeout: SECOND,
        silence_timeout: Some(3 * SECOND),
        ..Options::default()
    };
    let (side, _writer, mut raw, mut session) = stand.greeted(options);
    for n in 0..20 {
        let frame = sealed(&mut session, &[n; 50]);
        let (head, tail) = frame.split_at(30);
        raw.say(head);
        stand.advance(SECOND - MOMENT);
        raw.say(tail);
        stand.run();
        assert_eq!(side.frame(), [n; 50]);
        stand.advance(2 * SECOND);
    }
    assert!(side.told().is_empty());
    stand.advance(SECOND + MOMENT);
    let wait = Wait::Silence;
    let limit = 3 * SECOND;
    assert_eq!(side.closed(), Err(Error::TimedOut { wait, limit }));
}

#[test]
fn time_does_not_count_while_nobody_takes_the_frames() {
    let stand = Stand::new();
    let options = Options {
        frame_timeout: SECOND,
        silence_timeout: Some(SECOND),
        window: 1,
        ..Options::default()
    };
    let (side, _writer, mut raw, mut session) = stand.greeted(options);
    raw.say(&sealed(&mut session, b"first"));
    raw.say(&sealed(&mut session, b"second"));
    stand.run();
    let held = side.told();
    stand.advance(60 * SECOND);
    assert!(side.told().is_empty());
    drop(held);
    stand.run();
    assert_eq!(side.frame(), b"second");
}

#[test]
fn a_greeting_has_a_deadline() {
    let stand = Stand::new();
    let (side, mut raw) = stand.server(Options::default());
    raw.say(b"GRK");
    stand.run();
    stand.advance(9 * SECOND);
    assert!(side.told().is_empty());
    stand.advance(SECOND + MOMENT);
    let (wait, limit) = (Wait::Greeting, 10 * SECOND);
    assert_eq!(side.closed(), Err(Error::TimedOut { wait, limit }));
    assert!(!raw.hear().1);
}

#[test]
fn a_peer_that_takes_nothing_is_given_up() {
    let stand = Stand::new();
    let limit = 2 * SECOND;
    let options = Options {
        write_timeout: limit,
        ..Options::default()
    };
    let (near, far) = duplex(200);
    let server = stand.open(Transport::of(near), Role::Server, options.clone());
    let taker = Options {
        window: 1,
        read_bytes_max: 64,
        ..options
    };
    let client = stand.open(Transport::of(far), Role::Client, taker);
    stand.run();
    let writer = server.opened();
    // The client holds the first frame, and reads no more than its buffer has room for.
    for _ in 0..5 {
        writer.try_send(vec![0; 4_000]).unwrap();
    }
    stand.run();
    let held = client.told();
    stand.advance(limit - MOMENT);
    assert!(server.told().is_empty());
    stand.advance(2 * MOMENT);
    let wait = Wait::Write;
    assert_eq!(server.closed(), Err(Error::TimedOut { wait, limit }));
    drop(held);
}
