//! Durable entities that have something to do, on a node with real threads.
#![forbid(unsafe_code)]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use garrick_actor::{Next, NoReply, Reply, System};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Carrier, Entities, Kind, KindOptions, LocalNet, Node, Wire};
use garrick_journal::{BoxError, Decide, Due, DurableActor, EventKind, Journal, MemoryLog, Stored};
use garrick_testkit::HANGS_AFTER;

const TASK: Kind<Order> = Kind::new("task");

#[derive(Wire)]
#[wire(name = "test.TaskOrder", context = Carrier)]
enum Order {
    /// Requests an effect, and stops in the same turn.
    BeginAndStop(Reply<()>),
    /// The message of the effect.
    Work,
    /// Sets a reminder for tomorrow. The next one cancels it.
    Remind(Reply<()>),
    Cancel(Reply<()>),
    Nothing(Reply<()>),
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

/// A durable entity that reports its work.
struct Task(Sender<()>);

impl DurableActor for Task {
    type Msg = Order;
    type State = ();
    type Event = Nothing;
    type Outcome = Next;

    fn decide(&self, (): &(), order: Order, cx: &mut Decide<'_, '_, Self>) -> Next {
        let reply = match order {
            Order::BeginAndStop(reply) => {
                cx.once("work");
                reply.send(());
                return Next::Stop;
            }
            Order::Work => {
                cx.done("work");
                let _ = self.0.send(());
                return Next::Continue;
            }
            Order::Remind(reply) => {
                cx.remind_after("tomorrow", Duration::from_secs(86_400));
                reply
            }
            Order::Cancel(reply) => {
                cx.done("tomorrow");
                reply
            }
            Order::Nothing(reply) => reply,
        };
        reply.send(());
        Next::Continue
    }

    fn apply((): &mut (), _: &Nothing) {}

    fn due(_: Due) -> Option<Order> {
        Some(Order::Work)
    }
}

struct Scene {
    entities: Entities,
    worked: Receiver<()>,
    _node: Node,
    _system: System,
}

impl Scene {
    fn new() -> Self {
        let system = System::new().unwrap();
        let placement = LocalPlacement::new(&system.handle()).unwrap();
        let node = Node::join(&system.handle(), LocalNet::new(), "test", "node-1").unwrap();
        let entities = Entities::start(&node, placement).unwrap();
        let journal = Journal::new(&system.handle(), MemoryLog::new()).unwrap();
        let (works, worked) = channel();
        let of_entities = journal.clone();
        let make = move |key: &str| {
            let entity = of_entities.entity(format!("task/{key}"), Task(works.clone()));
            entity.unwrap()
        };
        let options = KindOptions::new().shards(2).idle(Some(Duration::ZERO));
        entities.host_durable(TASK, options, journal, make).unwrap();
        Self {
            entities,
            worked,
            _node: node,
            _system: system,
        }
    }

    fn ask(&self, key: &str, order: fn(Reply<()>) -> Order) {
        let task = self.entities.get(TASK, key).unwrap();
        assert_eq!(task.ask(order).wait(), Ok(()));
    }

    /// Waits until `count` entities have stopped because they were idle.
    fn await_passivated(&self, count: u64) {
        let began = Instant::now();
        while self.entities.sample()[0].passivated < count {
            assert!(began.elapsed() < HANGS_AFTER);
            thread::yield_now();
        }
    }
}

#[test]
fn an_entity_that_stops_with_something_to_do_is_created_again() {
    let scene = Scene::new();
    scene.ask("a", Order::BeginAndStop);
    assert_eq!(scene.worked.recv_timeout(HANGS_AFTER), Ok(()));
    assert!(scene.entities.sample()[0].created >= 2);
}

#[test]
fn an_entity_with_a_reminder_does_not_stop_when_it_is_idle() {
    let scene = Scene::new();
    scene.ask("busy", Order::Remind);
    for count in 1..4 {
        scene.ask("idle", Order::Nothing);
        scene.await_passivated(count);
    }
    let sample = &scene.entities.sample()[0];
    assert_eq!((sample.passivated, sample.created), (3, 4));
    scene.ask("busy", Order::Cancel);
    scene.await_passivated(4);
}

#[test]
fn an_entity_that_cannot_be_created_is_given_up_when_it_is_idle() {
    let scene = Scene::new();
    // No journal can have this name, so the function that creates the entity panics.
    let task = scene.entities.get(TASK, "a/").unwrap();
    let asked = task.ask(Order::Nothing);
    assert_eq!(asked.wait(), Err(NoReply::Dropped));
    let began = Instant::now();
    while scene.entities.sample()[0].active > 0 {
        assert!(began.elapsed() < HANGS_AFTER);
        thread::yield_now();
    }
}
