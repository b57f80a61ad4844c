//! Commands to durable actors, compared with plain writes to the same disk.

use std::env;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;

use garrick::journal::{BoxError, Decide, DurableActor, EventKind, Journal, Stored};
use garrick::{Actor, Address, Context, NoReply, Reply, System};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::actors::{send_in, sent};

pub(super) const DURABLE: Scenario = Scenario {
    name: "durable",
    operation: "one command of a durable actor with an event of 128 bytes, sent, on the disk, and \
                answered, on a pool of 2 workers; each client has one command under way; an actor \
                with several clients decides ahead; 'raw' is one write of 4 KiB and one sync of \
                the same disk, which is that of the folder for temporary files",
    contenders,
};

/// Size of an event in bytes.
const PAYLOAD: usize = 128;

/// Measured loads: the number of durable actors, and how many clients each of them has.
const LOADS: [(u64, u64); 3] = [(1, 1), (1_000, 1), (1, 1_000)];

fn contenders(_: &Effort) -> Vec<Contender> {
    let garrick = |(entities, clients)| {
        Contender::fitted("garrick", move |ops| durable(ops, entities, clients))
            .with("entities", entities)
            .with("clients", clients)
    };
    let raw = Contender::fitted("raw", raw);
    LOADS.into_iter().map(garrick).chain([raw]).collect()
}

/// A counter with events of [`PAYLOAD`] bytes.
struct Counter;

struct Counted;

impl Stored for Counted {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend([7; PAYLOAD]);
        EventKind::default()
    }

    fn decode(_: EventKind, _: &[u8]) -> std::result::Result<Self, BoxError> {
        Ok(Self)
    }
}

impl DurableActor for Counter {
    type Msg = Reply<u64>;
    type State = u64;
    type Event = Counted;
    type Outcome = ();

    fn decide(&self, count: &u64, reply: Reply<u64>, cx: &mut Decide<'_, '_, Self>) {
        cx.record(Counted);
        reply.send(count + 1);
    }

    fn apply(count: &mut u64, _: &Counted) {
        *count += 1;
    }
}

/// A client that asks a counter, one question at a time.
struct Client {
    counter: Address<Reply<u64>>,
    /// Number of questions that have not been asked yet.
    left: u64,
    done: mpsc::Sender<()>,
}

enum Event {
    Start,
    Answered(std::result::Result<u64, NoReply>),
}

impl Actor for Client {
    type Msg = Event;
    type Outcome = garrick::Next;
    const STARTS: bool = false;

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) -> garrick::Next {
        if let Event::Answered(Err(error)) = event {
            return cx.fail(error);
        }
        if self.left == 0 {
            return sent(&self.done.send(()));
        }
        self.left -= 1;
        cx.ask(&self.counter, |reply| reply, Event::Answered);
        garrick::Next::Continue
    }
}

/// A folder that is removed when this value is dropped.
struct Place(PathBuf);

impl Place {
    fn new() -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let name = format!("garrick-bench-{}-{number}", process::id());
        let place = Self(env::temp_dir().join(name));
        fs::create_dir_all(&place.0)?;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn durable(ops: u64, entities: u64, clients: u64) -> Result<Measured> {
    let commands = ops.div_ceil(entities * clients);
    let place = Place::new()?;
    let system = System::builder().workers(2).start()?;
    let (journal, _) = Journal::open(&system.handle(), &place.0)?;
    let (done, ended) = mpsc::channel();
    let mut all = Vec::new();
    for number in 0..entities {
        let mut entity = journal.entity(format!("counter/{number}"), Counter)?;
        if clients > 1 {
            entity = entity.pipelined();
        }
        let counter = system.spawn(entity)?;
        // Its state is read before the measurement.
        counter.ask(|reply| reply).wait()?;
        for _ in 0..clients {
            all.push(system.spawn(Client {
                counter: counter.clone(),
                left: commands,
                done: done.clone(),
            })?);
        }
    }
    drop(done);
    let watch = Stopwatch::start(Clock::Process);
    for client in &all {
        send_in(client, Event::Start);
    }
    for _ in &all {
        ended.recv()?;
    }
    let span = watch.stop();
    drop(journal);
    system.shutdown();
    Ok(Measured::new(commands * entities * clients, span))
}

fn raw(ops: u64) -> Result<Measured> {
    let place = Place::new()?;
    let mut file = File::create(place.0.join("raw"))?;
    let watch = Stopwatch::start(Clock::Process);
    for _ in 0..ops {
        file.write_all(&[1; 4096])?;
        file.sync_data()?;
    }
    Ok(Measured::new(ops, watch.stop()))
}
