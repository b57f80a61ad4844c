//! Nodes on systems of one process, with real threads.
#![forbid(unsafe_code)]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Actor, Address, Context, Ended, NoReply, Reply, SendError, System};
use garrick_cluster::{Carrier, Incoming, JoinError, LocalNet, Node, NodeName, Transport, Wire};
use garrick_testkit::{ByHand, HANGS_AFTER, silence_panics, wait};
use garrick_wire::{Decoder, Encoder, Shape, WireError};

/// A message. Some values of this type cannot be sent to other nodes.
#[derive(Wire)]
#[wire(name = "test.Msg", context = Carrier)]
enum Msg {
    Add(u64),
    Get(Reply<u64>),
    Large(String),
    Odd(Odd, Reply<u64>),
    Pass { to: Address<Msg>, number: u64 },
    Friend(Reply<Address<Msg>>),
}

/// A value whose decoding panics.
struct Odd;

impl Wire<Carrier> for Odd {
    const NAME: &'static str = "test.Odd";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, out: &mut Encoder<'_, Carrier>) -> Result<(), WireError> {
        out.varint(1)
    }

    fn decode(_: &mut Decoder<'_, Carrier>) -> Result<Self, WireError> {
        panic!("a bug of the program")
    }
}

/// A message of another type.
#[derive(Wire)]
#[wire(name = "test.Other", context = Carrier)]
struct Other(Reply<u64>);

/// A counter that may know another counter.
struct Counter {
    sum: u64,
    friend: Option<Address<Msg>>,
}

impl Actor for Counter {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
        match msg {
            Msg::Add(number) => self.sum += number,
            Msg::Get(reply) => reply.send(self.sum),
            Msg::Large(_) | Msg::Odd(..) => unreachable!("they do not travel"),
            Msg::Pass { to, number } => {
                let _ = cx.send(&to, Msg::Add(number));
            }
            Msg::Friend(reply) => reply.send(self.friend.clone().expect("it knows one")),
        }
    }
}

/// A node that has its own system, and offers a counter as the service `counter`.
struct Place {
    system: System,
    node: Node,
    counter: Address<Msg>,
}

fn place(net: &LocalNet, name: &str, friend: Option<Address<Msg>>) -> Place {
    let system = System::new().unwrap();
    let node = Node::join(&system.handle(), net.clone(), "test", name).unwrap();
    let counter = system.spawn(Counter { sum: 0, friend }).unwrap();
    node.offer("counter", &counter);
    Place {
        system,
        node,
        counter,
    }
}

fn ends(address: &Address<Msg>) -> Receiver<Ended> {
    let (told, heard) = channel();
    address.watch(move |ended| told.send(ended).unwrap());
    heard
}

#[test]
fn messages_and_answers_cross_nodes() {
    let net = LocalNet::new();
    let (there, here) = (place(&net, "there", None), place(&net, "here", None));
    let far = here.node.service("there", "counter").unwrap();
    for number in 1..=1_000 {
        far.send(Msg::Add(number)).unwrap();
    }
    assert_eq!(far.ask(Msg::Get).wait(), Ok(500_500));
    assert_eq!(there.counter.ask(Msg::Get).wait(), Ok(500_500));
    let sample = here.node.sample();
    assert!(sample.frames_sent < 1_002, "{sample:?}");
    assert_eq!(there.node.sample().delivered, 1_001);
}

#[test]
fn what_cannot_be_delivered_is_refused_with_a_reason() {
    silence_panics();
    let net = LocalNet::new();
    let (there, here) = (place(&net, "there", None), place(&net, "here", None));
    let far = here.node.service("there", "counter").unwrap();
    let refusal = |node: &Node, text: &str| {
        let refusal = node.sample().refusal.unwrap();
        assert!(refusal.contains(text), "{refusal}");
    };
    // No such service.
    let nobody = here.node.service("there", "nobody").unwrap();
    assert_eq!(nobody.ask(Msg::Get).wait(), Err(NoReply::Refused));
    refusal(&there.node, "from the node here: there is no such receiver");
    // Messages of another type.
    let other = here.node.service("there", "counter").unwrap();
    assert_eq!(other.ask(Other).wait(), Err(NoReply::Refused));
    // Decoding panics.
    let odd = far.ask(|reply| Msg::Odd(Odd, reply));
    assert_eq!(odd.wait(), Err(NoReply::Refused));
    refusal(&there.node, "its decoding panics");
    // Too large. The sender is not told, but its node is.
    far.send(Msg::Large("x".repeat(2 << 20))).unwrap();
    refusal(&here.node, "at most 1048576 bytes are allowed");
    // The others go on.
    far.send(Msg::Add(1)).unwrap();
    assert_eq!(far.ask(Msg::Get).wait(), Ok(1));
    assert_eq!(here.node.sample().questions, 0);
}

#[test]
fn addresses_travel_between_three_nodes() {
    let net = LocalNet::new();
    let third = place(&net, "third", None);
    let second = place(&net, "second", None);
    let friend = second.node.service("third", "counter").unwrap();
    let middle = second.system.spawn(Counter {
        sum: 0,
        friend: Some(friend),
    });
    second.node.offer("middle", &middle.unwrap());
    let first = place(&net, "first", None);
    let middle: Address<Msg> = first.node.service("second", "middle").unwrap();
    // The address of an actor of the third node, from the second one.
    let friend: Address<Msg> = middle.ask(Msg::Friend).wait().unwrap();
    friend.send(Msg::Add(3)).unwrap();
    assert_eq!(friend.ask(Msg::Get).wait(), Ok(3));
    assert_eq!(third.counter.ask(Msg::Get).wait(), Ok(3));
    // It comes twice: both are addresses of the same actor.
    let again: Address<Msg> = middle.ask(Msg::Friend).wait().unwrap();
    assert_eq!(friend, again);
    // The address of an actor of this node goes to the second one and to the third one.
    let pass = Msg::Pass {
        to: first.counter.clone(),
        number: 7,
    };
    friend.send(pass).unwrap();
    let get = || first.counter.ask(Msg::Get).wait().unwrap();
    while get() == 0 {
        std::thread::yield_now();
    }
    assert_eq!(get(), 7);
}

#[test]
fn watchers_and_askers_hear_of_a_node_that_leaves() {
    let net = LocalNet::new();
    let (there, here) = (place(&net, "there", None), place(&net, "here", None));
    let far = here.node.service("there", "counter").unwrap();
    let (end, second) = (ends(&far), ends(&far));
    assert_eq!(far.ask(Msg::Get).wait(), Ok(0));
    // A question that is never answered.
    let silent = there.system.spawn(Silent(Vec::new())).unwrap();
    there.node.offer("silent", &silent);
    let far_silent = here.node.service("there", "silent").unwrap();
    let question = far_silent.ask(Other);
    assert_eq!(far.ask(Msg::Get).wait(), Ok(0));
    there.node.leave();
    assert_eq!(question.wait(), Err(NoReply::NodeLost));
    for end in [end, second] {
        assert_eq!(wait(&end), Ended::NodeLost("there".into()));
    }
    // It comes back with the same name.
    let again = Node::join(&there.system.handle(), net, "test", "there").unwrap();
    again.offer("counter", &there.counter);
    assert_eq!(far.ask(Msg::Get).wait(), Ok(0));
    // This node leaves.
    here.node.leave();
    assert!(far.is_stopped());
    assert!(matches!(far.send(Msg::Add(1)), Err(SendError(Msg::Add(1)))));
}

/// An actor that keeps replies, and never answers.
struct Silent(Vec<Reply<u64>>);

impl Actor for Silent {
    type Msg = Other;
    type Outcome = ();

    fn receive(&mut self, Other(reply): Other, _: &mut Context<'_, Other>) {
        self.0.push(reply);
    }
}

#[test]
fn a_stop_crosses_nodes() {
    let net = LocalNet::new();
    let (there, here) = (place(&net, "there", None), place(&net, "here", None));
    let far: Address<Msg> = here.node.service("there", "counter").unwrap();
    let end = ends(&far);
    far.send(Msg::Add(1)).unwrap();
    far.stop();
    assert_eq!(wait(&end), Ended::Stopped);
    assert!(there.counter.is_stopped());
    assert_eq!(wait(&ends(&far)), Ended::Before);
}

#[test]
fn names_are_checked_and_belong_to_one_node() {
    let net = LocalNet::new();
    let here = place(&net, "here", None);
    let join = |name: &str| Node::join(&here.system.handle(), net.clone(), "test", name);
    for name in ["", "a.b", "ä", "a b", &"x".repeat(65)] {
        let error = join(name).unwrap_err();
        assert!(matches!(error, JoinError::Name { .. }), "{error}");
        assert!(here.node.service::<Msg>(name, "counter").is_err());
    }
    assert_eq!(
        join("here").unwrap_err().to_string(),
        "the name \"here\" belongs to another node"
    );
    here.node.leave();
    join("here").unwrap();
}

/// A network whose nodes never answer.
#[derive(Clone, Default)]
struct Silence {
    sent: Arc<Mutex<Vec<Incoming>>>,
    joined: Arc<Mutex<Option<Address<Incoming>>>>,
}

impl Transport for Silence {
    fn join(&self, _: &str, _: &NodeName, to: Address<Incoming>) -> Result<u64, JoinError> {
        *self.joined.lock().unwrap() = Some(to);
        Ok(1)
    }

    fn leave(&self, _: &NodeName, _: u64) {}

    fn send(&self, _: &NodeName, frame: Incoming) -> bool {
        self.sent.lock().unwrap().push(frame);
        true
    }
}

#[test]
fn what_waits_for_a_silent_node_has_a_bound() {
    let (clock, net) = (ByHand::new(), Silence::default());
    let system = System::builder().world(clock.clone()).start().unwrap();
    let node = Node::join(&system.handle(), net.clone(), "test", "here").unwrap();
    let far = node.service("there", "counter").unwrap();
    let mut sent = 0;
    let refused = loop {
        match far.send(Msg::Large("x".repeat(100_000))) {
            Ok(()) => sent += 100_000,
            Err(SendError(refused)) => break refused,
        }
        assert!(sent < 100 << 20, "nothing is refused");
    };
    // The message comes back.
    assert!(matches!(refused, Msg::Large(text) if text.len() == 100_000));
    assert!(sent > 16 << 20, "{sent} bytes");
    let under_way: usize = net.sent.lock().unwrap().iter().map(Incoming::bytes).sum();
    assert!(under_way < 5 << 20, "{under_way} bytes");
    // The other node is given up after some seconds, and then there is room.
    let end = ends(&far);
    let ended = (0..1_000).find_map(|_| {
        clock.advance(Duration::from_secs(1));
        end.recv_timeout(Duration::from_millis(10)).ok()
    });
    assert_eq!(ended, Some(Ended::NodeLost("there".into())));
    far.send(Msg::Add(1)).unwrap();
}

#[test]
fn a_node_that_has_lost_its_name_leaves() {
    let (system, net) = (System::new().unwrap(), Silence::default());
    let node = Node::join(&system.handle(), net.clone(), "test", "here").unwrap();
    let far: Address<Msg> = node.service("there", "counter").unwrap();
    let end = ends(&far);
    let question = far.ask(Msg::Get);
    net.joined.lock().unwrap().take().unwrap().stop();
    assert_eq!(question.wait(), Err(NoReply::NodeLost));
    assert_eq!(wait(&end), Ended::NodeLost("there".into()));
    assert!(matches!(far.send(Msg::Add(1)), Err(SendError(Msg::Add(1)))));
}

#[test]
fn frames_of_strangers_are_dropped() {
    let net = LocalNet::new();
    let here = place(&net, "here", None);
    let name = NodeName::new("here").unwrap();
    let frames = [
        &b""[..],
        b"GRKF",
        &[0; 200],
        b"GRKF\x01 and more bytes than a head has",
    ];
    for frame in frames {
        assert!(net.send(&name, Incoming::new(frame)));
    }
    // Another cluster with the same names.
    let system = System::new().unwrap();
    let other = Node::join(&system.handle(), net.clone(), "another", "there").unwrap();
    let far: Address<Msg> = other.service("here", "counter").unwrap();
    far.send(Msg::Add(1)).unwrap();
    while here.node.sample().frames_dropped < frames.len() as u64 + 1 {
        std::thread::yield_now();
    }
    assert_eq!(here.counter.ask(Msg::Get).wait(), Ok(0));
}

/// An actor that waits in each turn until the test lets it continue, and reports the numbers that
/// it receives.
struct Slow {
    gate: Receiver<()>,
    told: Sender<u64>,
}

impl Actor for Slow {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, msg: Msg, _: &mut Context<'_, Msg>) {
        if let Msg::Add(number) = msg {
            let _ = self.gate.recv();
            let _ = self.told.send(number);
        }
    }
}

#[test]
fn a_full_mailbox_stops_its_senders_and_not_the_others() {
    let net = LocalNet::new();
    let (there, here) = (place(&net, "there", None), place(&net, "here", None));
    let ((open, gate), (told, heard)) = (channel(), channel());
    // On a system of its own, because it blocks its worker.
    let own = System::new().unwrap();
    let mailbox = Mailbox::bounded(4, OnFull::Fail).unwrap();
    let slow = own.actor(Slow { gate, told }).mailbox(mailbox).spawn();
    there.node.offer("slow", &slow.unwrap());
    let slow: Address<Msg> = here.node.service("there", "slow").unwrap();
    let other: Address<Msg> = here.node.service("there", "counter").unwrap();
    let mut sent = 0;
    while slow.send(Msg::Add(sent)).is_ok() {
        sent += 1;
        // The other node tells that it is full.
        assert_eq!(other.ask(Msg::Get).wait(), Ok(0));
    }
    assert!(sent >= 4, "{sent}");
    // A stop comes behind the messages that wait.
    let end = ends(&slow);
    slow.stop();
    assert_eq!(other.ask(Msg::Get).wait(), Ok(0));
    for number in 0..sent {
        open.send(()).unwrap();
        assert_eq!(wait(&heard), number);
    }
    assert_eq!(there.node.sample().refused, 0);
    assert_eq!(wait(&end), Ended::Stopped);
}

#[test]
fn a_mailbox_that_was_full_takes_messages_again() {
    let net = LocalNet::new();
    let (there, here) = (place(&net, "there", None), place(&net, "here", None));
    let ((open, gate), (told, heard)) = (channel(), channel());
    let own = System::new().unwrap();
    let mailbox = Mailbox::bounded(2, OnFull::Fail).unwrap();
    let slow = own.actor(Slow { gate, told }).mailbox(mailbox).spawn();
    there.node.offer("slow", &slow.unwrap());
    let slow: Address<Msg> = here.node.service("there", "slow").unwrap();
    let (mut sent, mut handled) = (0, 0);
    while sent < 200 {
        if slow.send(Msg::Add(sent)).is_ok() {
            sent += 1;
        } else if handled < sent {
            open.send(()).unwrap();
            assert_eq!(wait(&heard), handled);
            handled += 1;
        } else {
            // This node does not know yet that there is room.
            std::thread::yield_now();
        }
    }
    for number in handled..sent {
        open.send(()).unwrap();
        assert_eq!(wait(&heard), number);
    }
}

#[test]
fn a_service_that_is_replaced_leaves_the_full_mailbox_of_the_earlier_one() {
    let net = LocalNet::new();
    let own = System::new().unwrap();
    let (there, here) = (place(&net, "there", None), place(&net, "here", None));
    let ((open, gate), (told, heard)) = (channel(), channel());
    let mailbox = Mailbox::bounded(4, OnFull::Fail).unwrap();
    let slow = own.actor(Slow { gate, told }).mailbox(mailbox).spawn();
    there.node.offer("slow", &slow.unwrap());
    let far: Address<Msg> = here.node.service("there", "slow").unwrap();
    let mut sent = 0;
    while far.send(Msg::Add(sent)).is_ok() {
        sent += 1;
        let other: Address<Msg> = here.node.service("there", "counter").unwrap();
        assert_eq!(other.ask(Msg::Get).wait(), Ok(0));
    }
    // The earlier actor does not continue.
    there.node.offer("slow", &there.counter);
    let began = Instant::now();
    while far.send(Msg::Add(7)).is_err() {
        assert!(began.elapsed() < HANGS_AFTER, "the service stays full");
        std::thread::yield_now();
    }
    assert_eq!(far.ask(Msg::Get).wait(), Ok(7));
    // It gets what was sent to it.
    for number in 0..sent {
        open.send(()).unwrap();
        assert_eq!(wait(&heard), number);
    }
    assert_eq!(there.node.sample().refused, 0);
    assert_eq!(far.ask(Msg::Get).wait(), Ok(7));
}

#[test]
fn a_full_mailbox_behind_a_node_in_between_stops_its_senders() {
    let net = LocalNet::new();
    let own = System::new().unwrap();
    let ((open, gate), (told, heard)) = (channel(), channel());
    let mailbox = Mailbox::bounded(4, OnFull::Fail).unwrap();
    let slow = own.actor(Slow { gate, told }).mailbox(mailbox).spawn();
    let there = place(&net, "there", Some(slow.unwrap()));
    let friend = |place: &Place, of: &str| {
        let of: Address<Msg> = place.node.service(of, "counter").unwrap();
        of.ask(Msg::Friend).wait().unwrap()
    };
    let between = place(&net, "between", None);
    let slow = friend(&between, "there");
    let friends = between.system.spawn(Counter {
        sum: 0,
        friend: Some(slow.clone()),
    });
    between.node.offer("counter", &friends.unwrap());
    let here = place(&net, "here", None);
    let slow_here = friend(&here, "between");
    assert!(slow_here != slow && slow_here == friend(&here, "between"));
    let other: Address<Msg> = here.node.service("between", "counter").unwrap();
    let mut sent = 0;
    while slow_here.send(Msg::Add(sent)).is_ok() {
        sent += 1;
        // The nodes tell each other that it is full.
        assert_eq!(other.ask(Msg::Get).wait(), Ok(0));
        let far: Address<Msg> = between.node.service("there", "counter").unwrap();
        assert_eq!(far.ask(Msg::Get).wait(), Ok(0));
        assert!(sent < 10_000, "nobody is told that the mailbox is full");
    }
    let end = ends(&slow_here);
    slow_here.stop();
    for number in 0..sent {
        open.send(()).unwrap();
        assert_eq!(wait(&heard), number);
    }
    assert_eq!(wait(&end), Ended::Stopped);
    for place in [&there, &between] {
        assert_eq!(place.node.sample().refused, 0);
    }
    // The session with the node in between decides if the address is valid.
    assert!(!slow_here.is_stopped());
    between.node.leave();
    let far: Address<Msg> = here.node.service("between", "counter").unwrap();
    assert!(far.ask(Msg::Get).wait().is_err());
    assert!(slow_here.is_stopped());
}
