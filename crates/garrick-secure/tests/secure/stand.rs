//! What the scenarios share: a system here with a clock set by hand, and a peer that says what it is told, byte by byte.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::BytesMut;
use garrick_actor::{Address, Local, Next, System};
use garrick_secure::{
    Connection, Error, Event, Greeting, HELLO_BYTES, Kind, Options, PROOF_BYTES, PreSharedKey,
    Role, Session, Transport, Writer, open,
};
use garrick_testkit::ByHand;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};

/// A system of this thread.
pub(crate) struct Stand {
    pub(crate) local: Local,
    clock: Arc<ByHand>,
}

/// One side of a connection that is made of actors, and all that was told of it.
pub(crate) struct Side {
    pub(crate) connection: Connection,
    pub(crate) events: Receiver<Event>,
    pub(crate) listener: Address<Event>,
}

/// A peer that is not made of actors: it says and hears bytes.
pub(crate) struct Raw(Option<DuplexStream>);

/// The key of all scenarios.
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

    /// Runs what there is to do, timers that are due included.
    pub(crate) fn run(&self) {
        // The clock is looked at every few activations only.
        (0..16).for_each(|_| self.local.run());
    }

    /// Lets time pass.
    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.run();
    }

    /// A connection over a transport, and what is told of it.
    pub(crate) fn open(&self, transport: Transport, role: Role, options: Options) -> Side {
        let (told, events) = channel();
        let listener = self.local.spawn_behavior(move |event, _| {
            told.send(event).map_or(Next::Stop, |()| Next::Continue)
        });
        let handle = self.local.handle();
        let connection = open(&handle, transport, key(), role, options, listener.clone()).unwrap();
        self.run();
        Side {
            connection,
            events,
            listener,
        }
    }

    /// A server of actors, and its peer.
    pub(crate) fn server(&self, options: Options) -> (Side, Raw) {
        let (near, far) = duplex(1 << 20);
        let side = self.open(Transport::of(near), Role::Server, options);
        (side, Raw(Some(far)))
    }

    /// A server of actors, where to write to it, and its peer, which has proven that it has the key.
    pub(crate) fn greeted(&self, options: Options) -> (Side, Writer, Raw, Session) {
        let suite = options.suite;
        let (side, mut raw) = self.server(options);
        let client = Greeting::new(key(), suite, Role::Client, 1 << 20).unwrap();
        let session = raw.greet(self, client).unwrap();
        let writer = side.opened();
        (side, writer, raw, session)
    }
}

impl Side {
    /// What was told since.
    pub(crate) fn told(&self) -> Vec<Event> {
        self.events.try_iter().collect()
    }

    /// Where to write, which is told first.
    pub(crate) fn opened(&self) -> Writer {
        match self.events.try_recv() {
            Ok(Event::Opened(writer)) => writer,
            other => panic!("not opened but {other:?}"),
        }
    }

    /// The payload that was told next.
    pub(crate) fn frame(&self) -> Vec<u8> {
        match self.events.try_recv() {
            Ok(Event::Frame(frame)) => frame.to_vec(),
            other => panic!("no frame but {other:?}"),
        }
    }

    /// How it ended, and that nothing else was told.
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
    /// Says these bytes; the pipe is large enough. One that was hung up on has nobody to say them to.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        let mut task = Context::from_waker(Waker::noop());
        let stream = Pin::new(self.0.as_mut().expect("it has not hung up"));
        match stream.poll_write(&mut task, bytes) {
            Poll::Ready(Ok(written)) => assert_eq!(written, bytes.len()),
            Poll::Ready(Err(error)) => assert_eq!(error.kind(), io::ErrorKind::BrokenPipe),
            Poll::Pending => panic!("the pipe is full"),
        }
    }

    /// All that was said to it, and whether more may come.
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

    /// Says no more, but hears.
    pub(crate) fn half_close(&mut self) {
        let mut task = Context::from_waker(Waker::noop());
        let stream = Pin::new(self.0.as_mut().expect("it has not hung up"));
        assert!(stream.poll_shutdown(&mut task).is_ready());
    }

    /// Says and hears no more.
    pub(crate) fn hang_up(&mut self) {
        self.0 = None;
    }

    /// The client's part of a greeting.
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

/// The bytes of a frame.
pub(crate) fn sealed(session: &mut Session, payload: &[u8]) -> BytesMut {
    let mut out = BytesMut::new();
    session.sealer.seal(Kind::Data, payload, &mut out).unwrap();
    out
}

/// The bytes of the last frame.
pub(crate) fn sealed_end(session: &mut Session) -> BytesMut {
    let mut out = BytesMut::new();
    session.sealer.seal(Kind::End, &[], &mut out).unwrap();
    out
}
