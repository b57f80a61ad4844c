//! Tests connections without errors, and how they end.

use std::pin::pin;
use std::sync::mpsc::channel;
use std::task::{Context, Waker};

use bytes::{Bytes, BytesMut};
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Next, NoReply, Reply, System, behavior};
use garrick_secure::{
    Error, Event, Kind, OVERHEAD_BYTES, OpenError, Options, Refused, Role, Suite, Transport, open,
};
use garrick_testkit::wait;
use tokio::io::duplex;

use super::stand::{Side, Stand, key, sealed, sealed_end};

/// Opens two sides of a connection, both made of actors, over a pipe of the given size.
fn pair(stand: &Stand, pipe_bytes: usize, options: &Options) -> (Side, Side) {
    let (near, far) = duplex(pipe_bytes);
    let client = stand.open(Transport::of(near), Role::Client, options.clone());
    let server = stand.open(Transport::of(far), Role::Server, options.clone());
    stand.run();
    (client, server)
}

#[test]
fn payloads_arrive_in_order_through_pipes_of_any_size() {
    let stand = Stand::new();
    let options = Options::default();
    for pipe_bytes in [1, 2, 5, 40, 1_000, 1 << 20] {
        let (client, server) = pair(&stand, pipe_bytes, &options);
        let (from_client, from_server) = (client.opened(), server.opened());
        for n in 0..20_u8 {
            from_client.try_send(vec![n; usize::from(n) * 7]).unwrap();
            from_server.try_send(vec![n; 3]).unwrap();
        }
        stand.run();
        for n in 0..20 {
            assert_eq!(server.frame(), vec![n; usize::from(n) * 7]);
            assert_eq!(client.frame(), vec![n; 3]);
        }
        drop((from_client, from_server));
        stand.run();
        for side in [client, server] {
            let told = side.told();
            let [Event::Finished, Event::Closed(Ok(()))] = told.as_slice() else {
                panic!("{told:?}");
            };
        }
    }
}

#[test]
fn frames_in_one_piece_are_taken_apart() {
    let stand = Stand::new();
    for suite in [Suite::Aes256CtrHmacSha256, Suite::Aes256CtrHmacSha3] {
        let options = Options {
            suite,
            ..Options::default()
        };
        let (side, _writer, mut raw, mut session) = stand.greeted(options);
        let mut wire = sealed(&mut session, b"one");
        wire.extend_from_slice(&sealed(&mut session, b""));
        wire.extend_from_slice(&sealed(&mut session, &[3; 100_000]));
        raw.say(&wire);
        stand.run();
        assert_eq!(side.frame(), b"one");
        assert_eq!(side.frame(), b"");
        assert_eq!(side.frame(), [3; 100_000]);
    }
}

#[test]
fn one_side_may_finish_and_hear_the_other_out() {
    let stand = Stand::new();
    let (side, writer, mut raw, mut session) = stand.greeted(Options::default());
    raw.say(&sealed_end(&mut session));
    raw.half_close();
    stand.run();
    assert!(matches!(side.told().as_slice(), [Event::Finished]));

    writer.try_send("answer").unwrap();
    writer.finish();
    stand.run();
    assert_eq!(side.closed(), Ok(()));
    let (mut heard, goes_on) = raw.hear();
    assert!(!goes_on);
    let (kind, payload) = session.opener.open(&mut heard).unwrap().unwrap();
    assert_eq!((kind, &payload[..]), (Kind::Data, b"answer".as_slice()));
    let (kind, _) = session.opener.open(&mut heard).unwrap().unwrap();
    assert_eq!(kind, Kind::End);
    assert!(heard.is_empty());
}

#[test]
fn nothing_more_is_read_while_the_window_is_full() {
    let stand = Stand::new();
    let options = Options {
        window: 2,
        read_bytes_max: 64,
        ..Options::default()
    };
    let (side, _writer, mut raw, mut session) = stand.greeted(options);
    for n in 0..5 {
        raw.say(&sealed(&mut session, &[n; 300]));
    }
    stand.run();
    let mut held = side.told();
    assert_eq!(held.len(), 2);
    held.pop();
    stand.run();
    held.extend(side.told());
    assert_eq!(held.len(), 2, "one place, one more frame");
    let Some(Event::Frame(frame)) = held.pop() else {
        panic!("{held:?}");
    };
    assert_eq!(frame.into_payload(), [2; 300][..]);
    stand.run();
    assert_eq!(side.frame(), [3; 300]);
}

#[test]
fn a_turn_that_is_undone_has_had_its_frame() {
    let stand = Stand::new();
    let (near, far) = duplex(1_000);
    let options = Options {
        window: 1,
        ..Options::default()
    };
    let (told, heard) = std::sync::mpsc::channel();
    let undoes = stand.local.spawn(behavior(move |event, _| match event {
        Event::Frame(frame) => {
            told.send(frame.to_vec()).unwrap();
            Next::Undo
        }
        _ => Next::Continue,
    }));
    let system = stand.local.handle();
    let (near, far) = (Transport::of(near), Transport::of(far));
    open(&system, near, key(), Role::Server, options.clone(), undoes).unwrap();
    let client = stand.open(far, Role::Client, options);
    let writer = client.opened();
    for n in 0..3 {
        writer.try_send(vec![n]).unwrap();
    }
    stand.run();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [[0], [1], [2]]);
}

#[test]
fn what_cannot_be_written_comes_back_and_says_why() {
    let stand = Stand::new();
    let options = Options {
        queue: 2,
        payload_bytes_max: 10,
        ..Options::default()
    };
    let (side, writer, _raw, _session) = stand.greeted(options);
    let payload = Bytes::from_static(b"ten bytes!");
    let too_long = writer.try_send(vec![0; 11]).unwrap_err();
    assert!(matches!(&too_long, Refused::TooLong(payload) if payload.len() == 11));
    writer.try_send(payload.clone()).unwrap();
    writer.try_send(payload.clone()).unwrap();
    let full = writer.try_send(payload.clone());
    assert_eq!(full, Err(Refused::Full(payload.clone())));
    stand.run();
    writer.try_send(payload.clone()).unwrap();
    writer.finish();
    let closed = writer.clone().try_send(payload.clone());
    assert_eq!(closed, Err(Refused::Closed(payload)));
    assert!(writer.is_closed());
    assert!(side.told().is_empty());
}

#[test]
fn who_writes_is_told_when_it_is_written() {
    let stand = Stand::new();
    let (told, answers) = std::sync::mpsc::channel();
    let asker = stand.local.spawn(behavior(move |answer, _| {
        told.send(answer).unwrap();
        Next::Continue
    }));
    let reply = || Reply::to_task(asker.clone(), |answer: Result<(), NoReply>| answer);

    let (side, writer, mut raw, _session) = stand.greeted(Options::default());
    writer.try_send_with("taken", reply()).unwrap();
    stand.run();
    assert_eq!(answers.try_recv(), Ok(Ok(())));
    raw.hang_up();
    writer.try_send_with("not taken", reply()).unwrap();
    stand.run();
    assert_eq!(answers.try_recv(), Ok(Err(NoReply::Dropped)));
    assert!(side.closed().is_err());
}

#[test]
fn a_future_waits_for_room() {
    let stand = Stand::new();
    let options = Options {
        queue: 1,
        window: 1_000,
        ..Options::default()
    };
    let (client, server) = pair(&stand, 100, &options);
    let writer = client.opened();
    let sends = stand
        .local
        .spawn(|_: garrick_actor::Incoming<()>| async move {
            for n in 0..100 {
                writer.send(vec![n]).await.unwrap();
            }
        });
    stand.run();
    assert!(
        matches!(server.told().len(), 102),
        "opened, 100 frames, finished"
    );
    drop(sends);
    assert_eq!(stand.local.handle().failures(), 0);
}

/// Tests the end of a connection while a future waits for room. The pipe holds 1,000 bytes, and the
/// payload before the waiting one leaves `free` bytes for the last frame.
fn the_end_waits_for_a_future(free: usize) {
    const PIPE_BYTES: usize = 1_000;
    let stand = Stand::new();
    let options = Options {
        queue: 1,
        ..Options::default()
    };
    let (side, writer, mut raw, mut session) = stand.greeted_over(PIPE_BYTES, options);
    // The first payload fills the pipe, and the second one the queue. The third one must wait.
    writer.try_send(vec![1; PIPE_BYTES]).unwrap();
    stand.run();
    let second = PIPE_BYTES - 2 * OVERHEAD_BYTES - free;
    writer.try_send(vec![2; second]).unwrap();
    let (told, sent) = channel();
    let late = writer.clone();
    let waits = |_: garrick_actor::Incoming<()>| async move {
        told.send(late.send("late").await).unwrap();
    };
    let waits = stand.local.spawn(waits);
    stand.run();
    assert!(sent.try_recv().is_err(), "there is no room");
    writer.finish();
    stand.run();
    assert!(matches!(writer.try_send("later"), Err(Refused::Closed(_))));

    let (mut heard, mut payloads) = (BytesMut::new(), Vec::new());
    for _ in 0..5 {
        heard.extend_from_slice(&raw.hear().0);
        stand.run();
    }
    while let Some((Kind::Data, payload)) = session.opener.open(&mut heard).unwrap() {
        payloads.push(payload);
    }
    assert!(heard.is_empty(), "the last frame is the last");
    assert_eq!(sent.try_recv(), Ok(Ok(())), "with {free} bytes free");
    assert_eq!(payloads[1..], [&vec![2; second][..], b"late"]);
    assert!(!raw.hear().1);
    assert!(side.told().is_empty(), "the peer has not finished");
    drop(waits);
}

#[test]
fn a_future_that_waits_for_room_is_not_rejected_at_the_end() {
    the_end_waits_for_a_future(200);
}

#[test]
fn a_payload_is_not_lost_at_the_end() {
    the_end_waits_for_a_future(10);
}

#[test]
fn a_dropped_future_does_not_hold_up_the_end() {
    let stand = Stand::new();
    let options = Options {
        queue: 1,
        ..Options::default()
    };
    let (_side, writer, mut raw, _session) = stand.greeted(options);
    writer.try_send("first").unwrap();
    {
        let mut send = pin!(writer.send("second"));
        let mut task = Context::from_waker(Waker::noop());
        assert!(send.as_mut().poll(&mut task).is_pending());
        writer.finish();
        stand.run();
        assert!(raw.hear().1, "it may still be sent");
    }
    stand.run();
    assert!(!raw.hear().1);
}

#[test]
fn a_connection_can_be_closed() {
    let stand = Stand::new();
    let (side, _writer, mut raw, _) = stand.greeted(Options::default());
    side.connection.close();
    stand.run();
    assert_eq!(side.closed(), Err(Error::Closed));
    assert!(!raw.hear().1);
}

#[test]
fn a_connection_whose_frames_nobody_wants_ends() {
    let stand = Stand::new();
    let (side, _writer, mut raw, _) = stand.greeted(Options::default());
    side.listener.stop();
    stand.run();
    assert!(side.connection.is_closed());
    assert!(!raw.hear().1);
}

#[test]
fn a_listener_whose_mailbox_is_full_gets_all_events() {
    let stand = Stand::new();
    let system = System::builder().workers(1).start().unwrap();
    let ((told, events), (go_on, may_go_on)) = (channel(), channel::<()>());
    let slow = behavior(move |event: Event, _| {
        // The first event waits until all others were sent.
        let _ = may_go_on.recv();
        told.send(event).map_or(Next::Stop, |()| Next::Continue)
    });
    let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
    let slow = system.actor(slow).mailbox(mailbox).spawn().unwrap();
    let (near, far) = duplex(1_000);
    let (handle, options) = (stand.local.handle(), Options::default());
    let near = Transport::of(near);
    let connection = open(&handle, near, key(), Role::Server, options.clone(), slow).unwrap();
    let client = stand.open(Transport::of(far), Role::Client, options);
    let writer = client.opened();
    for n in 0..5 {
        writer.try_send(vec![n]).unwrap();
    }
    writer.finish();
    stand.run();
    assert!(!connection.is_closed());
    connection.close();
    stand.run();
    drop(go_on);
    assert!(matches!(wait(&events), Event::Opened(_)));
    for n in 0..5 {
        let event = wait(&events);
        assert!(
            matches!(&event, Event::Frame(frame) if frame[..] == [n]),
            "{event:?}"
        );
    }
    assert!(matches!(wait(&events), Event::Finished));
    assert!(matches!(wait(&events), Event::Closed(Err(Error::Closed))));
}

#[test]
fn options_out_of_bounds_are_named() {
    let stand = Stand::new();
    let refused = |options: Options| {
        let nobody = stand.local.spawn(behavior(|_: Event, _| Next::Continue));
        let system = stand.local.handle();
        let (near, _) = duplex(1);
        let refused = open(
            &system,
            Transport::of(near),
            key(),
            Role::Client,
            options,
            nobody,
        );
        let Err(OpenError::Options(error)) = refused else {
            panic!("{refused:?}");
        };
        error.to_string()
    };
    let base = Options::default;
    assert_eq!(
        [
            refused(Options {
                payload_bytes_max: 0,
                ..base()
            }),
            refused(Options {
                payload_bytes_max: (1 << 30) + 1,
                ..base()
            }),
            refused(Options {
                window: 0,
                ..base()
            }),
            refused(Options { queue: 0, ..base() }),
            refused(Options {
                read_bytes_max: 63,
                ..base()
            }),
        ],
        [
            "`payload_bytes_max` is out of bounds: 1 to 2^30 is allowed",
            "`payload_bytes_max` is out of bounds: 1 to 2^30 is allowed",
            "`window` is out of bounds: at least 1 is allowed",
            "`queue` is out of bounds: at least 1 is allowed",
            "`read_bytes_max` is out of bounds: at least 64 is allowed",
        ]
    );
}
