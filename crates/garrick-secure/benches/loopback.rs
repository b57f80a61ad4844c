//! Frames over a TCP connection of this machine, against the same cipher and HMAC over the bytes in memory.
//!
//! ```text
//!   memory:     thread: seal seal seal          thread: open open open         nothing between them
//!   loopback:   system of one worker: seal, write --- TCP --- read, open, hand over: system of one worker
//! ```
//!
//! Both use two cores, and both take turns, round by round; a ratio is the median of the ratios of the rounds. The
//! loopback has a third thread, tokio's, which waits for the sockets. What is measured is wall time from the first frame
//! to the last.
//!
//! `cargo bench -p garrick-secure --bench loopback` measures everything. Behind `--` a number is how many rounds, and
//! `SHA-256` or `SHA3-256` the one that is measured.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use garrick_actor::{Actor, Address, Context, Incoming, Next, Reply, System};
use garrick_secure::{
    Event, Greeting, Kind, Listener, OVERHEAD_BYTES, Options, PreSharedKey, Role, Session, Suite,
    Transport, Writer, open,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Payload bytes of a round.
const ROUND_BYTES: usize = 32 << 20;

/// The same if it is only to be seen that everything works.
const ROUND_BYTES_QUICK: usize = 1 << 20;

/// Rounds if nothing else is asked for.
const ROUNDS: usize = 9;

const SUITES: [(&str, Suite); 2] = [
    ("SHA-256", Suite::Aes256CtrHmacSha256),
    ("SHA3-256", Suite::Aes256CtrHmacSha3),
];

/// Bytes of a payload.
const PAYLOADS: [usize; 3] = [1 << 10, 16 << 10, 256 << 10];

fn main() -> Outcome<()> {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let (or, bytes) = if is_quick {
        (1, ROUND_BYTES_QUICK)
    } else {
        (ROUNDS, ROUND_BYTES)
    };
    let rounds = std::env::args().find_map(|argument| argument.parse().ok());
    let rounds: usize = rounds.unwrap_or(or).max(1);
    println!("HMAC      payload    memory     loopback   ratio   median of {rounds} rounds");
    let only = std::env::args().find(|argument| SUITES.iter().any(|(name, _)| name == argument));
    for (name, suite) in SUITES {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        for payload_bytes in PAYLOADS {
            let (memory, loopback, ratio) =
                measure(suite, payload_bytes, bytes / payload_bytes, rounds)?;
            println!(
                "{name:9} {:4} KiB   {memory:5.0} MB/s {loopback:5.0} MB/s   {:4.1} %",
                payload_bytes >> 10,
                100.0 * ratio
            );
        }
    }
    Ok(())
}

/// Megabytes a second in memory and over TCP, and the ratio.
fn measure(
    suite: Suite,
    payload_bytes: usize,
    frames: usize,
    rounds: usize,
) -> Outcome<(f64, f64, f64)> {
    let payload = Bytes::from(vec![7; payload_bytes]);
    let megabytes = (frames * payload_bytes) as f64 / 1e6;
    let mut wire = Wire::new(suite)?;
    wire.round(&payload, frames)?;
    let (mut memories, mut loopbacks, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let memory = in_memory(suite, &payload, frames)?.as_secs_f64();
        let loopback = wire.round(&payload, frames)?.as_secs_f64();
        memories.push(megabytes / memory);
        loopbacks.push(megabytes / loopback);
        ratios.push(memory / loopback);
    }
    Ok((median(memories), median(loopbacks), median(ratios)))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Seals on one thread and opens on another, without any handing over.
fn in_memory(suite: Suite, payload: &Bytes, frames: usize) -> Outcome<Duration> {
    let (mut says, mut hears) = sessions(suite)?;
    let (mut other, _) = sessions(suite)?;
    let mut wire = BytesMut::with_capacity(frames * (payload.len() + OVERHEAD_BYTES));
    for _ in 0..frames {
        says.sealer.seal(Kind::Data, payload, &mut wire)?;
    }
    let begin = Barrier::new(3);
    let span = thread::scope(|scope| {
        let seals = scope.spawn(|| {
            let mut out = BytesMut::with_capacity(payload.len() + OVERHEAD_BYTES + (64 << 10));
            begin.wait();
            for _ in 0..frames {
                if out.len() >= 64 << 10 {
                    out.clear();
                }
                let sealed = other.sealer.seal(Kind::Data, payload, &mut out);
                sealed.expect("it is not too long");
                black_box(&out);
            }
            Instant::now()
        });
        let opens = scope.spawn(|| {
            begin.wait();
            for _ in 0..frames {
                let opened = hears.opener.open(&mut wire).expect("it is authentic");
                assert!(opened.is_some_and(|(_, opened)| opened.len() == payload.len()));
            }
            Instant::now()
        });
        let ends = [seals, opens];
        begin.wait();
        let began = Instant::now();
        let ends = ends.map(|end| end.join().expect("it does not panic"));
        ends.map(|end| end - began).into_iter().max()
    });
    Ok(span.unwrap_or_default())
}

fn sessions(suite: Suite) -> Outcome<(Session, Session)> {
    let key = PreSharedKey::random()?;
    let client = Greeting::new(key.clone(), suite, Role::Client, 1 << 20)?;
    let server = Greeting::new(key, suite, Role::Server, 1 << 20)?;
    let (hello, answer) = (*client.hello(), *server.hello());
    let (client, server) = (client.heard(&answer)?, server.heard(&hello)?);
    let (proof, answer) = (*client.proof(), *server.proof());
    Ok((client.proven(&answer)?, server.proven(&proof)?))
}

/// A connection over TCP that stands.
struct Wire {
    /// Told to send so many of these.
    sender: Address<(Bytes, usize)>,
    /// Told how many bytes to wait for.
    receiver: Address<Hears>,
    _systems: [System; 2],
    _driver: Runtime,
}

enum Hears {
    Await(usize, Reply<()>),
    Event(Event),
}

impl Wire {
    fn new(suite: Suite) -> Outcome<Self> {
        let options = Options {
            suite,
            // As many as fit in what is written and read at once, if they are small.
            queue: 256,
            window: 256,
            ..Options::default()
        };
        let driver = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_io()
            .build()?;
        let (near, far) = driver.block_on(streams())?;
        let one = || System::builder().workers(1).start();
        let systems = [one()?, one()?];
        let (told, opened) = channel();
        let events = systems[0].spawn_behavior(move |event, _| {
            if let Event::Opened(writer) = event {
                let _ = told.send(writer);
            }
            Next::Continue
        })?;
        let receiver = systems[1].spawn(Counter::default())?;
        let told = Listener::new(receiver.clone(), Hears::Event);
        let key = PreSharedKey::random()?;
        let handles = [systems[0].handle(), systems[1].handle()];
        let near = (near, Role::Client, events.into());
        let far = (far, Role::Server, told);
        for (handle, (stream, role, events)) in handles.iter().zip([near, far]) {
            stream.set_nodelay(true)?;
            let (read, write) = stream.into_split();
            let transport = Transport::new(read, write);
            open(
                handle,
                transport,
                key.clone(),
                role,
                options.clone(),
                events,
            )?;
        }
        Ok(Self {
            sender: sender(&systems[0], &opened)?,
            receiver,
            _systems: systems,
            _driver: driver,
        })
    }

    /// From the first frame to the last.
    fn round(&mut self, payload: &Bytes, frames: usize) -> Outcome<Duration> {
        let bytes = frames * payload.len();
        let arrived = self.receiver.ask(|reply| Hears::Await(bytes, reply));
        let began = Instant::now();
        let _ = self.sender.send((payload.clone(), frames));
        arrived.wait()?;
        Ok(began.elapsed())
    }
}

fn sender(system: &System, opened: &Receiver<Writer>) -> Outcome<Address<(Bytes, usize)>> {
    let writer = opened.recv()?;
    let sender = system.spawn_async(|mut mailbox: Incoming<(Bytes, usize)>| async move {
        while let Some((payload, frames)) = mailbox.recv().await {
            for _ in 0..frames {
                let _ = writer.send(payload.clone()).await;
            }
        }
    });
    Ok(sender.map_err(|_| "the system is ending")?)
}

/// Counts bytes, and answers when they are all there.
#[derive(Default)]
struct Counter {
    missing: usize,
    asked: Option<Reply<()>>,
}

impl Actor for Counter {
    type Msg = Hears;

    fn receive(&mut self, msg: Hears, _: &mut Context<'_, Hears>) -> Next {
        match msg {
            Hears::Await(bytes, reply) => {
                self.missing = bytes;
                self.asked = Some(reply);
            }
            Hears::Event(Event::Frame(frame)) => self.missing -= frame.len(),
            Hears::Event(_) => {}
        }
        if self.missing == 0
            && let Some(reply) = self.asked.take()
        {
            reply.send(());
        }
        Next::Continue
    }
}

async fn streams() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
    Ok((near?, far?.0))
}
