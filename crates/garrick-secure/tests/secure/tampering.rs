//! Tests attacks by a man in the middle. If frames are changed, the connection ends with an error
//! that contains the reason. No other connection is affected.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use garrick_secure::{
    Error, Event, LENGTH_BYTES, Options, Part, Role, Session, TAG_BYTES, Transport, Writer,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, duplex};

use super::stand::{Raw, Side, Stand, sealed};

/// A second connection, which must not be affected by the attack on the first one.
struct Witness {
    side: Side,
    raw: Raw,
    session: Session,
    said: u8,
    _writer: Writer,
}

impl Witness {
    fn new(stand: &Stand) -> Self {
        let (side, writer, raw, session) = stand.greeted(Options::default());
        Self {
            side,
            raw,
            session,
            said: 0,
            _writer: writer,
        }
    }

    /// Checks that the connection still works.
    fn is_well(&mut self, stand: &Stand) {
        self.said = self.said.wrapping_add(1);
        self.raw.say(&sealed(&mut self.session, &[self.said]));
        stand.run();
        assert_eq!(self.side.frame(), [self.said]);
    }
}

/// Returns the error of a connection that receives the given bytes and then the end of the stream.
fn end_of(stand: &Stand, say: impl FnOnce(&mut Session) -> BytesMut) -> Error {
    let (side, _writer, mut raw, mut session) = stand.greeted(Options::default());
    raw.say(&say(&mut session));
    raw.half_close();
    stand.run();
    assert!(!raw.hear().1, "the transport is closed");
    side.closed().unwrap_err()
}

/// A payload of 16 bytes. Its frame consists of a length of 4 bytes, a body of 17 bytes, and a tag
/// of 32 bytes.
const PAYLOAD: &[u8; 16] = b"sixteen bytes ..";
const BODY_BYTES: usize = PAYLOAD.len() + 1;
const FRAME_BYTES: usize = LENGTH_BYTES + BODY_BYTES + TAG_BYTES;

#[test]
fn every_flipped_bit_ends_that_connection_alone() {
    let stand = Stand::new();
    let mut witness = Witness::new(&stand);
    for bit in 0..FRAME_BYTES * 8 {
        let found = end_of(&stand, |session| {
            let mut frame = sealed(session, PAYLOAD);
            frame[bit / 8] ^= 1 << (bit % 8);
            frame
        });
        let expected = match found {
            Error::Forged { sequence: 0 } => true,
            Error::Length { max, .. } => bit < LENGTH_BYTES * 8 && max == (1 << 20) + 1,
            Error::Truncated { part, .. } => bit < LENGTH_BYTES * 8 && part != Part::Length,
            _ => false,
        };
        assert!(expected, "bit {bit}: {found}");
        witness.is_well(&stand);
    }
}

#[test]
fn a_frame_that_is_cut_says_where() {
    let stand = Stand::new();
    let mut witness = Witness::new(&stand);
    for cut in 0..FRAME_BYTES {
        let found = end_of(&stand, |session| {
            let mut frame = sealed(session, PAYLOAD);
            frame.truncate(cut);
            frame
        });
        let truncated = |part, have, want| Error::Truncated { part, have, want };
        let expected = match cut {
            0 => Error::Unfinished,
            1..4 => truncated(Part::Length, cut, LENGTH_BYTES),
            4..21 => truncated(Part::Body, cut - LENGTH_BYTES, BODY_BYTES),
            _ => truncated(Part::Tag, cut - LENGTH_BYTES - BODY_BYTES, TAG_BYTES),
        };
        assert_eq!(found, expected);
        witness.is_well(&stand);
    }
}

#[test]
fn lengths_out_of_bounds_are_refused_at_once() {
    let stand = Stand::new();
    let mut witness = Witness::new(&stand);
    let max = (1 << 20) + 1;
    for found in [0, max + 1, u32::MAX] {
        let (side, _writer, mut raw, _) = stand.greeted(Options::default());
        raw.say(&found.to_be_bytes());
        stand.run();
        assert_eq!(side.closed(), Err(Error::Length { found, max }));
        witness.is_well(&stand);
    }
}

#[test]
fn replayed_reordered_and_lost_frames_are_told_apart() {
    let stand = Stand::new();
    let mut witness = Witness::new(&stand);
    let (side, _writer, mut raw, mut session) = stand.greeted(Options::default());
    let frame = sealed(&mut session, b"once");
    raw.say(&frame);
    raw.say(&frame);
    stand.run();
    assert_eq!(side.frame(), b"once");
    let replayed = Error::Replayed {
        expected: 1,
        found: 0,
    };
    assert_eq!(side.closed(), Err(replayed));
    witness.is_well(&stand);

    for (order, expected, found) in [([0, 2], 1, 2), ([1, 0], 0, 1), ([0, 3], 1, 3)] {
        let (side, _writer, mut raw, mut session) = stand.greeted(Options::default());
        let frames: Vec<BytesMut> = (0..4).map(|n| sealed(&mut session, &[n])).collect();
        order.into_iter().for_each(|n| raw.say(&frames[n]));
        stand.run();
        let told = side.told();
        let (last, before) = told.split_last().unwrap();
        let Event::Closed(Err(error)) = last else {
            panic!("{told:?}");
        };
        assert_eq!(*error, Error::OutOfOrder { expected, found });
        assert_eq!(
            before.len() as u64,
            expected,
            "what came before was in order"
        );
        witness.is_well(&stand);
    }
}

#[test]
fn what_comes_of_another_connection_is_forged() {
    let stand = Stand::new();
    let (_, _writer, _raw, mut other) = stand.greeted(Options::default());
    let found = end_of(&stand, |_| sealed(&mut other, PAYLOAD));
    assert_eq!(found, Error::Forged { sequence: 0 });
}

#[test]
fn what_we_said_ourselves_is_forged_if_it_comes_back() {
    let stand = Stand::new();
    let (side, writer, mut raw, _) = stand.greeted(Options::default());
    writer.try_send("echo").unwrap();
    stand.run();
    let (heard, _) = raw.hear();
    raw.say(&heard);
    stand.run();
    assert_eq!(side.closed(), Err(Error::Forged { sequence: 0 }));
}

#[test]
fn a_stream_that_ends_unannounced_is_unfinished() {
    let stand = Stand::new();
    let mut witness = Witness::new(&stand);
    let (side, writer, mut raw, mut session) = stand.greeted(Options::default());
    raw.say(&sealed(&mut session, b"cut here"));
    raw.half_close();
    stand.run();
    assert_eq!(side.frame(), b"cut here");
    assert_eq!(side.closed(), Err(Error::Unfinished));
    assert!(writer.is_closed());
    witness.is_well(&stand);
}

/// A transport that performs the greeting, and then fails.
struct Failing<S> {
    stream: S,
    reads_left: u32,
    how: fn() -> io::Result<()>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Failing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(task, buffer);
        if buffer.filled().len() == filled {
            return read;
        }
        if self.reads_left == 0 {
            return Poll::Ready((self.how)());
        }
        self.reads_left -= 1;
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Failing<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(task, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}

/// Returns the errors of both sides if the server's transport fails at the first frame.
fn end_of_failing(stand: &Stand, how: fn() -> io::Result<()>) -> Error {
    let (near, far) = duplex(1_000);
    let failing = Failing {
        stream: near,
        // The hello and the proof.
        reads_left: 2,
        how,
    };
    let server = stand.open(Transport::of(failing), Role::Server, Options::default());
    let client = stand.open(Transport::of(far), Role::Client, Options::default());
    stand.run();
    let _writer = server.opened();
    client.opened().try_send("fatal").unwrap();
    stand.run();
    server.closed().unwrap_err()
}

#[test]
fn a_transport_that_fails_or_panics_takes_its_connection_alone() {
    let stand = Stand::new();
    let mut witness = Witness::new(&stand);
    let reset = end_of_failing(&stand, || Err(io::ErrorKind::ConnectionReset.into()));
    let kind = io::ErrorKind::ConnectionReset;
    assert!(matches!(reset, Error::Io { kind: found, .. } if found == kind));
    let panicked = end_of_failing(&stand, || std::panic::resume_unwind(Box::new("on purpose")));
    assert_eq!(panicked, Error::Panicked { actor: "source" });
    witness.is_well(&stand);
}
