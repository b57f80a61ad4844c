//! Nodes, actors and conditions of the tests.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use garrick_actor::{Actor, Address, Context, Ended, NoReply, Reply, System};
use garrick_cluster::nats::{NatsBuilder, NatsNet, permissions};
use garrick_cluster::{Carrier, Node, Wire};
use garrick_testkit::HANGS_AFTER;

/// Time between two checks of a condition.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A message to a counter.
#[derive(Wire)]
#[wire(name = "test.nats.Msg", context = Carrier)]
pub(crate) enum Msg {
    Note(u64),
    Noted(Reply<Vec<u64>>),
    Count(Reply<u64>),
    Large(Vec<u8>),
    /// A question that is never answered.
    Never(Reply<u64>),
}

/// A counter, which records the numbers that it receives.
#[derive(Default)]
pub(crate) struct Counter {
    noted: Vec<u64>,
    kept: Vec<Reply<u64>>,
}

impl Actor for Counter {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, msg: Msg, _: &mut Context<'_, Msg>) {
        match msg {
            Msg::Note(number) => self.noted.push(number),
            Msg::Noted(reply) => reply.send(self.noted.clone()),
            Msg::Count(reply) => reply.send(self.noted.len() as u64),
            Msg::Large(bytes) => self.noted.push(bytes.len() as u64),
            Msg::Never(reply) => self.kept.push(reply),
        }
    }
}

/// A node that has its own system, and offers a counter as the service `counter`.
pub(crate) struct Place {
    pub(crate) system: System,
    pub(crate) net: NatsNet,
    pub(crate) node: Node,
    pub(crate) counter: Address<Msg>,
}

impl Place {
    pub(crate) fn new(builder: NatsBuilder, cluster: &str, name: &str) -> Self {
        let (system, net) = (System::new().unwrap(), builder.start().unwrap());
        let node = Node::join(&system.handle(), net.clone(), cluster, name).unwrap();
        let counter = system.spawn(Counter::default()).unwrap();
        node.offer("counter", &counter);
        Self {
            system,
            net,
            node,
            counter,
        }
    }

    /// Starts a node of the cluster `test`.
    pub(crate) fn in_test(address: &str, name: &str) -> Self {
        Self::new(NatsNet::builder(address), "test", name)
    }

    /// Starts the nodes `there` and `here` of the cluster `test`, in this order.
    pub(crate) fn pair(address: &str) -> (Self, Self) {
        let place = |name| Self::in_test(address, name);
        (place("there"), place("here"))
    }

    /// Returns the counter of another node, after it has answered once.
    pub(crate) fn far(&self, node: &str) -> Address<Msg> {
        let far: Address<Msg> = self.node.service(node, "counter").unwrap();
        until("the other node answers", || {
            far.ask(Msg::Count).wait().is_ok()
        });
        far
    }
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < HANGS_AFTER, "not seen: {what}");
        std::thread::park_timeout(LOOK_EVERY);
    }
}

/// Watches an actor. Returns a channel that reports the end of the actor.
pub(crate) fn ends(address: &Address<Msg>) -> Receiver<Ended> {
    let (told, heard) = channel();
    address.watch(move |ended| told.send(ended).unwrap());
    heard
}

/// Returns the numbers that a counter has recorded.
pub(crate) fn noted(counter: &Address<Msg>) -> Vec<u64> {
    counter.ask(Msg::Noted).wait().unwrap()
}

/// Returns true if a question has ended in a way that is allowed when frames are lost.
pub(crate) fn may_be(answer: &Result<u64, NoReply>) -> bool {
    matches!(answer, Ok(_) | Err(NoReply::NodeLost))
}

/// Returns the configuration of users with the permissions of nodes, and the password `secret`.
/// Removes all lines of the permissions for which `keeps` returns false.
pub(crate) fn users(nodes: &[&str], keeps: impl Fn(&str, &str) -> bool) -> String {
    let users = nodes.iter().map(|node| {
        let permissions = permissions("test", node).unwrap();
        let lines = permissions.lines().filter(|line| keeps(node, line));
        let permissions: Vec<_> = lines.collect();
        let permissions = permissions.join("\n");
        format!("{{ user: {node}, password: secret, permissions {permissions} }}\n")
    });
    let users: String = users.collect();
    format!("authorization {{ users = [ {users} ] }}")
}
