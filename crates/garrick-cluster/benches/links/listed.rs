//! The start of durable entities that have something to do, on a node that gets their shards.

use std::thread;
use std::time::Duration;

use garrick_actor::{Reply, System};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Carrier, Entities, Kind, KindOptions, LocalNet, Node, Wire};
use garrick_journal::{BoxError, Decide, Due, DurableActor, EventKind, Journal, MemoryLog, Stored};
use garrick_measure::{Clock, Stopwatch};

use crate::{median, system};

const TASK: Kind<Order> = Kind::new("task");

/// Numbers of entities. The time of each must not depend on their number.
const COUNTS: [usize; 2] = [1_000, 10_000];

#[derive(Wire)]
#[wire(name = "bench.Order", context = Carrier)]
enum Order {
    /// Sets a reminder for tomorrow.
    Remind(Reply<()>),
    /// Asks for an answer without a change.
    Look(Reply<()>),
    /// The message of the reminder.
    Work,
}

struct Nothing;

impl Stored for Nothing {
    fn encode(&self, _: &mut Vec<u8>) -> EventKind {
        EventKind::default()
    }

    fn decode(_: EventKind, _: &[u8]) -> Result<Self, BoxError> {
        Ok(Self)
    }
}

/// A durable entity that has a reminder, so its node keeps it running.
struct Task;

impl DurableActor for Task {
    type Msg = Order;
    type State = ();
    type Event = Nothing;
    type Outcome = ();

    fn decide(&self, (): &(), order: Order, cx: &mut Decide<'_, '_, Self>) {
        match order {
            Order::Remind(reply) => {
                cx.remind_after("tomorrow", Duration::from_secs(86_400));
                reply.send(());
            }
            Order::Look(reply) => reply.send(()),
            Order::Work => {}
        }
    }

    fn apply((): &mut (), _: &Nothing) {}

    fn due(_: Due) -> Option<Order> {
        Some(Order::Work)
    }
}

/// A node that hosts the entities in a log.
struct Host {
    entities: Entities,
    node: Node,
    system: Option<System>,
}

impl Host {
    fn new(log: &MemoryLog) -> Self {
        let system = system();
        let placement = LocalPlacement::new(&system.handle()).unwrap();
        let node = Node::join(&system.handle(), LocalNet::new(), "bench", "node").unwrap();
        let entities = Entities::start(&node, placement).unwrap();
        let journal = Journal::new(&system.handle(), log.clone()).unwrap();
        let of_entities = journal.clone();
        let make = move |key: &str| of_entities.entity(format!("task/{key}"), Task).unwrap();
        let options = KindOptions::new().shards(64).idle(None);
        entities.host_durable(TASK, options, journal, make).unwrap();
        Self {
            entities,
            node,
            system: Some(system),
        }
    }

    /// Asks each entity a question, and waits for all answers.
    fn ask_each(&self, count: usize, order: fn(Reply<()>) -> Order) {
        for number in 0..count {
            let task = self.entities.get(TASK, &number.to_string()).unwrap();
            // Questions are refused until the node has the shard.
            while task.ask(order).wait().is_err() {}
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.entities.leave();
        self.node.leave();
        // Turns that wait for the log must not be undone, so the system ends in order.
        if let Some(system) = self.system.take() {
            system.shutdown();
        }
    }
}

/// Returns a log with `count` entities, each of which has a reminder.
fn log_of(count: usize) -> MemoryLog {
    let log = MemoryLog::new();
    let host = Host::new(&log);
    host.ask_each(count, Order::Remind);
    log
}

/// Returns entities per second, and the CPU time per entity in nanoseconds, from the moment at
/// which a node joins until it runs all entities of the log.
fn starts(log: &MemoryLog, count: usize) -> [f64; 3] {
    let watch = Stopwatch::start(Clock::Process);
    let host = Host::new(log);
    while host.entities.sample()[0].active < count {
        // The wait must cost no CPU time, which is measured.
        thread::sleep(Duration::from_millis(1));
    }
    let took = watch.stop();
    // An entity begins with a durable turn, which must not be undone at the end.
    host.ask_each(count, Order::Look);
    let cpu = took.cpu.as_nanos() as f64 / count as f64;
    [count as f64 / took.wall.as_secs_f64(), cpu, f64::NAN]
}

/// Prints the rows.
pub(crate) fn rows(divisor: u64, rounds: usize) {
    for count in COUNTS.map(|count| count / divisor as usize) {
        let log = log_of(count);
        let starts = |_| starts(&log, count);
        let name = format!("start, {count} listed");
        let [rate, cpu, _] = median((0..rounds).map(starts).collect());
        println!("{name:<20}{rate:>14.0}{cpu:>14.1}");
    }
}
