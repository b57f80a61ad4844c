//! Messages between two nodes of a process.
//!
//! `cargo bench -p garrick-cluster` prints a table. Each node has a system with one worker. Each
//! row shows messages per second, the CPU time of both nodes per message, and the CPU time of the
//! sending turns per message. With `--features nats`, further rows compare nodes that meet on a
//! NATS server, in another process, with the NATS client without Garrick. With `--features
//! journal`, there are rows for the start of durable entities that have something to do: entities
//! per second, and CPU time per entity. With `--features nats-journal`, there are also rows with
//! journals.

mod entities;
#[cfg(feature = "journal")]
mod listed;
#[cfg(feature = "nats")]
mod nats;

#[cfg(feature = "nats-journal")]
mod journals;

use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use garrick_actor::{Actor, Address, Context, Reply, System};
use garrick_cluster::{Carrier, LocalNet, Node, Transport, Wire};
use garrick_measure::{Clock, Stopwatch};

/// Number of messages that the sender sends per turn.
const BATCH: u64 = 256;

/// Number of measurements of a row. The row shows the median.
const ROUNDS: usize = 5;

#[derive(Wire)]
#[wire(name = "bench.Msg", context = Carrier)]
enum Msg {
    Small { first: u64, second: u64 },
    Bytes(Vec<u8>),
    Done(Reply<u64>),
}

/// Counts messages.
struct Receiver(u64);

impl Actor for Receiver {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, msg: Msg, _: &mut Context<'_, Msg>) {
        match msg {
            Msg::Small { first, second } => self.0 += u64::from(first + 1 == second),
            Msg::Bytes(_) => self.0 += 1,
            Msg::Done(reply) => reply.send(self.0),
        }
    }
}

/// Sends a batch of messages in each turn, as fast as they are accepted.
struct Flood {
    to: Address<Msg>,
    bytes: usize,
    sent: u64,
    count: u64,
    /// Total CPU time of the turns.
    cpu: Duration,
    done: Sender<Duration>,
}

impl Flood {
    fn message(&self) -> Msg {
        if self.bytes == 16 {
            return Msg::Small {
                first: self.sent,
                second: self.sent + 1,
            };
        }
        Msg::Bytes(vec![7; self.bytes])
    }
}

impl Actor for Flood {
    type Msg = ();
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ()>) {
        let me = cx.address();
        let _ = cx.send(&me, ());
    }

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        let me = cx.address();
        let watch = Stopwatch::start(Clock::Thread);
        for _ in 0..BATCH.min(self.count - self.sent) {
            if cx.send(&self.to, self.message()).is_err() {
                // Too much is waiting.
                let _ = cx.send_after(Duration::from_micros(100), &me, ());
                return;
            }
            self.sent += 1;
        }
        self.cpu += watch.stop().cpu;
        if self.sent < self.count {
            let _ = cx.send(&me, ());
        } else {
            let _ = self.done.send(self.cpu);
        }
    }
}

fn system() -> System {
    System::builder().workers(1).start().unwrap()
}

/// Two nodes, each on its own system, and the address of a receiver on the second node.
struct Pair {
    systems: [System; 2],
    nodes: [Node; 2],
    to: Address<Msg>,
}

impl Pair {
    fn new<T: Transport>(net: impl Fn() -> T) -> Self {
        let (here, there) = (system(), system());
        let server = Node::join(&there.handle(), net(), "bench", "there").unwrap();
        server.offer("receiver", &there.spawn(Receiver(0)).unwrap());
        let client = Node::join(&here.handle(), net(), "bench", "here").unwrap();
        let to: Address<Msg> = client.service("there", "receiver").unwrap();
        // The other node may not be known at once.
        while to.ask(Msg::Done).wait().is_err() {}
        Self {
            systems: [here, there],
            nodes: [client, server],
            to,
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for node in &self.nodes {
            node.leave();
        }
    }
}

/// Returns messages per second, and the CPU time per message in nanoseconds: of both nodes, and of
/// the sender's turns.
fn tells<T: Transport>(net: impl Fn() -> T, bytes: usize, count: u64) -> [f64; 3] {
    let pair = Pair::new(net);
    tells_of(&pair.systems[0], &pair.to, bytes, count)
}

/// Measures messages like [`tells`], from an actor of `system` to the address `to`.
fn tells_of(system: &System, to: &Address<Msg>, bytes: usize, count: u64) -> [f64; 3] {
    let Ok(before) = to.ask(Msg::Done).wait() else {
        panic!("the receiver runs");
    };
    let (done, is_done) = channel();
    let watch = Stopwatch::start(Clock::Process);
    let flood = Flood {
        to: to.clone(),
        bytes,
        sent: 0,
        count,
        cpu: Duration::ZERO,
        done,
    };
    let flood = system.spawn(flood).unwrap();
    let turns = is_done.recv().unwrap();
    // The question is refused while the mailbox of the region is full.
    let handled = loop {
        if let Ok(handled) = to.ask(Msg::Done).wait() {
            break handled;
        }
    };
    assert_eq!(handled, before + count);
    let took = watch.stop();
    drop(flood);
    let count = count as f64;
    let each = |time: Duration| time.as_nanos() as f64 / count;
    [count / took.wall.as_secs_f64(), each(took.cpu), each(turns)]
}

/// Returns the median time of a question and its answer.
fn asks<T: Transport>(net: impl Fn() -> T, count: u32) -> Duration {
    let pair = Pair::new(net);
    median_time(count, || {
        pair.to.ask(Msg::Done).wait().unwrap();
    })
}

/// Returns the median time of a call.
fn median_time(count: u32, mut call: impl FnMut()) -> Duration {
    let time = |_| {
        let began = Instant::now();
        call();
        began.elapsed()
    };
    let mut times: Vec<_> = (0..count).map(time).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Returns the row with the median rate.
fn median(mut rows: Vec<[f64; 3]>) -> [f64; 3] {
    rows.sort_by(|one, other| one[0].total_cmp(&other[0]));
    rows[rows.len() / 2]
}

fn print_row(name: &str, [rate, cpu, turns]: [f64; 3]) {
    println!("{name:<20}{rate:>14.0}{cpu:>14.1}{turns:>14.1}");
}

/// Sizes of messages in bytes, and number of messages of each size.
const SIZES: [(usize, u64); 3] = [(16, 4_000_000), (256, 1_000_000), (4_096, 100_000)];

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    // Figures of a quick run mean nothing.
    let (divisor, rounds) = if is_quick { (50, 1) } else { (1, ROUNDS) };
    println!(
        "{:<20}{:>14}{:>14}{:>14}",
        "row", "messages/s", "CPU ns", "in turns"
    );
    for (bytes, count) in SIZES {
        let net = LocalNet::new();
        let row = |_| tells(|| net.clone(), bytes, count / divisor);
        let name = format!("tell, {bytes} bytes");
        print_row(&name, median((0..rounds).map(row).collect()));
    }
    let net = LocalNet::new();
    let count = 20_000 / divisor as u32;
    println!(
        "{:<20}{:>14.1?}",
        "ask, median",
        asks(|| net.clone(), count)
    );
    entities::rows(divisor, rounds);
    #[cfg(feature = "journal")]
    listed::rows(divisor, rounds);
    #[cfg(feature = "nats")]
    nats::rows(divisor, rounds);
    #[cfg(feature = "nats-journal")]
    journals::rows(divisor, rounds);
}
