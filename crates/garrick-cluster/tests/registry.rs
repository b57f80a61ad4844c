//! The registry of a cluster on nodes with real threads.
#![forbid(unsafe_code)]

mod common;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use common::Cluster;
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Actor, Address, Context, Next, NoReply, Reply, System};
use garrick_cluster::placement::{Change, News, Placement};
use garrick_cluster::{Carrier, Entities, LocalNet, NameError, Node, NodeName, Registry, Wire};
use garrick_testkit::wait;

/// A request to a leader for its name.
#[derive(Wire)]
#[wire(name = "test.Lead", context = Carrier)]
enum Lead {
    Name(Reply<String>),
    Stop,
}

struct Leader(String);

impl Actor for Leader {
    type Msg = Lead;
    type Outcome = Next;

    fn receive(&mut self, message: Lead, _: &mut Context<'_, Lead>) -> Next {
        match message {
            Lead::Name(reply) => reply.send(self.0.clone()),
            Lead::Stop => return Next::Stop,
        }
        Next::Continue
    }
}

type Seen = Option<Address<Lead>>;

/// An actor that passes the owners of a name on to the test.
struct Watcher(Sender<Seen>);

impl Actor for Watcher {
    type Msg = Seen;
    type Outcome = ();

    fn receive(&mut self, seen: Seen, _: &mut Context<'_, Seen>) {
        let _ = self.0.send(seen);
    }
}

/// A node that has its own system.
struct Place {
    system: System,
    _node: Node,
    entities: Entities,
    registry: Registry,
}

impl Cluster {
    fn place(&self, name: &str) -> Place {
        let (system, node, entities) = self.join(name);
        let registry = entities.registry().unwrap();
        Place {
            system,
            _node: node,
            entities,
            registry,
        }
    }
}

impl Place {
    fn leader(&self, name: &str) -> Address<Lead> {
        self.system.spawn(Leader(name.to_owned())).unwrap()
    }

    fn register(&self, leader: &Address<Lead>) -> Result<(), NameError> {
        self.registry.register("leader", leader).wait()
    }

    fn lookup(&self) -> Result<Address<Lead>, NameError> {
        self.registry.lookup("leader").wait()
    }

    /// Waits until this node knows if there is a leader, and returns the name of the leader.
    fn led(&self, is_led: bool) -> Option<String> {
        loop {
            let found = self.lookup();
            if found.is_ok() == is_led {
                return found
                    .ok()
                    .map(|found| found.ask(Lead::Name).wait().unwrap());
            }
            thread::yield_now();
        }
    }

    fn watch(&self) -> Receiver<Seen> {
        let (told, heard) = channel();
        let watcher = self.system.spawn(Watcher(told)).unwrap();
        self.registry.watch("leader", &watcher).wait().unwrap();
        heard
    }
}

fn taken(node: &str) -> NameError {
    NameError::Taken {
        name: "leader".into(),
        node: NodeName::new(node).unwrap(),
    }
}

#[test]
fn a_name_belongs_to_one_actor_of_one_node() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let unknown = NameError::Unknown {
        name: "leader".into(),
    };
    assert_eq!(one.lookup().unwrap_err(), unknown);
    let (first, second) = (one.leader("first"), two.leader("second"));
    assert_eq!(one.register(&first), Ok(()));
    assert_eq!(one.lookup().unwrap(), first);
    assert_eq!(two.led(true).unwrap(), "first");
    assert_eq!(two.register(&second), Err(taken("one")));
    assert_eq!(one.register(&one.leader("third")), Err(taken("one")));
    // The one who has it may register again.
    assert_eq!(one.register(&first), Ok(()));
    // Only the one who has it can give it up.
    one.registry.unregister("leader", &second).wait().unwrap();
    assert_eq!(two.led(true).unwrap(), "first");
    one.registry.unregister("leader", &first).wait().unwrap();
    assert_eq!(one.lookup().unwrap_err(), unknown);
    two.led(false);
    assert_eq!(two.register(&second), Ok(()));
    assert_eq!(one.led(true).unwrap(), "second");
    // It still runs.
    assert_eq!(first.ask(Lead::Name).wait().unwrap(), "first");
}

#[test]
fn of_many_nodes_that_want_a_name_one_gets_it() {
    let cluster = Cluster::new();
    let places: Vec<_> = (0..4)
        .map(|number| cluster.place(&format!("node-{number}")))
        .collect();
    for place in &places {
        place.led(false);
    }
    let leaders: Vec<_> = places.iter().map(|place| place.leader("leader")).collect();
    let asked: Vec<_> = (places.iter().zip(&leaders))
        .map(|(place, leader)| place.registry.register("leader", leader))
        .collect();
    let answers: Vec<_> = asked.into_iter().map(|asked| asked.wait()).collect();
    let has_it = answers.iter().position(Result::is_ok).expect("one has it");
    let winner = taken(&format!("node-{has_it}"));
    for (number, answer) in answers.into_iter().enumerate() {
        let expected = if number == has_it {
            Ok(())
        } else {
            Err(winner.clone())
        };
        assert_eq!(answer, expected);
    }
}

#[test]
fn a_name_is_free_when_its_actor_stops_or_its_node_leaves() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let heard = two.watch();
    assert_eq!(wait(&heard), None);
    let first = one.leader("first");
    one.register(&first).unwrap();
    let seen = wait(&heard).expect("it is told");
    assert_eq!(seen.ask(Lead::Name).wait().unwrap(), "first");
    first.send(Lead::Stop).unwrap();
    assert_eq!(wait(&heard), None);
    let own = one.watch();
    assert_eq!(wait(&own), None);
    let second = one.leader("second");
    one.register(&second).unwrap();
    assert_eq!(wait(&own), Some(second));
    assert!(
        wait(&heard).is_some_and(|again| again != seen),
        "it is another one"
    );
    one.entities.leave();
    assert_eq!(wait(&heard), None);
    assert_eq!(wait(&own), None);
    let third = two.leader("third");
    two.register(&third).unwrap();
    assert_eq!(wait(&heard), Some(third));
    // The node that has left is told nothing, and gets no name.
    assert_eq!(own.recv().ok(), None);
    let refused = one.register(&one.leader("late"));
    assert_eq!(refused, Err(NameError::NoAnswer(NoReply::Dropped)));
}

#[test]
fn a_subscriber_whose_mailbox_was_full_receives_the_newest_owner() {
    let cluster = Cluster::new();
    let one = cluster.place("one");
    let ((open, gate), (told, heard)) = (channel(), channel());
    let slow = garrick_actor::behavior(move |seen: Seen, _| {
        let _ = told.send(seen);
        let _ = gate.recv();
    });
    // In another system, because it blocks its worker.
    let own = System::new().unwrap();
    let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
    let slow = own.actor(slow).mailbox(mailbox).spawn().unwrap();
    one.registry.watch("leader", &slow).wait().unwrap();
    assert_eq!(wait(&heard), None);
    let (first, second) = (one.leader("first"), one.leader("second"));
    for leader in [&first, &second] {
        // The first owner fills the mailbox. The next changes are missed.
        one.register(leader).unwrap();
        assert!(one.led(true).is_some());
        one.registry.unregister("leader", leader).wait().unwrap();
        assert_eq!(one.led(false), None);
    }
    one.register(&second).unwrap();
    assert!(one.led(true).is_some());
    for owner in [first, second] {
        open.send(()).unwrap();
        assert_eq!(wait(&heard), Some(owner));
    }
    open.send(()).unwrap();
}

#[test]
fn an_actor_that_has_stopped_gets_no_name() {
    let cluster = Cluster::new();
    let one = cluster.place("one");
    let stopped = one.leader("stopped");
    stopped.stop();
    while !stopped.is_stopped() {
        thread::yield_now();
    }
    let refused = one.register(&stopped).unwrap_err();
    let name = "leader".to_owned();
    assert_eq!(refused, NameError::Ended { name });
    assert!(one.lookup().is_err());
    assert_eq!(one.register(&one.leader("first")), Ok(()));
}

#[test]
fn the_type_of_messages_is_checked() {
    #[derive(Wire)]
    #[wire(name = "test.Other")]
    struct Other;
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    one.register(&one.leader("first")).unwrap();
    two.led(true);
    for place in [&one, &two] {
        let refused = place.registry.lookup::<Other>("leader").wait().unwrap_err();
        let (name, node) = ("leader".to_owned(), NodeName::new("one").unwrap());
        assert_eq!(refused, NameError::Message { name, node });
    }
}

#[test]
fn wrong_names_and_too_many_are_refused() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let leader = one.leader("first");
    for name in ["", "a.b", "ä", "a b", &"x".repeat(65)] {
        let refused = one.registry.register(name, &leader).wait().unwrap_err();
        assert_eq!(refused, NameError::Name { name: name.into() });
        assert!(refused.to_string().contains("1 to 64 letters"), "{refused}");
        assert!(one.registry.lookup::<Lead>(name).wait().is_err());
    }
    let asked: Vec<_> = (0..1_024)
        .map(|number| one.registry.register(&format!("name-{number}"), &leader))
        .collect();
    for asked in asked {
        assert_eq!(asked.wait(), Ok(()));
    }
    let refused = one.register(&leader).unwrap_err();
    assert_eq!(refused, NameError::Names);
    assert!(refused.to_string().contains("1024"), "{refused}");
    // Other nodes have names of their own.
    assert_eq!(two.register(&two.leader("second")), Ok(()));
    one.registry.unregister("name-7", &leader).wait().unwrap();
    assert_eq!(one.registry.register("name-2000", &leader).wait(), Ok(()));
}

/// A placement that cannot be reached.
struct Away;

impl Placement for Away {
    fn read(&self, _: u64, _: &Address<News>) {}

    fn change(&self, _: Change, _: &Address<News>) {}

    fn watch(&self, _: &Address<News>) {}
}

#[test]
fn calls_that_wait_for_a_placement_have_a_bound() {
    let system = System::new().unwrap();
    let node = Node::join(&system.handle(), LocalNet::new(), "test", "one").unwrap();
    let registry = Entities::start(&node, Away).unwrap().registry().unwrap();
    let leader = system.spawn(Leader("first".into())).unwrap();
    let waiting: Vec<_> = (0..1_024)
        .map(|_| registry.register("leader", &leader))
        .collect();
    let refused = registry.register("leader", &leader).wait().unwrap_err();
    let name = "leader".into();
    assert_eq!(refused, NameError::Calls { name });
    assert!(refused.to_string().contains("1024"), "{refused}");
    // Another name, and the calls that wait, are not affected.
    let other = registry.register("other", &leader);
    node.leave();
    for call in waiting.into_iter().chain([other]) {
        let answer = call.wait();
        assert!(matches!(answer, Err(NameError::NoAnswer(_))), "{answer:?}");
    }
}
