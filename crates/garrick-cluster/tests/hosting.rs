//! Tests of entities on nodes with real threads: their addresses, their ends, and wrong uses.
#![forbid(unsafe_code)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use common::{Cluster, until};
use garrick_actor::{Actor, Address, Context, Ended, Next, NoReply, Reply, System, behavior};
use garrick_cluster::placement::{Change, LocalPlacement, News, Outcome, Placement};
use garrick_cluster::{
    Carrier, DrainOrder, ENTITY_KEY_BYTES_MAX, Entities, EntityError, JoinError, Kind, KindOptions,
    LocalNet, Node, Overview, Wire,
};
use garrick_testkit::{silence_panics, wait};
use garrick_wire::{Decoder, Encoder, Shape, WireError};

#[derive(Wire)]
#[wire(name = "test.Order", context = Carrier)]
enum Order {
    Add(u64),
    Get(Reply<u64>),
    /// Returns the key of the entity and the name of its node.
    Where(Reply<(String, String)>),
    Stop,
    Fail,
    Odd(Odd),
}

/// A value whose encoding and whose destructor panic.
struct Odd;

impl Wire<Carrier> for Odd {
    const NAME: &'static str = "test.Odd";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, _: &mut Encoder<'_, Carrier>) -> Result<(), WireError> {
        panic!("a bug of the program")
    }

    fn decode(input: &mut Decoder<'_, Carrier>) -> Result<Self, WireError> {
        Err(input.refused("it does not travel"))
    }
}

impl Drop for Odd {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("another bug of the program");
        }
    }
}

#[derive(Wire)]
#[wire(name = "test.Another")]
struct Another;

const COUNTER: Kind<Order> = Kind::new("counter");

struct Counter {
    sum: u64,
    key: String,
    node: String,
}

impl Actor for Counter {
    type Msg = Order;
    type Outcome = Next;

    fn receive(&mut self, order: Order, _: &mut Context<'_, Order>) -> Next {
        match order {
            Order::Add(number) => self.sum += number,
            Order::Get(reply) => reply.send(self.sum),
            Order::Where(reply) => reply.send((self.key.clone(), self.node.clone())),
            Order::Stop => return Next::Stop,
            Order::Fail => panic!("for this test"),
            Order::Odd(odd) => drop(odd),
        }
        Next::Continue
    }
}

/// A node that has its own system.
struct Place {
    system: System,
    node: Node,
    entities: Entities,
}

impl Cluster {
    fn place(&self, name: &str) -> Place {
        let (system, node, entities) = self.join(name);
        Place {
            system,
            node,
            entities,
        }
    }
}

impl Place {
    fn host(&self, options: KindOptions) {
        let node = self.node.name().to_string();
        let make = move |key: &str| Counter {
            sum: 0,
            key: key.to_owned(),
            node: node.clone(),
        };
        self.entities.host(COUNTER, options, make).unwrap();
    }

    fn counter(&self, key: &str) -> garrick_actor::Address<Order> {
        self.entities.get(COUNTER, key).unwrap()
    }

    fn active(&self) -> usize {
        self.entities.sample()[0].active
    }
}

#[test]
fn entities_are_created_by_their_first_message_and_have_their_own_state() {
    let cluster = Cluster::new();
    let place = cluster.place("one");
    place.host(KindOptions::new());
    let (a, b) = (place.counter("a"), place.counter("b"));
    assert_eq!(place.active(), 0);
    a.send(Order::Add(2)).unwrap();
    a.send(Order::Add(3)).unwrap();
    b.send(Order::Add(7)).unwrap();
    assert_eq!(a.ask(Order::Get).wait(), Ok(5));
    assert_eq!(b.ask(Order::Get).wait(), Ok(7));
    let found = a.ask(Order::Where).wait().unwrap();
    assert_eq!(found, ("a".to_owned(), "one".to_owned()));
    assert_eq!(place.active(), 2);
    assert_eq!(a, place.counter("a"));
    assert_ne!(a, b);
    let members = place.entities.members();
    assert!(members.is_member && members.owned == 256, "{members:?}");
}

#[test]
fn nodes_share_the_entities_and_take_over_those_of_a_node_that_leaves() {
    let cluster = Cluster::new();
    let (one, two, guest) = (
        cluster.place("one"),
        cluster.place("two"),
        cluster.place("guest"),
    );
    one.host(KindOptions::new().shards(32));
    two.host(KindOptions::new().shards(32));
    until(|| one.entities.members().owned + two.entities.members().owned == 32);
    let keys: Vec<String> = (0..100).map(|number| format!("key-{number}")).collect();
    let owner = |key: &String| guest.counter(key).ask(Order::Where).wait().unwrap();
    let before: Vec<_> = keys.iter().map(owner).collect();
    assert!(
        before
            .iter()
            .zip(&keys)
            .all(|((found, _), key)| found == key)
    );
    two.entities.drain().wait().unwrap();
    assert_eq!(two.entities.members().owned, 0);
    let after: Vec<_> = keys.iter().map(owner).collect();
    assert!(after.iter().all(|(_, node)| node == "one"), "{after:?}");
    for sample in [&one, &two, &guest].map(|place| place.entities.sample()[0].clone()) {
        assert_eq!(
            (sample.strays, sample.expired, sample.waiting),
            (0, 0, 0),
            "{sample:?}"
        );
    }
    let refused = two.counter("a").send(Order::Add(1));
    assert!(refused.is_err(), "the node has left");
    assert!(two.counter("a").is_stopped());
}

#[test]
fn a_node_is_one_member_until_it_has_left() {
    let cluster = Cluster::new();
    let mut place = cluster.place("one");
    place.host(KindOptions::new());
    place.counter("a").send(Order::Add(2)).unwrap();
    for _ in 0..2 {
        // Otherwise, both members would run the same entities.
        let again = Entities::start(&place.node, cluster.placement.clone());
        let refused = again.unwrap_err();
        assert_eq!(refused, JoinError::Started);
        assert!(refused.to_string().contains("pass clones"), "{refused}");
        assert_eq!(place.counter("a").ask(Order::Get).wait(), Ok(2));
    }
    place.entities.leave();
    place.entities = loop {
        match Entities::start(&place.node, cluster.placement.clone()) {
            Ok(entities) => break entities,
            Err(error) => assert_eq!(error, JoinError::Started),
        }
    };
    place.host(KindOptions::new());
    assert_eq!(place.counter("a").ask(Order::Get).wait(), Ok(0));
}

#[test]
fn an_idle_entity_stops_and_comes_back() {
    let cluster = Cluster::new();
    let place = cluster.place("one");
    place.host(KindOptions::new().idle(Some(Duration::from_millis(5))));
    let a = place.counter("a");
    a.send(Order::Add(2)).unwrap();
    assert_eq!(a.ask(Order::Get).wait(), Ok(2));
    until(|| place.active() == 0);
    assert_eq!(a.ask(Order::Get).wait(), Ok(0), "it is not durable");
    assert_eq!(place.entities.sample()[0].created, 2);
}

#[test]
fn an_entity_that_fails_is_created_again_and_handles_what_waits() {
    silence_panics();
    let cluster = Cluster::new();
    let place = cluster.place("one");
    place.host(KindOptions::new());
    let a = place.counter("a");
    a.send(Order::Add(1)).unwrap();
    a.send(Order::Fail).unwrap();
    a.send(Order::Add(10)).unwrap();
    assert_eq!(a.ask(Order::Get).wait(), Ok(10));
}

#[test]
fn an_entity_that_has_stopped_is_created_by_the_next_message() {
    let cluster = Cluster::new();
    let place = cluster.place("one");
    place.host(KindOptions::new());
    let a = place.counter("a");
    a.send(Order::Add(1)).unwrap();
    a.send(Order::Stop).unwrap();
    // An entity that was counted as created was counted as active before.
    until(|| place.entities.sample()[0].created == 1 && place.active() == 0);
    a.send(Order::Add(10)).unwrap();
    assert_eq!(a.ask(Order::Get).wait(), Ok(10));
}

#[test]
fn a_function_that_panics_is_called_again() {
    silence_panics();
    let cluster = Cluster::new();
    let place = cluster.place("one");
    let calls = Arc::new(AtomicU64::new(0));
    let counted = calls.clone();
    let make = move |key: &str| {
        assert!(counted.fetch_add(1, SeqCst) >= 2, "for this test");
        Counter {
            sum: 5,
            key: key.to_owned(),
            node: String::new(),
        }
    };
    place
        .entities
        .host(COUNTER, KindOptions::new(), make)
        .unwrap();
    assert_eq!(place.counter("a").ask(Order::Get).wait(), Ok(5));
    assert_eq!(calls.load(SeqCst), 3);
}

/// An actor that sends a message to a counter, and then panics.
struct Fails(garrick_actor::Address<Order>, Sender<()>);

impl Actor for Fails {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        cx.send(&self.0, Order::Add(1)).unwrap();
        self.1.send(()).unwrap();
        panic!("for this test");
    }
}

#[test]
fn a_turn_that_is_undone_has_sent_nothing_to_an_entity() {
    silence_panics();
    let cluster = Cluster::new();
    let place = cluster.place("one");
    place.host(KindOptions::new());
    let (sent, heard) = channel();
    let fails = place.system.spawn(Fails(place.counter("a"), sent)).unwrap();
    let (ended, ends) = channel();
    let _watch = fails.watch(move |how| ended.send(how).unwrap());
    fails.send(()).unwrap();
    wait(&heard);
    assert!(matches!(wait(&ends), Ended::Failed(_)));
    assert_eq!(place.counter("a").ask(Order::Get).wait(), Ok(0));
}

#[test]
fn an_entity_cannot_be_stopped_or_watched_from_outside() {
    let cluster = Cluster::new();
    let place = cluster.place("one");
    place.host(KindOptions::new());
    let a = place.counter("a");
    a.send(Order::Add(1)).unwrap();
    a.stop();
    a.send(Order::Add(1)).unwrap();
    assert_eq!(a.ask(Order::Get).wait(), Ok(2));
    let (ended, ends) = channel();
    let _watch = a.watch(move |how| ended.send(how).unwrap());
    a.send(Order::Stop).unwrap();
    until(|| place.active() == 0);
    assert_eq!(a.ask(Order::Get).wait(), Ok(0));
    assert!(ends.try_recv().is_err());
    place.entities.leave();
    assert_eq!(wait(&ends), Ended::Stopped);
}

#[test]
fn questions_that_nobody_answers_end() {
    let cluster = Cluster::new();
    let place = cluster.place("guest");
    // Nobody runs the kind: the message waits for 10 s. The node leaves before.
    let asked = place.counter("a").ask(Order::Get);
    until(|| place.entities.sample()[0].waiting == 1);
    place.entities.leave();
    assert_eq!(asked.wait(), Err(NoReply::Dropped));
    // It leaves still, or has left.
    let _ = place.entities.left().wait();
    assert_eq!(
        place.entities.drain().wait(),
        Err(NoReply::Dropped),
        "it has left"
    );
}

#[test]
fn messages_whose_code_panics_harm_no_others() {
    silence_panics();
    let cluster = Cluster::new();
    let (one, guest) = (cluster.place("one"), cluster.place("guest"));
    one.host(KindOptions::new());
    let (here, far) = (one.counter("a"), guest.counter("a"));
    far.send(Order::Add(1)).unwrap();
    far.send(Order::Odd(Odd)).unwrap();
    far.send(Order::Add(2)).unwrap();
    assert_eq!(far.ask(Order::Get).wait(), Ok(3));
    // The actor itself fails.
    here.send(Order::Odd(Odd)).unwrap();
    here.send(Order::Add(5)).unwrap();
    assert_eq!(far.ask(Order::Get).wait(), Ok(5));
    // Nobody runs the kind any more: the message waits, and is dropped with the region.
    one.entities.drain().wait().unwrap();
    far.send(Order::Odd(Odd)).unwrap();
    let asked = far.ask(Order::Get);
    guest.entities.leave();
    assert_eq!(asked.wait(), Err(NoReply::Dropped));
}

/// An actor that uses a kind for the first time, and then panics.
struct Uses(Entities);

impl Actor for Uses {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) {
        self.0.get(COUNTER, "a").unwrap();
        panic!("for this test");
    }
}

#[test]
fn a_kind_that_was_used_in_a_turn_that_is_undone_can_be_used() {
    silence_panics();
    let cluster = Cluster::new();
    let place = cluster.place("one");
    let uses = place.system.spawn(Uses(place.entities.clone())).unwrap();
    let (ended, ends) = channel();
    let _watch = uses.watch(move |how| ended.send(how).unwrap());
    uses.send(()).unwrap();
    assert!(matches!(wait(&ends), Ended::Failed(_)));
    place.host(KindOptions::new());
    assert_eq!(place.counter("a").ask(Order::Get).wait(), Ok(0));
}

#[test]
fn a_node_drains_entities_that_cannot_be_created() {
    silence_panics();
    let cluster = Cluster::new();
    let place = cluster.place("one");
    let make = |_: &str| -> Counter { panic!("for this test") };
    place
        .entities
        .host(COUNTER, KindOptions::new(), make)
        .unwrap();
    let asked = place.counter("a").ask(Order::Get);
    until(|| place.active() == 1);
    place.entities.drain().wait().unwrap();
    assert!(asked.wait().is_err());
}

/// A placement that loses the first claim of a shard.
struct Forgetful(LocalPlacement, Arc<AtomicU64>);

impl Placement for Forgetful {
    fn read(&self, since: u64, to: &Address<News>) {
        self.0.read(since, to);
    }

    fn change(&self, change: Change, to: &Address<News>) {
        if change.key.starts_with("shard.") && self.1.fetch_add(1, SeqCst) == 0 {
            return;
        }
        self.0.change(change, to);
    }

    fn watch(&self, to: &Address<News>) {
        self.0.watch(to);
    }
}

/// A placement that makes some changes without answering them.
struct Mute {
    placement: LocalPlacement,
    is_mute: Arc<AtomicBool>,
    /// Number of changes that were not answered.
    unanswered: Arc<AtomicU64>,
    nobody: Address<News>,
}

impl Placement for Mute {
    fn read(&self, since: u64, to: &Address<News>) {
        self.placement.read(since, to);
    }

    fn change(&self, change: Change, to: &Address<News>) {
        if self.is_mute.load(SeqCst) {
            self.placement.change(change, &self.nobody);
            self.unanswered.fetch_add(1, SeqCst);
        } else {
            self.placement.change(change, to);
        }
    }

    fn watch(&self, _: &Address<News>) {}
}

#[test]
fn a_node_that_leaves_during_a_renewal_frees_its_shards_at_once() {
    let cluster = Cluster::new();
    let system = System::new().unwrap();
    let node = Node::join(&system.handle(), cluster.net.clone(), "test", "one").unwrap();
    let (is_mute, unanswered) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
    let mute = Mute {
        placement: cluster.placement.clone(),
        is_mute: is_mute.clone(),
        unanswered: unanswered.clone(),
        nobody: system.spawn(behavior(|_: News, _| ())).unwrap(),
    };
    let entities = Entities::start(&node, mute).unwrap();
    let two = cluster.place("two");
    until(|| two.entities.members().members.len() == 2);
    is_mute.store(true, SeqCst);
    // The node does not know the revision of its record any more.
    until(|| unanswered.load(SeqCst) > 0);
    is_mute.store(false, SeqCst);
    entities.leave();
    until(|| two.entities.members().members.len() == 1);
    assert_eq!(two.entities.members().removed, 0, "it was not silent");
    assert!(!entities.members().is_member);
}

/// An actor that sends messages until one is refused, and reports how many were accepted.
struct Floods(Address<Order>, Sender<u64>);

impl Actor for Floods {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        let sends = (0..).take_while(|_| cx.send(&self.0, Order::Add(1)).is_ok());
        let _ = self.1.send(sends.count() as u64);
    }
}

#[test]
fn too_many_messages_to_entities_come_back() {
    let cluster = Cluster::new();
    let place = cluster.place("one");
    place.host(KindOptions::new());
    let a = place.counter("a");
    assert_eq!(a.ask(Order::Get).wait(), Ok(0));
    let (sent, heard) = channel();
    let floods = place.system.spawn(Floods(a.clone(), sent)).unwrap();
    floods.send(()).unwrap();
    let accepted = wait(&heard);
    assert!((12_000..=16_384).contains(&accepted), "{accepted}");
    // All that were accepted come. A question is refused as long as there is no room for it.
    let mut found = Err(NoReply::Dropped);
    until(|| {
        found = a.ask(Order::Get).wait();
        found.is_ok()
    });
    assert_eq!(found, Ok(accepted));
}

#[test]
fn a_drain_ends_without_the_answer_to_a_claim() {
    let system = System::new().unwrap();
    let node = Node::join(&system.handle(), LocalNet::new(), "test", "one").unwrap();
    let claims = Arc::<AtomicU64>::default();
    let placement = LocalPlacement::new(&system.handle()).unwrap();
    let entities = Entities::start(&node, Forgetful(placement, claims.clone())).unwrap();
    let make = |_: &str| Counter {
        sum: 0,
        key: String::new(),
        node: String::new(),
    };
    entities
        .host(COUNTER, KindOptions::new().shards(1), make)
        .unwrap();
    until(|| claims.load(SeqCst) == 1);
    entities.drain().wait().unwrap();
    assert_eq!(claims.load(SeqCst), 1, "it has claimed nothing more");
}

#[test]
fn a_node_that_is_ordered_to_drain_leaves() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    one.host(KindOptions::new().shards(4));
    two.host(KindOptions::new().shards(4));
    let (tell, told) = channel();
    let reader = two.system.spawn(behavior(move |news: News, _| {
        let _ = tell.send(news);
    }));
    let (reader, placement) = (reader.unwrap(), &cluster.placement);
    let left = one.entities.left();
    loop {
        placement.read(0, &reader);
        let News::Records { records, .. } = told.recv().unwrap() else {
            panic!("nothing was changed");
        };
        let DrainOrder::Change(order) = Overview::drain(&records, "one") else {
            continue;
        };
        placement.change(order, &reader);
        // A renewal of the node may be faster.
        if let News::Outcome { outcome, .. } = told.recv().unwrap()
            && matches!(outcome, Outcome::Changed(_))
        {
            break;
        }
    }
    left.wait().unwrap();
    assert!(!one.entities.members().is_member);
    assert_eq!(one.entities.left().wait(), Err(NoReply::Dropped));
    until(|| two.entities.members().owned == 4);
}

#[test]
fn wrong_use_is_refused() {
    let cluster = Cluster::new();
    let place = cluster.place("one");
    let entities = &place.entities;
    let make = |_: &str| Counter {
        sum: 0,
        key: String::new(),
        node: String::new(),
    };
    for name in ["", "a.b", "ä", "a b"] {
        let refused = entities.get(Kind::<Order>::new(name), "a").unwrap_err();
        assert_eq!(refused, EntityError::Kind { name: name.into() });
        assert!(refused.to_string().contains("1 to 64 letters"), "{refused}");
    }
    let long = "k".repeat(ENTITY_KEY_BYTES_MAX + 1);
    for key in ["", &long] {
        let refused = entities.get(COUNTER, key).unwrap_err();
        assert_eq!(refused, EntityError::Key { bytes: key.len() });
    }
    entities.get(COUNTER, &long[1..]).unwrap();
    for shards in [0, 1_025] {
        let options = KindOptions::new().shards(shards);
        let refused = entities.host(COUNTER, options, make).unwrap_err();
        assert_eq!(refused, EntityError::Shards { shards });
    }
    for (min, max, writes) in [(0, 1, 1), (3, 2, 2), (2, 3, 1), (2, 3, 4)] {
        let options = KindOptions::new().versions(min..=max).writes(writes);
        let refused = entities.host(COUNTER, options, make).unwrap_err();
        assert_eq!(refused, EntityError::Versions { min, max, writes });
    }
    entities.host(COUNTER, KindOptions::new(), make).unwrap();
    let again = entities.host(COUNTER, KindOptions::new(), make);
    assert_eq!(
        again,
        Err(EntityError::Hosted {
            kind: "counter".into()
        })
    );
    let other = entities.get(Kind::<Another>::new("counter"), "a");
    assert_eq!(
        other.unwrap_err(),
        EntityError::Message {
            kind: "counter".into()
        }
    );
    for number in 1..256 {
        let name: &'static str = format!("kind-{number}").leak();
        entities.get(Kind::<Order>::new(name), "a").unwrap();
    }
    let one_more = entities.get(Kind::<Order>::new("one-more"), "a");
    assert_eq!(one_more.unwrap_err(), EntityError::Kinds);
    place.entities.leave();
    until(|| place.counter("a").is_stopped());
    let place = cluster.place("two");
    place.system.shutdown();
    let closed = place.entities.get(COUNTER, "a");
    assert_eq!(closed.unwrap_err(), EntityError::Closed);
}
