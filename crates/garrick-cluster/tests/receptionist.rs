//! The receptionist of a cluster on nodes with real threads.
#![forbid(unsafe_code)]

mod common;

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use common::Cluster;
use garrick_actor::door::{Door, door};
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::naming::{Key, Listing};
use garrick_actor::{Actor, Address, Context, Ended, Next, NoReply, Reply, SendError, System};
use garrick_cluster::placement::{Change, News, Placement};
use garrick_cluster::{Carrier, Entities, LocalNet, Node, Receptionist, ServiceError, Wire};
use garrick_testkit::{silence_panics, wait};

/// A message to a desk.
#[derive(Wire)]
#[wire(name = "test.Desk", context = Carrier)]
enum ToDesk {
    /// Request for the name of the desk.
    Name(Reply<String>),
    Stop,
    /// Request for the desks that were stored in this desk.
    Desks(Reply<Vec<Address<ToDesk>>>),
    Put(Vec<Address<ToDesk>>),
}

const DESKS: Key<ToDesk> = Key::new("desks");

struct Desk {
    name: String,
    known: Vec<Address<ToDesk>>,
}

impl Actor for Desk {
    type Msg = ToDesk;
    type Outcome = Next;

    fn receive(&mut self, message: ToDesk, _: &mut Context<'_, ToDesk>) -> Next {
        match message {
            ToDesk::Name(reply) => reply.send(self.name.clone()),
            ToDesk::Stop => return Next::Stop,
            ToDesk::Desks(reply) => reply.send(self.known.clone()),
            ToDesk::Put(desks) => self.known = desks,
        }
        Next::Continue
    }
}

/// An actor that passes listings on to the test.
struct Listener(Sender<Listing<ToDesk>>);

impl Actor for Listener {
    type Msg = Listing<ToDesk>;
    type Outcome = ();

    fn receive(&mut self, listing: Listing<ToDesk>, _: &mut Context<'_, Listing<ToDesk>>) {
        let _ = self.0.send(listing);
    }
}

/// A node that has its own system.
struct Place {
    system: System,
    node: Node,
    entities: Entities,
    receptionist: Receptionist,
}

impl Cluster {
    fn place(&self, name: &str) -> Place {
        let (system, node, entities) = self.join(name);
        let receptionist = entities.receptionist().unwrap();
        Place {
            system,
            node,
            entities,
            receptionist,
        }
    }
}

impl Place {
    fn desk(&self, name: &str) -> Address<ToDesk> {
        let (name, known) = (name.to_owned(), Vec::new());
        self.system.spawn(Desk { name, known }).unwrap()
    }

    /// Lists a new desk in the receptionist.
    fn serve(&self, name: &str) -> Address<ToDesk> {
        let desk = self.desk(name);
        self.receptionist.serve(&DESKS, &desk).wait().unwrap();
        desk
    }

    fn find(&self) -> Vec<Address<ToDesk>> {
        self.receptionist.find(&DESKS).wait().unwrap()
    }

    /// Waits until this node knows `count` desks, and returns them.
    fn found(&self, count: usize) -> Vec<Address<ToDesk>> {
        loop {
            let found = self.find();
            if found.len() == count {
                return found;
            }
            thread::yield_now();
        }
    }

    fn subscribe(&self) -> Receiver<Listing<ToDesk>> {
        let (told, heard) = channel();
        let listener = self.system.spawn(Listener(told)).unwrap();
        let subscribed = self.receptionist.subscribe(&DESKS, &listener);
        subscribed.wait().unwrap();
        heard
    }
}

fn names(desks: &[Address<ToDesk>]) -> Vec<String> {
    let names = desks.iter().map(|desk| desk.ask(ToDesk::Name).wait());
    names.collect::<Result<_, _>>().unwrap()
}

#[test]
fn actors_of_all_nodes_are_found_and_reached() {
    let cluster = Cluster::new();
    let [one, two, three] = ["one", "two", "three"].map(|name| cluster.place(name));
    let first = one.serve("one-1");
    let second = one.serve("one-2");
    assert_eq!(one.find(), [first.clone(), second.clone()], "at once");
    two.serve("two-1");
    // Those of the own node come first.
    assert_eq!(names(&one.found(3)), ["one-1", "one-2", "two-1"]);
    assert_eq!(names(&two.found(3)), ["two-1", "one-1", "one-2"]);
    assert_eq!(names(&three.found(3)), ["one-1", "one-2", "two-1"]);
    // One that is served again is the same.
    one.receptionist.serve(&DESKS, &first).wait().unwrap();
    assert_eq!(one.find().len(), 3);
    one.receptionist.withdraw(&DESKS, &first).wait().unwrap();
    for place in [&one, &two, &three] {
        let mut found = names(&place.found(2));
        found.sort_unstable();
        assert_eq!(found, ["one-2", "two-1"]);
    }
    // It still runs.
    assert_eq!(first.ask(ToDesk::Name).wait().unwrap(), "one-1");
}

#[test]
fn a_key_has_a_name_and_a_type_of_messages() {
    #[derive(Wire)]
    #[wire(name = "test.Other")]
    struct Other;
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    one.serve("one");
    two.found(1);
    let other = two.receptionist.find(&Key::<Other>::new("desks")).wait();
    assert!(other.unwrap().is_empty());
    let another = two.receptionist.find(&Key::<ToDesk>::new("tables")).wait();
    assert!(another.unwrap().is_empty());
}

#[test]
fn an_actor_that_has_stopped_is_not_served() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let (desk, stays) = (one.serve("goes"), one.serve("stays"));
    let far = two.found(2);
    desk.send(ToDesk::Stop).unwrap();
    assert_eq!(one.found(1), [stays]);
    assert_eq!(names(&two.found(1)), ["stays"]);
    // What was found before does not lead to another actor.
    one.serve("comes");
    let two_again = names(&two.found(2));
    assert_eq!(two_again, ["stays", "comes"]);
    let gone = far[0].ask(ToDesk::Name).wait();
    assert_eq!(gone, Err(NoReply::Refused));
    // To serve it has no effect.
    one.receptionist.serve(&DESKS, &desk).wait().unwrap();
    assert_eq!(one.find().len(), 2);
}

#[test]
fn subscribers_hear_of_all_changes() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    one.serve("one-1");
    two.found(1);
    let heard = two.subscribe();
    let Listing::Present(present) = wait(&heard) else {
        panic!("it is not the first message")
    };
    assert_eq!(names(&present), ["one-1"]);
    let own = two.serve("two-1");
    assert_eq!(wait(&heard), Listing::Added(own.clone()));
    let desk = one.serve("one-2");
    let Listing::Added(far) = wait(&heard) else {
        panic!("nothing was added")
    };
    assert_eq!(far.ask(ToDesk::Name).wait().unwrap(), "one-2");
    desk.stop();
    assert_eq!(wait(&heard), Listing::Removed(far));
    own.stop();
    assert_eq!(wait(&heard), Listing::Removed(own));
    // A node that leaves takes its actors along.
    one.entities.leave();
    assert_eq!(wait(&heard), Listing::Removed(present[0].clone()));
    // It serves no more, and finds nothing.
    let closed = loop {
        match one.receptionist.serve(&DESKS, &one.desk("late")).wait() {
            Err(error) => break error,
            Ok(()) => thread::yield_now(),
        }
    };
    assert_eq!(closed, ServiceError::NoAnswer(NoReply::Dropped));
    assert!(closed.to_string().contains("did not answer"), "{closed}");
}

/// An actor that passes listings on to the test, and then waits until the test lets it go on.
struct Slow(Sender<Listing<ToDesk>>, Receiver<()>);

impl Actor for Slow {
    type Msg = Listing<ToDesk>;
    type Outcome = ();

    fn receive(&mut self, listing: Listing<ToDesk>, _: &mut Context<'_, Listing<ToDesk>>) {
        let _ = self.0.send(listing);
        let _ = self.1.recv();
    }
}

#[test]
fn a_subscriber_with_a_full_mailbox_hears_of_the_changes_later() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let ((told, heard), (goes_on, waits)) = (channel(), channel());
    let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
    let slow = one.system.actor(Slow(told, waits)).mailbox(mailbox);
    let slow = slow.spawn().unwrap();
    // It is busy, and its mailbox is full before it is subscribed.
    slow.send(Listing::Present(Vec::new())).unwrap();
    wait(&heard);
    let first = one.serve("first");
    slow.send(Listing::Removed(first.clone())).unwrap();
    let subscribed = one.receptionist.subscribe(&DESKS, &slow);
    subscribed.wait().unwrap();
    let second = one.serve("second");
    let short = one.serve("short");
    two.serve("far");
    let far = one.found(4).pop().unwrap();
    one.receptionist.withdraw(&DESKS, &short).wait().unwrap();
    one.receptionist.withdraw(&DESKS, &first).wait().unwrap();
    drop(goes_on);
    let expected = [
        Listing::Removed(first.clone()),
        Listing::Present(vec![first.clone()]),
        Listing::Added(second),
        Listing::Added(far),
        Listing::Removed(first),
    ];
    for listing in expected {
        assert_eq!(wait(&heard), listing);
    }
    // From now on, it hears of each change at once again.
    let third = one.serve("third");
    assert_eq!(wait(&heard), Listing::Added(third));
}

/// A door that refuses all messages except the first few, and panics when it is asked if it has
/// stopped.
struct Odd<M> {
    accepts: Arc<AtomicU64>,
    asked: Arc<AtomicU64>,
    message: PhantomData<fn(M)>,
}

impl<M: Send + 'static> Door for Odd<M> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        match self.accepts.load(Relaxed) {
            0 => Err(SendError(message)),
            left => {
                self.accepts.store(left - 1, Relaxed);
                Ok(())
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.asked.fetch_add(1, Relaxed);
        assert!(self.accepts.load(Relaxed) > 0, "a bug of the program");
        false
    }
}

#[derive(Wire, Clone)]
#[wire(name = "test.Word")]
struct Word;

#[test]
fn doors_that_panic_do_not_end_the_services_names_and_topics_of_a_node() {
    silence_panics();
    let cluster = Cluster::new();
    let one = cluster.place("one");
    let desk = one.serve("desk");
    let asked = Arc::new(AtomicU64::new(0));
    let parts = |accepts| (Arc::new(AtomicU64::new(accepts)), asked.clone());
    fn odd<M: Send + 'static>((accepts, asked): (Arc<AtomicU64>, Arc<AtomicU64>)) -> Address<M> {
        let message = PhantomData;
        door(Odd {
            accepts,
            asked,
            message,
        })
    }
    let refused = one.receptionist.serve(&DESKS, &odd(parts(0))).wait();
    assert_eq!(refused, Err(ServiceError::NoAnswer(NoReply::Dropped)));
    let (registry, topic) = (
        one.entities.registry().unwrap(),
        one.entities.topic("words").unwrap(),
    );
    for accepts in [0, 2] {
        let _ = one
            .receptionist
            .subscribe(&DESKS, &odd(parts(accepts)))
            .wait();
        let _ = registry
            .watch::<ToDesk>("leader", &odd(parts(accepts)))
            .wait();
        let _ = topic.subscribe(&odd(parts(accepts))).wait();
    }
    for _ in 0..3 {
        one.serve("another");
        topic.publish(Word).unwrap();
        registry.register("leader", &desk).wait().unwrap();
        registry.unregister("leader", &desk).wait().unwrap();
    }
    // Also if one panics later, when nothing is sent to it.
    let late = parts(u64::MAX);
    let subscribed = one.receptionist.subscribe(&DESKS, &odd(late.clone()));
    subscribed.wait().unwrap();
    late.0.store(0, Relaxed);
    let before = asked.load(Relaxed);
    while asked.load(Relaxed) == before {
        thread::yield_now();
    }
    assert_eq!(one.find().len(), 4);
    assert!(one.find().contains(&desk));
    let (told, heard) = channel();
    let reader = garrick_actor::behavior(move |_: Word, _| told.send(()).unwrap());
    let reader = one.system.spawn(reader).unwrap();
    topic.subscribe(&reader).wait().unwrap();
    topic.publish(Word).unwrap();
    wait(&heard);
}

#[test]
fn what_is_served_is_the_same_on_each_node_also_if_it_has_travelled() {
    let cluster = Cluster::new();
    let [one, two, three] = ["one", "two", "three"].map(|name| cluster.place(name));
    let desk = one.serve("one");
    let far = two.found(1);
    // From the second node to the third one and to the first one.
    let (table, home) = (three.desk("table"), one.desk("home"));
    three.node.offer("table", &table);
    one.node.offer("home", &home);
    for (node, name) in [("three", "table"), ("one", "home")] {
        let to: Address<ToDesk> = two.node.service(node, name).unwrap();
        to.send(ToDesk::Put(far.clone())).unwrap();
        to.ask(ToDesk::Name).wait().unwrap();
    }
    assert_eq!(table.ask(ToDesk::Desks).wait().unwrap(), three.found(1));
    let came_home = home.ask(ToDesk::Desks).wait().unwrap();
    assert_eq!(came_home, std::slice::from_ref(&desk));
    // From the first node, where it is found as it is.
    assert_eq!(one.find(), [desk]);
    let to: Address<ToDesk> = one.node.service("three", "table").unwrap();
    to.send(ToDesk::Put(one.find())).unwrap();
    to.ask(ToDesk::Name).wait().unwrap();
    assert_eq!(table.ask(ToDesk::Desks).wait().unwrap(), three.found(1));
    // Nobody holds anything.
    for place in [&one, &two, &three] {
        assert_eq!(place.node.sample().exported, 0);
    }
}

#[test]
fn one_who_unsubscribes_hears_nothing_more() {
    let cluster = Cluster::new();
    let one = cluster.place("one");
    let (told, heard) = channel();
    let listener = one.system.spawn(Listener(told)).unwrap();
    for _ in 0..2 {
        let subscribed = one.receptionist.subscribe(&DESKS, &listener);
        subscribed.wait().unwrap();
    }
    assert_eq!(wait(&heard), Listing::Present(Vec::new()));
    let desk = one.serve("one");
    assert_eq!(wait(&heard), Listing::Added(desk.clone()), "once");
    let unsubscribed = one.receptionist.unsubscribe(&DESKS, &listener);
    unsubscribed.wait().unwrap();
    one.serve("two");
    listener.stop();
    while !listener.is_stopped() {
        thread::yield_now();
    }
    assert!(heard.try_recv().is_err());
}

#[test]
fn wrong_names_and_too_many_are_refused() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let desk = one.desk("one");
    for name in ["", "a.b", "ä", "a b", &"x".repeat(65)] {
        let key: Key<ToDesk> = Key::owned(name);
        let refused = one.receptionist.serve(&key, &desk).wait().unwrap_err();
        assert_eq!(refused, ServiceError::Key { name: name.into() });
        assert!(refused.to_string().contains("1 to 64 letters"), "{refused}");
        assert!(one.receptionist.find(&key).wait().is_err());
    }
    let desks: Vec<_> = (0..1_024).map(|_| one.serve("one")).collect();
    let refused = one.receptionist.serve(&DESKS, &desk).wait().unwrap_err();
    let key = "desks".to_owned();
    assert_eq!(refused, ServiceError::Instances { key });
    assert!(refused.to_string().contains("1024 actors"), "{refused}");
    assert_eq!(two.found(1_024).len(), 1_024);
    desks[0].stop();
    one.found(1_023);
    one.receptionist.serve(&DESKS, &desk).wait().unwrap();
    // The key of the desks is one of them.
    for number in 1..1_024 {
        let key = Key::owned(format!("key-{number}"));
        one.receptionist.serve(&key, &desk).wait().unwrap();
    }
    let one_more = one.receptionist.serve(&Key::new("one-more"), &desk).wait();
    assert_eq!(one_more, Err(ServiceError::Keys));
    // Others are told of all of them.
    let last = Key::<ToDesk>::new("key-1023");
    while two.receptionist.find(&last).wait().unwrap().is_empty() {
        thread::yield_now();
    }
}

/// A placement that never answers.
struct Silent;

impl Placement for Silent {
    fn read(&self, _: u64, _: &Address<News>) {}

    fn change(&self, _: Change, _: &Address<News>) {}

    fn watch(&self, _: &Address<News>) {}
}

#[test]
fn the_questions_that_wait_for_the_first_reading_have_a_bound() {
    let (net, system) = (LocalNet::new(), System::new().unwrap());
    let node = Node::join(&system.handle(), net, "test", "one").unwrap();
    let entities = Entities::start(&node, Silent).unwrap();
    let receptionist = entities.receptionist().unwrap();
    let (name, known) = ("one".to_owned(), Vec::new());
    let desk = system.spawn(Desk { name, known }).unwrap();
    receptionist.serve(&DESKS, &desk).wait().unwrap();
    let find = || receptionist.find(&DESKS);
    let waiting: Vec<_> = (0..1_024).map(|_| find()).collect();
    // One more is answered with what is known.
    assert_eq!(find().wait().unwrap(), [desk]);
    // The others are told when the node leaves.
    entities.leave();
    for asked in waiting {
        assert_eq!(asked.wait(), Err(ServiceError::NoAnswer(NoReply::Dropped)));
    }
}

#[test]
fn two_types_with_one_name_are_told_apart_by_an_error() {
    #[derive(Wire)]
    #[wire(name = "test.Desk")]
    struct Twin;
    let cluster = Cluster::new();
    let one = cluster.place("one");
    one.serve("one");
    let refused = one.receptionist.find(&Key::<Twin>::new("desks")).wait();
    let key = "desks".to_owned();
    assert_eq!(refused.unwrap_err(), ServiceError::Message { key });
}

#[test]
fn a_receptionist_can_be_used_after_its_start_was_undone() {
    silence_panics();
    let cluster = Cluster::new();
    let system = System::new().unwrap();
    let node = Node::join(&system.handle(), cluster.net.clone(), "test", "one").unwrap();
    let entities = Entities::start(&node, cluster.placement.clone()).unwrap();
    let of_turn = entities.clone();
    let fails = garrick_actor::behavior(move |(): (), _| {
        let receptionist = of_turn.receptionist().unwrap();
        drop(receptionist.find(&DESKS));
        garrick_testkit::fail()
    });
    let fails = system.spawn(fails).unwrap();
    let (ended, ends) = channel();
    let _watch = fails.watch(move |how| ended.send(how).unwrap());
    fails.send(()).unwrap();
    assert!(matches!(wait(&ends), Ended::Failed(_)));
    let receptionist = entities.receptionist().unwrap();
    assert!(receptionist.find(&DESKS).wait().unwrap().is_empty());
}
