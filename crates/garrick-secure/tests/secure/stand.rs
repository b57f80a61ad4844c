//! Shared test bench: a system on this thread with a simulated clock, and a peer that sends given
//! bytes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::BytesMut;
use garrick_actor::{Address, Local, Next, System, behavior};
use garrick_secure::{
    Connection, Error, Event, Greeting, HELLO_BYTES, Kind, Options, PROOF_BYTES, PreSharedKey,
    Role, Session, Transport, Writer, open,
};
use garrick_testkit::ByHand;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};

/// A sponsor that runs actors on the test's thread, with a clock that the test sets.
pub(crate) struct Stand {
    pub(crate) local: Local,
    clock: Arc<ByHand>,
}

/// One side of a connection, with actors, and all events that this side has reported.
pub(crate) struct Side {
    pub(crate) connection: Connection,
    pub(crate) events: Receiver<Event>,
    pub(crate) listener: Address<Event>,
}

/// A peer without actors: it sends and receives bytes.
pub(crate) struct Raw(Option<DuplexStream>);

/// Returns the key that all tests use.
pub(crate) fn key() -> PreSharedKey {
    PreSharedKey::new([7; 32])
}

impl Stand {
    pub(crate) fn new() -> Self {
        let clock = ByHand::new();
        let builder = System::builder().on_failure(|_| {});
        let local = builder.world(clock.clone()).local().unwrap();
        Self { local, clock }
    }

    /// Runs all pending work, including due timers.
    pub(crate) fn run(&self) {
        // The clock is only read every few activations.
        (0..16).for_each(|_| self.local.run());
    }

    /// Advances the simulated clock.
    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.run();
    }

    /// Opens a connection over a transport, and collects its events.
    pub(crate) fn open(&self, transport: Transport, role: Role, options: Options) -> Side {
        let (told, events) = channel();
        let listener = self.local.spawn(behavior(move |event, _| {
            told.send(event).map_or(Next::Stop, |()| Next::Continue)
        }));
        let handle = self.local.handle();
        let connection = open(&handle, transport, key(), role, options, listener.clone()).unwrap();
        self.run();
        Side {
            connection,
            events,
            listener,
        }
    }

    /// Opens a server that is made of actors. Also returns its peer.
    pub(crate) fn server(&self, options: Options) -> (Side, Raw) {
        self.server_over(1 << 20, options)
    }

    /// Opens a server like [`Stand::server`], over a pipe of the given size.
    fn server_over(&self, pipe_bytes: usize, options: Options) -> (Side, Raw) {
        let (near, far) = duplex(pipe_bytes);
        let side = self.open(Transport::of(near), Role::Server, options);
        (side, Raw::new(far))
    }

    /// Opens a server that is made of actors. Also returns the server's writer, and its peer, which
    /// has already proven that it has the key.
    pub(crate) fn greeted(&self, options: Options) -> (Side, Writer, Raw, Session) {
        self.greeted_over(1 << 20, options)
    }

    /// Opens a server like [`Stand::greeted`], over a pipe of the given size.
    pub(crate) fn greeted_over(
        &self,
        pipe_bytes: usize,
        options: Options,
    ) -> (Side, Writer, Raw, Session) {
        let suite = options.suite;
        let (side, mut raw) = self.server_over(pipe_bytes, options);
        let client = Greeting::new(key(), suite, Role::Client, 1 << 20).unwrap();
        let session = raw.greet(self, client).unwrap();
        let writer = side.opened();
        (side, writer, raw, session)
    }
}

impl Side {
    /// Returns the events since the last call of this method.
    pub(crate) fn told(&self) -> Vec<Event> {
        self.events.try_iter().collect()
    }

    /// Returns the writer from the first event.
    pub(crate) fn opened(&self) -> Writer {
        match self.events.try_recv() {
            Ok(Event::Opened(writer)) => writer,
            other => panic!("not opened but {other:?}"),
        }
    }

    /// Returns the payload of the next event.
    pub(crate) fn frame(&self) -> Vec<u8> {
        match self.events.try_recv() {
            Ok(Event::Frame(frame)) => frame.to_vec(),
            other => panic!("no frame but {other:?}"),
        }
    }

    /// Returns the outcome of the connection. Panics if there was any other event.
    pub(crate) fn closed(&self) -> Result<(), Error> {
        match self.told().as_slice() {
            [Event::Closed(outcome)] => {
                assert!(self.connection.is_closed());
                outcome.clone()
            }
            other => panic!("not just closed but {other:?}"),
        }
    }
}

impl Raw {
    pub(crate) fn new(stream: DuplexStream) -> Self {
        Self(Some(stream))
    }

    /// Sends the given bytes, for which the pipe has enough room. Does nothing if the other side
    /// has closed the connection.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        let mut task = Context::from_waker(Waker::noop());
        let stream = Pin::new(self.0.as_mut().expect("it has not hung up"));
        match stream.poll_write(&mut task, bytes) {
            Poll::Ready(Ok(written)) => assert_eq!(written, bytes.len()),
            Poll::Ready(Err(error)) => assert_eq!(error.kind(), io::ErrorKind::BrokenPipe),
            Poll::Pending => panic!("the pipe is full"),
        }
    }

    /// Returns all received bytes, and true if more may follow.
    pub(crate) fn hear(&mut self) -> (BytesMut, bool) {
        let mut task = Context::from_waker(Waker::noop());
        let mut heard = BytesMut::new();
        let mut chunk = [0; 4096];
        loop {
            let mut read = ReadBuf::new(&mut chunk);
            let stream = Pin::new(self.0.as_mut().expect("it has not hung up"));
            match stream.poll_read(&mut task, &mut read) {
                Poll::Ready(Ok(())) if read.filled().is_empty() => return (heard, false),
                Poll::Ready(Ok(())) => heard.extend_from_slice(read.filled()),
                Poll::Ready(Err(error)) => panic!("{error}"),
                Poll::Pending => return (heard, true),
            }
        }
    }

    /// Closes only the direction to the other side.
    pub(crate) fn half_close(&mut self) {
        let mut task = Context::from_waker(Waker::noop());
        let stream = Pin::new(self.0.as_mut().expect("it has not hung up"));
        assert!(stream.poll_shutdown(&mut task).is_ready());
    }

    /// Closes both directions.
    pub(crate) fn hang_up(&mut self) {
        self.0 = None;
    }

    /// Performs the client's part of a greeting.
    pub(crate) fn greet(&mut self, stand: &Stand, client: Greeting) -> Result<Session, Error> {
        self.say(client.hello());
        stand.run();
        let (heard, _) = self.hear();
        assert_eq!(heard.len(), HELLO_BYTES + PROOF_BYTES);
        let (hello, proof) = heard.split_first_chunk::<HELLO_BYTES>().unwrap();
        let client = client.heard(hello)?;
        let ours = *client.proof();
        let session = client.proven(proof.first_chunk().unwrap())?;
        self.say(&ours);
        stand.run();
        Ok(session)
    }
}

/// Returns the bytes of a frame.
pub(crate) fn sealed(session: &mut Session, payload: &[u8]) -> BytesMut {
    let mut out = BytesMut::new();
    session.sealer.seal(Kind::Data, payload, &mut out).unwrap();
    out
}

/// Returns the bytes of the last frame.
pub(crate) fn sealed_end(session: &mut Session) -> BytesMut {
    let mut out = BytesMut::new();
    session.sealer.seal(Kind::End, &[], &mut out).unwrap();
    out
}
