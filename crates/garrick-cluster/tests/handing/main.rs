//! Shards that move while turns of their entities do not end, on nodes with real threads.
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
    /// Does not end before the test lets it.
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

/// A node on a system of its own.
struct Place {
    entities: Entities,
    /// Lets a turn end.
    ends: Sender<()>,
    /// Tells that a turn blocks.
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

/// Returns two nodes. The first one owns the only shard, and a turn of its entity `a` blocks.
/// Returns the question that the turn has answered, without effect so far, and the system of the
/// placement.
fn with_blocked_turn(time: Duration) -> (Place, Place, Ask<String>, System) {
    let store = System::new().unwrap();
    let (net, placement) = (LocalNet::new(), LocalPlacement::new(&store.handle()).unwrap());
    let one = Place::new(&net, &placement, "one", time);
    while one.entities.members().owned == 0 {
        thread::yield_now();
    }
    let two = Place::new(&net, &placement, "two", time);
    let asked = two.worker("a").ask(Order::Block);
    wait(&one.blocked);
    (one, two, asked, store)
}

#[test]
fn a_shard_is_taken_from_an_entity_whose_turn_does_not_end() {
    silence_panics();
    let (one, two, asked, _store) = with_blocked_turn(Duration::from_millis(20));
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
    assert_eq!(asked.wait(), Err(NoReply::Dropped));
}

#[test]
fn a_shard_waits_for_a_long_turn() {
    let (one, two, asked, _store) = with_blocked_turn(Duration::from_secs(100));
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
