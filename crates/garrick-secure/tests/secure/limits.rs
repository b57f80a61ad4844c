//! Tests how much memory and how long a turn a peer can cause with long frames.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};

use garrick_actor::{Incoming, Next, NoReply, Reply, behavior};
use garrick_secure::{
    Error, Event, Greeting, Kind, Options, Role, Session, Suite, Transport, open,
};
use tokio::io::{AsyncRead, ReadBuf, duplex, split};

use super::stand::{Raw, Side, Stand, key, sealed};

const MIB: usize = 1 << 20;

/// Largest payload that `Options` allow.
const PAYLOAD_BYTES_MAX: u32 = 1 << 30;

/// Maximum number of bytes that are checked or decrypted in one turn.
const TURN_BYTES: usize = 320 * 1024;

/// The reading half of a transport. Stores the largest room for bytes that a read has had.
struct Watched<R> {
    read: R,
    room: Arc<AtomicUsize>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.room.fetch_max(buffer.remaining(), SeqCst);
        Pin::new(&mut self.read).poll_read(task, buffer)
    }
}

fn options() -> Options {
    Options {
        payload_bytes_max: PAYLOAD_BYTES_MAX,
        ..Options::default()
    }
}

/// Performs the client's part of a greeting.
fn greet(stand: &Stand, raw: &mut Raw) -> Session {
    let suite = Suite::default();
    let client = Greeting::new(key(), suite, Role::Client, PAYLOAD_BYTES_MAX).unwrap();
    raw.greet(stand, client).unwrap()
}

/// Opens a server whose reads are watched. Also returns the largest room of a read, and the peer.
fn watched(stand: &Stand) -> (Side, Arc<AtomicUsize>, Raw, Session) {
    let (near, far) = duplex(MIB);
    let (read, write) = split(near);
    let room = Arc::<AtomicUsize>::default();
    let read = Watched {
        read,
        room: room.clone(),
    };
    let side = stand.open(Transport::new(read, write), Role::Server, options());
    let mut raw = Raw::new(far);
    let session = greet(stand, &mut raw);
    drop(side.opened());
    (side, room, raw, session)
}

#[test]
fn a_long_frame_gets_memory_only_as_it_arrives() {
    let stand = Stand::new();
    let (side, room, mut raw, _session) = watched(&stand);
    raw.say(&PAYLOAD_BYTES_MAX.to_be_bytes());
    stand.run();
    let announced = room.swap(0, SeqCst);
    assert!(announced <= 2 * MIB, "{announced} bytes for 4 bytes");
    for mib in 1..=16 {
        raw.say(&vec![0; MIB]);
        stand.run();
        let more = room.swap(0, SeqCst);
        assert!(more <= 3 * MIB, "{more} bytes after {mib} MiB");
    }
    assert!(side.told().is_empty());
    raw.hang_up();
    stand.run();
    assert!(matches!(side.closed(), Err(Error::Truncated { have, .. }) if have == 16 * MIB));
}

#[test]
fn a_long_frame_arrives_in_one_piece() {
    let stand = Stand::new();
    let (side, _room, mut raw, mut session) = watched(&stand);
    let payload: Vec<u8> = (0..5 * MIB + 7).map(|n| (n / 1_000) as u8).collect();
    let wire = sealed(&mut session, &payload);
    for part in wire.chunks(MIB) {
        raw.say(part);
        stand.run();
    }
    assert!(side.frame() == payload);
    raw.say(&sealed(&mut session, b"short"));
    stand.run();
    assert_eq!(side.frame(), b"short");
}

#[test]
fn a_changed_bit_of_a_long_frame_is_found() {
    let stand = Stand::new();
    for at in [100, MIB - 40] {
        let (side, _room, mut raw, mut session) = watched(&stand);
        let mut wire = sealed(&mut session, &vec![3; MIB - 37]);
        wire[at] ^= 1;
        raw.say(&wire);
        stand.run();
        assert_eq!(side.closed(), Err(Error::Forged { sequence: 0 }));
    }
}

/// Opens a server with a listener that sets `is_over` when a frame arrives. Returns its peer.
fn server(stand: &Stand, is_over: &Arc<AtomicBool>) -> (Raw, Session) {
    let (near, far) = duplex(MIB);
    let is_over = is_over.clone();
    let listener = stand.local.spawn(behavior(move |event, _| {
        if let Event::Frame(_) = event {
            is_over.store(true, SeqCst);
        }
        Next::Continue
    }));
    let (handle, near) = (stand.local.handle(), Transport::of(near));
    open(&handle, near, key(), Role::Server, options(), listener).unwrap();
    let mut raw = Raw::new(far);
    let session = greet(stand, &mut raw);
    (raw, session)
}

#[test]
fn other_actors_run_while_a_long_frame_is_opened() {
    const PAYLOAD_BYTES: usize = 8 * MIB;
    let stand = Stand::new();
    let is_over = Arc::<AtomicBool>::default();
    let (mut raw, mut session) = server(&stand, &is_over);
    let wire = sealed(&mut session, &vec![1; PAYLOAD_BYTES]);
    let (all, last) = wire.split_at(wire.len() - 1);
    for part in all.chunks(MIB) {
        raw.say(part);
        stand.run();
    }
    raw.say(last);

    let rounds = Arc::<AtomicUsize>::default();
    let (count, stop) = (rounds.clone(), is_over.clone());
    let other = stand.local.spawn(|mailbox: Incoming<()>| async move {
        let cx = mailbox.context();
        while !stop.load(SeqCst) {
            count.fetch_add(1, SeqCst);
            cx.yield_now().await;
        }
    });
    stand.run();
    assert!(is_over.load(SeqCst));
    // First the tag is checked, and then the body is decrypted.
    let turns = 2 * (PAYLOAD_BYTES / TURN_BYTES);
    let rounds = rounds.load(SeqCst);
    assert!(
        rounds >= turns,
        "{rounds} rounds while it took {turns} turns"
    );
    drop(other);
}

#[test]
fn other_actors_run_while_a_long_payload_is_sealed() {
    const PAYLOAD_BYTES: usize = 8 * MIB;
    let stand = Stand::new();
    let (near, far) = duplex(2 * PAYLOAD_BYTES);
    let side = stand.open(Transport::of(near), Role::Server, options());
    let mut raw = Raw::new(far);
    let mut session = greet(&stand, &mut raw);
    let writer = side.opened();
    writer.try_send(vec![1; PAYLOAD_BYTES]).unwrap();

    let rounds = Arc::<AtomicUsize>::default();
    let count = rounds.clone();
    let (written, is_written) = std::sync::mpsc::channel();
    let reply = {
        let told = stand.local.spawn(behavior(move |answer, _| {
            written.send(answer).unwrap();
            Next::Continue
        }));
        Reply::to_task(told, |answer: Result<(), NoReply>| answer)
    };
    writer.try_send_with("after it", reply).unwrap();
    let other = stand.local.spawn(|mailbox: Incoming<()>| async move {
        let cx = mailbox.context();
        while is_written.try_recv().is_err() {
            count.fetch_add(1, SeqCst);
            cx.yield_now().await;
        }
    });
    stand.run();
    let turns = PAYLOAD_BYTES / TURN_BYTES;
    let rounds = rounds.load(SeqCst);
    assert!(
        rounds >= turns,
        "{rounds} rounds while it took {turns} turns"
    );
    let (mut heard, _) = raw.hear();
    let opened = session.opener.open(&mut heard).unwrap();
    assert!(matches!(opened, Some((Kind::Data, payload)) if payload == vec![1; PAYLOAD_BYTES]));
    drop(other);
}
