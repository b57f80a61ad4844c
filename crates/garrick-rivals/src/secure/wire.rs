//! An established connection over TCP, with each side on a separate worker.

use std::error::Error;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use garrick::secure::{
    Event, Listener, Options, PreSharedKey, Role, Suite, Transport, Writer, open,
};
use garrick::tokio::Tokio;
use garrick::{Actor, Address, Context, Incoming, Next, Reply, System, behavior};
use garrick_measure::Result;
use tokio::net::{TcpListener, TcpStream};

/// Maximum number of frames that wait to be written. The same limit applies to frames that wait at
/// the receiver.
const FRAMES_MAX: u32 = 256;

/// The result that an actor reports to its creator.
type Told = std::result::Result<(), Box<dyn Error + Send + Sync>>;

pub(super) struct Wire {
    /// Address of the sender. A message to it contains a payload, and the number of times that the
    /// sender sends this payload.
    sender: Address<(Bytes, usize)>,
    receiver: Address<Hears>,
    _systems: [System; 2],
}

/// A message to the receiver.
enum Hears {
    Await(usize, Reply<()>),
    Event(Event),
}

impl Wire {
    pub(super) fn new(suite: Suite) -> Result<Self> {
        let one = || System::builder().workers(1).driver(Tokio::new()).start();
        let systems = [one()?, one()?];
        let socket = StdListener::bind("127.0.0.1:0")?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let (told, opened) = channel();
        let events = systems[0].spawn(behavior(move |event, _| {
            if let Event::Opened(writer) = event {
                let _ = told.send(writer);
            }
            Next::Continue
        }))?;
        let receiver = systems[1].spawn(Counter::default())?;
        let link = Link {
            key: PreSharedKey::random()?,
            suite,
        };
        let near = link.join(&systems[0], Role::Client, connect(address), events.into())?;
        let heard = Listener::new(receiver.clone(), Hears::Event);
        let far = link.join(&systems[1], Role::Server, accept(socket), heard)?;
        for side in [near, far] {
            side.recv()?.map_err(|error| error as Box<dyn Error>)?;
        }
        Ok(Self {
            sender: sender(&systems[0], &opened)?,
            receiver,
            _systems: systems,
        })
    }

    /// Measures a round, from the first frame sent to the last frame received.
    pub(super) fn round(&self, payload: &Bytes, frames: usize) -> Result<Duration> {
        let bytes = frames * payload.len();
        let arrived = self.receiver.ask(|reply| Hears::Await(bytes, reply));
        let began = Instant::now();
        let sent = self.sender.send((payload.clone(), frames));
        sent.map_err(|_| "the connection has ended")?;
        arrived.wait()?;
        Ok(began.elapsed())
    }
}

/// The key and the hash function that both sides of a connection use.
struct Link {
    key: PreSharedKey,
    suite: Suite,
}

impl Link {
    /// Creates an actor that first opens a stream and then the connection. The actor opens the
    /// stream itself, so that the stream is registered with the driver of the actor's worker. The
    /// returned receiver gets the result.
    fn join(
        &self,
        system: &System,
        role: Role,
        stream: impl Future<Output = io::Result<TcpStream>> + Send + 'static,
        listener: Listener,
    ) -> Result<Receiver<Told>> {
        let options = Options {
            suite: self.suite,
            queue: FRAMES_MAX as usize,
            window: FRAMES_MAX,
            ..Options::default()
        };
        let (key, handle) = (self.key.clone(), system.handle());
        let (told, joined) = channel();
        let opens = async move {
            let stream = stream.await?;
            stream.set_nodelay(true)?;
            let (read, write) = stream.into_split();
            let transport = Transport::new(read, write);
            open(&handle, transport, key, role, options, listener)?;
            Ok(())
        };
        let actor = system.spawn(move |_: Incoming<()>| async move {
            // The receiver of this report may have given up.
            let _ = told.send(opens.await);
        });
        actor.map_err(|_| ENDING)?;
        Ok(joined)
    }
}

const ENDING: &str = "the system is ending";

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    TcpStream::connect(address).await
}

async fn accept(socket: StdListener) -> io::Result<TcpStream> {
    let (stream, _) = TcpListener::from_std(socket)?.accept().await?;
    Ok(stream)
}

fn sender(system: &System, opened: &Receiver<Writer>) -> Result<Address<(Bytes, usize)>> {
    let writer = opened.recv()?;
    let sender = system.spawn(|mut mailbox: Incoming<(Bytes, usize)>| async move {
        while let Some((payload, frames)) = mailbox.recv().await {
            for _ in 0..frames {
                // The receiver reports a closed connection.
                let _ = writer.send(payload.clone()).await;
            }
        }
    });
    Ok(sender.map_err(|_| ENDING)?)
}

/// The receiver, which counts bytes, and answers when all of them have arrived.
#[derive(Default)]
struct Counter {
    missing: usize,
    asked: Option<Reply<()>>,
}

impl Actor for Counter {
    type Msg = Hears;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, msg: Hears, _: &mut Context<'_, Hears>) {
        match msg {
            Hears::Await(bytes, reply) => {
                self.missing = bytes;
                self.asked = Some(reply);
            }
            Hears::Event(Event::Frame(frame)) => self.missing -= frame.len(),
            // Dropping the reply notifies the asker that there will be no answer.
            Hears::Event(Event::Closed(_)) => self.asked = None,
            Hears::Event(_) => {}
        }
        if self.missing == 0
            && let Some(reply) = self.asked.take()
        {
            reply.send(());
        }
    }
}
