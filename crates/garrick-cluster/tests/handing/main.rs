//! Shards that move while turns of their entities are still running, on nodes with real threads.
#![forbid(unsafe_code)]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use garrick_actor::{Actor, Address, Ask, Context, NoReply, Reply, System};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Carrier, Entities, Kind, KindOptions, LocalNet, Node, Wire};
use garrick_testkit::{silence_panics, wait};

#[derive(Wire)]
#[wire(name = "test.Order", context = Carrier)]
enum Order {
    Where(Reply<String>),
    /// An entity that blocks in a turn until the test lets it continue.
    Block(Reply<String>),
}

const WORKER: Kind<Order> = Kind::new("worker");

struct Worker {
    node: String,
    blocks: Arc<Mutex<Receiver<()>>>,
    blocked: Sender<()>,
}

impl Actor for Worker {
    type Msg = Order;
    type Outcome = ();

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) {
        match order {
            Order::Where(reply) => reply.send(self.node.clone()),
            Order::Block(reply) => {
                reply.send(self.node.clone());
                self.blocked.send(()).unwrap();
                cx.blocking(|| wait(&self.blocks.lock().unwrap()));
            }
        }
    }
}

/// A node that has its own system.
struct Place {
    entities: Entities,
    /// Ends a blocked turn when a value is sent.
    ends: Sender<()>,
    /// Receives a value when a turn blocks.
    blocked: Receiver<()>,
    _node: Node,
    _system: System,
}

impl Place {
    fn new(net: &LocalNet, placement: &LocalPlacement, name: &'static str, time: Duration) -> Self {
        let system = System::new().unwrap();
        let node = Node::join(&system.handle(), net.clone(), "test", name).unwrap();
        let entities = Entities::start(&node, placement.clone()).unwrap();
        let (ends, blocks) = channel();
        let (tell, blocked) = channel();
        let blocks = Arc::new(Mutex::new(blocks));
        let make = move |_: &str| Worker {
            node: name.to_owned(),
            blocks: blocks.clone(),
            blocked: tell.clone(),
        };
        let options = KindOptions::new().shards(1).hand_over_within(time);
        entities.host(WORKER, options, make).unwrap();
        Self {
            entities,
            ends,
            blocked,
            _node: node,
            _system: system,
        }
    }

    fn worker(&self, key: &str) -> Address<Order> {
        self.entities.get(WORKER, key).unwrap()
    }
}

/// Two nodes. The first one owns the only shard, and a turn of its entity `a` blocks.
struct Blocked {
    one: Place,
    two: Place,
    /// The question that the blocked turn has answered. The answer has not taken effect yet.
    asked: Ask<String>,
    net: LocalNet,
    placement: LocalPlacement,
    _store: System,
}

fn with_blocked_turn(time: Duration) -> Blocked {
    let store = System::new().unwrap();
    let (net, placement) = (
        LocalNet::new(),
        LocalPlacement::new(&store.handle()).unwrap(),
    );
    let one = Place::new(&net, &placement, "one", time);
    while one.entities.members().owned == 0 {
        thread::yield_now();
    }
    let two = Place::new(&net, &placement, "two", time);
    let asked = two.worker("a").ask(Order::Block);
    wait(&one.blocked);
    Blocked {
        one,
        two,
        asked,
        net,
        placement,
        _store: store,
    }
}

#[test]
fn a_shard_is_taken_from_an_entity_whose_turn_does_not_end() {
    silence_panics();
    let blocked = with_blocked_turn(Duration::from_millis(20));
    let (one, two) = (&blocked.one, &blocked.two);
    let behind = one.worker("b").ask(Order::Where);
    assert_eq!(behind.wait().as_deref(), Ok("one"));
    one.entities.drain().wait().unwrap();
    assert_eq!(one.entities.sample()[0].abandoned, 1);
    for key in ["a", "b"] {
        let found = two.worker(key).ask(Order::Where).wait();
        assert_eq!(found.as_deref(), Ok("two"));
    }
    // Another instance has had an effect: the turn has none any more.
    one.ends.send(()).unwrap();
    assert_eq!(blocked.asked.wait(), Err(NoReply::Dropped));
}

#[test]
fn a_shard_waits_for_a_long_turn() {
    let Blocked {
        one,
        two,
        asked,
        _store,
        ..
    } = with_blocked_turn(Duration::from_secs(100));
    let drained = one.entities.drain();
    // From some time on, messages wait on the other node.
    while two.entities.sample()[0].waiting == 0 {
        drop(two.worker("b").ask(Order::Where));
        thread::yield_now();
    }
    let next = two.worker("a").ask(Order::Where);
    one.ends.send(()).unwrap();
    assert_eq!(asked.wait().as_deref(), Ok("one"));
    assert_eq!(next.wait().as_deref(), Ok("two"));
    drained.wait().unwrap();
    assert_eq!(one.entities.sample()[0].abandoned, 0);
}

#[test]
fn a_node_that_leaves_sends_what_waits_for_other_nodes() {
    let Blocked {
        one,
        two,
        asked,
        net,
        placement,
        _store,
    } = with_blocked_turn(Duration::from_secs(100));
    let system = System::new().unwrap();
    let node = Node::join(&system.handle(), net, "test", "guest").unwrap();
    let guest = Entities::start(&node, placement).unwrap();
    let worker = |key| guest.get(WORKER, key).unwrap();
    // Messages also wait before the guest knows the number of shards.
    let before = worker("b").ask(Order::Where).wait();
    assert_eq!(before.as_deref(), Ok("one"));
    let drained = one.entities.drain();
    while guest.sample().first().is_none_or(|kind| kind.waiting == 0) {
        drop(worker("b").ask(Order::Where));
        thread::yield_now();
    }
    let waits = worker("a").ask(Order::Where);
    let left = guest.drain();
    while !worker("a").is_stopped() {
        thread::yield_now();
    }
    one.ends.send(()).unwrap();
    assert_eq!(waits.wait().as_deref(), Ok("two"));
    left.wait().unwrap();
    drained.wait().unwrap();
    assert_eq!(asked.wait().as_deref(), Ok("one"));
    assert_eq!(two.entities.sample()[0].abandoned, 0);
    assert_eq!(guest.sample()[0].expired, 0);
}
