//! Messages between two nodes of a process.
//!
//! `cargo bench -p garrick-cluster` prints a table. Each node has a system with one worker. The
//! rows have the messages per second, the CPU time of both nodes for each message, and that of the
//! turns that send them.

use std::env;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use garrick_actor::{Actor, Address, Context, Reply, System};
use garrick_cluster::{Carrier, LocalNet, Node, Wire};
use garrick_measure::{Clock, Stopwatch};

/// Messages of a turn of the sender.
const BATCH: u64 = 256;

/// Number of measurements of a row, of which the median counts.
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

/// Sends messages, a batch each turn, as fast as they are taken.
struct Flood {
    to: Address<Msg>,
    bytes: usize,
    sent: u64,
    count: u64,
    /// CPU time of the turns.
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

/// Returns messages per second, and for each message the nanoseconds of CPU time of both nodes and
/// of the sender's turns.
fn tells(bytes: usize, count: u64) -> [f64; 3] {
    let net = LocalNet::new();
    let (here, there) = (system(), system());
    let server = Node::join(&there.handle(), net.clone(), "bench", "there").unwrap();
    server.offer("receiver", &there.spawn(Receiver(0)).unwrap());
    let client = Node::join(&here.handle(), net, "bench", "here").unwrap();
    let to: Address<Msg> = client.service("there", "receiver").unwrap();
    assert_eq!(to.ask(Msg::Done).wait(), Ok(0));
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
    let flood = here.spawn(flood).unwrap();
    let turns = is_done.recv().unwrap();
    assert_eq!(to.ask(Msg::Done).wait(), Ok(count));
    let took = watch.stop();
    drop(flood);
    let count = count as f64;
    let each = |time: Duration| time.as_nanos() as f64 / count;
    [count / took.wall.as_secs_f64(), each(took.cpu), each(turns)]
}

/// Returns the median time of a question and its answer.
fn asks(count: u32) -> Duration {
    let net = LocalNet::new();
    let (here, there) = (system(), system());
    let server = Node::join(&there.handle(), net.clone(), "bench", "there").unwrap();
    server.offer("receiver", &there.spawn(Receiver(0)).unwrap());
    let client = Node::join(&here.handle(), net, "bench", "here").unwrap();
    let to: Address<Msg> = client.service("there", "receiver").unwrap();
    let mut times: Vec<_> = (0..count)
        .map(|_| {
            let began = Instant::now();
            to.ask(Msg::Done).wait().unwrap();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Returns the row with the median rate.
fn median(mut rows: Vec<[f64; 3]>) -> [f64; 3] {
    rows.sort_by(|one, other| one[0].total_cmp(&other[0]));
    rows[rows.len() / 2]
}

fn main() {
    // With `--quick`, the rows are not to be trusted.
    let is_quick = env::args().any(|argument| argument == "--quick");
    let (rounds, part) = if is_quick { (1, 20) } else { (ROUNDS, 1) };
    println!(
        "{:<20}{:>14}{:>14}{:>14}",
        "row", "messages/s", "CPU ns", "in turns"
    );
    for (bytes, count) in [(16, 4_000_000), (256, 1_000_000), (4_096, 100_000)] {
        let rows = (0..rounds).map(|_| tells(bytes, count / part)).collect();
        let [rate, cpu, turns] = median(rows);
        let name = format!("tell, {bytes} bytes");
        println!("{name:<20}{rate:>14.0}{cpu:>14.1}{turns:>14.1}");
    }
    println!("{:<20}{:>14.1?}", "ask, median", asks(20_000 / part as u32));
}
