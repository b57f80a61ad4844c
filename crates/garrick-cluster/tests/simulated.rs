//! Two nodes in simulations. The network loses, repeats and delays frames, and nodes crash.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::time::Duration;

use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Actor, Address, Context, Ended, NoReply, Reply};
use garrick_cluster::{Carrier, Incoming, LocalNet, Node, NodeSample, Wire};
use garrick_core::random::mix;
use garrick_sim::{Check, Facts, Sim};
use garrick_testkit::seeds;

/// Number of seeds of each check in an optimized build. `GARRICK_CLUSTER_SEEDS` sets another
/// number.
const SEEDS: u64 = 1_000;
/// Number of messages that a client sends, and number of questions that it asks.
const MESSAGES: u64 = 12;
/// Number of messages to a receiver with a bounded mailbox. The next constant is the size of a
/// burst. The bursts take about half of the time until the nodes leave.
const PUSHED: u64 = 300;
const BURST: u64 = 5;
/// Time within which a question is answered or refused.
const ANSWERED_WITHIN: Duration = Duration::from_secs(12);
/// Maximum duration of a partition.
const CUT_FOR: Duration = Duration::from_secs(9);
/// Time after which the nodes leave.
const LEAVES_AFTER: Duration = Duration::from_secs(60);

#[track_caller]
fn check(name: &str, program: fn(&mut Sim)) {
    let seeds = seeds("GARRICK_CLUSTER_SEEDS", SEEDS);
    match Check::new(name).seeds(seeds).run(program) {
        Ok(report) => println!("{name}: {report}"),
        Err(failed) => panic!("{failed}"),
    }
}

/// A message to the server.
#[derive(Wire)]
#[wire(name = "test.ToServer", context = Carrier)]
enum ToServer {
    Tell {
        client: u64,
        number: u64,
    },
    Ask {
        number: u64,
        reply: Reply<u64>,
    },
    /// Messages of one turn, which must arrive together.
    Part {
        turn: u64,
        part: u64,
    },
    /// Request for the address of a new child of the server.
    Child(Reply<Address<ToServer>>),
    /// The address of a child of the server, which the client sends back to the child's node.
    Home(Address<ToServer>),
    /// A number that the server sends back to an actor on the client's node.
    Back {
        number: u64,
        to: Address<ToBack>,
    },
}

/// A message to an actor that waits for a number.
#[derive(Wire)]
#[wire(name = "test.ToBack")]
struct ToBack(u64);

/// A fact: the client has sent this number to the server. The types below are further facts.
#[derive(Debug)]
struct Told {
    life: u64,
    client: u64,
    number: u64,
}
#[derive(Debug)]
struct Handled(u64);
#[derive(Debug)]
struct Asked(u64);
#[derive(Debug)]
struct Answered(u64, Result<u64, NoReply>);
#[derive(Debug)]
struct Parted {
    life: u64,
    part: (u64, u64),
}
#[derive(Debug)]
struct Homed {
    is_far: bool,
}
#[derive(Debug)]
struct Watched(u64);
#[derive(Debug)]
struct HasEnded(u64, Ended);
#[derive(Debug)]
struct CameBack(u64);
/// A fact: the counters of a node shortly before it leaves.
#[derive(Debug)]
struct Sampled(NodeSample);

/// The server, which records the messages that it receives.
struct Server {
    life: u64,
}

impl Actor for Server {
    type Msg = ToServer;
    type Outcome = ();

    fn receive(&mut self, message: ToServer, cx: &mut Context<'_, ToServer>) {
        match message {
            ToServer::Tell { client, number } => cx.note(Told {
                life: self.life,
                client,
                number,
            }),
            ToServer::Ask { number, reply } => {
                cx.note(Handled(number));
                reply.send(number * 2);
            }
            ToServer::Part { turn, part } => cx.note(Parted {
                life: self.life,
                part: (turn, part),
            }),
            ToServer::Child(reply) => reply.send(cx.spawn(Server { life: self.life })),
            ToServer::Home(child) => cx.note(Homed {
                is_far: child.id().is_far(),
            }),
            ToServer::Back { number, to } => {
                let _ = cx.send(&to, ToBack(number));
            }
        }
    }
}

enum ToClient {
    Next,
    Got(u64, Result<u64, NoReply>),
    Child(u64, Result<Address<ToServer>, NoReply>),
    Ended(u64, Ended),
}

/// An actor on the client's node that records the number which the server sends back.
struct Back;

impl Actor for Back {
    type Msg = ToBack;
    type Outcome = ();

    fn receive(&mut self, ToBack(number): ToBack, cx: &mut Context<'_, ToBack>) {
        cx.note(CameBack(number));
    }
}

/// A client, which sends messages and questions to the server.
struct Client {
    number: u64,
    server: Address<ToServer>,
    count: u64,
}

impl Actor for Client {
    type Msg = ToClient;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToClient>) {
        let me = cx.address();
        let _ = cx.send(&me, ToClient::Next);
    }

    fn receive(&mut self, message: ToClient, cx: &mut Context<'_, ToClient>) {
        match message {
            ToClient::Next if self.count < MESSAGES => {
                self.count += 1;
                let (client, number) = (self.number, self.count);
                let _ = cx.send(&self.server, ToServer::Tell { client, number });
                let number = client * 1_000 + number;
                cx.note(Asked(number));
                let ask = move |reply| ToServer::Ask { number, reply };
                cx.ask(&self.server, ask, move |got| ToClient::Got(number, got));
                self.more(number, cx);
                let me = cx.address();
                let pause = Duration::from_millis(mix(number) % 400);
                let _ = cx.send_after(pause, &me, ToClient::Next);
            }
            ToClient::Next => {}
            ToClient::Got(number, got) => cx.note(Answered(number, got)),
            ToClient::Child(number, Ok(child)) => {
                cx.note(Watched(number));
                cx.watch(&child, move |ended| ToClient::Ended(number, ended));
                let home = ToServer::Home(child.clone());
                let _ = cx.send(&self.server, home);
                if number % 2 == 0 {
                    child.stop();
                }
                // Otherwise it ends when this address is dropped, which nobody else has.
            }
            ToClient::Child(_, Err(_)) => {}
            ToClient::Ended(number, ended) => cx.note(HasEnded(number, ended)),
        }
    }
}

impl Client {
    /// Sends a random kind of message.
    fn more(&mut self, number: u64, cx: &mut Context<'_, ToClient>) {
        match mix(number) % 3 {
            0 => {
                for part in 0..3 {
                    let turn = number;
                    let _ = cx.send(&self.server, ToServer::Part { turn, part });
                }
            }
            1 => {
                let child = move |child| ToClient::Child(number, child);
                cx.ask(&self.server, ToServer::Child, child);
            }
            _ => {
                let to = cx.spawn(Back);
                let _ = cx.send(&self.server, ToServer::Back { number, to });
            }
        }
    }
}

/// An actor that records the counters of its node after some time, and makes the node leave.
struct Closer(Node);

impl Actor for Closer {
    type Msg = ();
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ()>) {
        let me = cx.address();
        let _ = cx.send_after(LEAVES_AFTER, &me, ());
    }

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        cx.note(Sampled(self.0.sample()));
        self.0.leave();
    }
}

/// Runs two clients on one node, and a server on another node, which may restart.
fn program(sim: &mut Sim, limit: Duration) {
    let net = LocalNet::new();
    let (server_net, mut life) = (net.clone(), 0);
    sim.restarting("server", move |node| {
        life += 1;
        let server = node.spawn(Server { life }).unwrap();
        let joined = Node::join(node.handle(), server_net.clone(), "test", "server").unwrap();
        joined.offer("server", &server);
        drop(node.spawn(Closer(joined)).unwrap());
    });
    let clients = sim.node("clients");
    let joined = Node::join(clients.handle(), net, "test", "clients").unwrap();
    for number in 1..=2 {
        let server = joined.service("server", "server").unwrap();
        let client = Client {
            number,
            server,
            count: 0,
        };
        drop(clients.spawn(client).unwrap());
    }
    drop(clients.spawn(Closer(joined)).unwrap());
    declare(sim, limit);
}

/// Declares the properties that always hold.
fn declare(sim: &mut Sim, limit: Duration) {
    let limit = limit.as_nanos() as u64;
    let once = |mut numbers: Vec<u64>| {
        numbers.sort_unstable();
        numbers.windows(2).all(|pair| pair[0] != pair[1])
    };
    sim.always("messages come in order, and once", |facts| {
        let mut last = [(0, 0); 3];
        facts.seen::<Told>().all(|told| {
            let last = &mut last[told.client as usize];
            let is_next = told.number > last.1;
            *last = (told.life, told.number);
            is_next
        })
    });
    sim.always("what one turn has sent comes together", |facts| {
        let mut lives: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        for Parted { life, part } in facts.seen::<Parted>() {
            lives.entry(*life).or_default().push(*part);
        }
        // The last turn of a life may be under way, or was when the node crashed.
        lives.values().all(|parts| {
            parts.chunks(3).all(|turn| {
                let expected = (0..).map(|part| (turn[0].0, part));
                turn.iter()
                    .copied()
                    .zip(expected)
                    .all(|(part, expected)| part == expected)
            })
        })
    });
    sim.always("a number comes back once", move |facts| {
        once(facts.seen::<CameBack>().map(|back| back.0).collect())
    });
    sim.explained("each watch is told once", |facts| {
        for Watched(number) in facts.seen::<Watched>() {
            let is_its = |ended: &&HasEnded| ended.0 == *number;
            let count = facts.seen::<HasEnded>().filter(is_its).count();
            if count != 1 {
                return Err(format!("{number}: {count} times"));
            }
        }
        Ok(())
    });
    sim.always("a question is handled once", move |facts| {
        once(facts.seen::<Handled>().map(|handled| handled.0).collect())
    });
    sim.explained(
        "each question has one answer, and the right one",
        move |facts| {
            for (asked, Asked(number)) in facts.timed::<Asked>() {
                let is_its = |answered: &(u64, &Answered)| answered.1.0 == *number;
                let answers: Vec<_> = facts.timed::<Answered>().filter(is_its).collect();
                let is_right = match answers[..] {
                    [(at, Answered(_, Ok(answer)))] => *answer == number * 2 && at < asked + limit,
                    [(at, Answered(_, Err(_)))] => at < asked + limit,
                    _ => false,
                };
                if !is_right {
                    return Err(format!("{number}: {answers:?}"));
                }
            }
            Ok(())
        },
    );
}

/// A fact: a number was received.
#[derive(Debug)]
struct Taken(u64);

/// An actor that sends bursts of numbers to a receiver whose mailbox is often full.
struct Pushy {
    to: Address<ToServer>,
    number: u64,
}

impl Actor for Pushy {
    type Msg = ();
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ()>) {
        let me = cx.address();
        let _ = cx.send(&me, ());
    }

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        for _ in 0..BURST {
            let (client, number) = (0, self.number + 1);
            if cx.send(&self.to, ToServer::Tell { client, number }).is_ok() {
                self.number = number;
                cx.note(Taken(number));
            }
        }
        if self.number < PUSHED {
            let me = cx.address();
            let _ = cx.send_after(Duration::from_millis(500), &me, ());
        }
    }
}

/// Adds a receiver with a bounded mailbox, and its sender, to the program.
fn pushed(sim: &mut Sim) {
    let net = LocalNet::new();
    let nodes = ["server", "clients"].map(|name| {
        let node = sim.node(name);
        let joined = Node::join(node.handle(), net.clone(), "test", name).unwrap();
        drop(node.spawn(Closer(joined.clone())).unwrap());
        (node, joined)
    });
    let [(server, at_server), (clients, at_clients)] = nodes;
    let mailbox = Mailbox::bounded(3, OnFull::Fail).unwrap();
    let receiver = server.actor(Server { life: 1 }).mailbox(mailbox).spawn();
    at_server.offer("server", &receiver.unwrap());
    let to = at_clients.service("server", "server").unwrap();
    drop(clients.spawn(Pushy { to, number: 0 }).unwrap());
    sim.always("numbers come in order", |facts| {
        let numbers = facts.seen::<Told>().map(|told| told.number);
        numbers
            .clone()
            .zip(numbers.skip(1))
            .all(|(one, next)| one < next)
    });
    sim.latency(Duration::from_millis(1)..Duration::from_millis(50));
}

/// Checks that no number is lost on a good network.
fn pushed_calmly(sim: &mut Sim) {
    pushed(sim);
    sim.at_end("all numbers come", |facts| {
        facts.seen::<Told>().len() == facts.seen::<Taken>().len()
    });
    sim.explained("nothing is left", nothing_is_left);
}

/// Checks that after the faults have ceased, the sender learns that the mailbox of the receiver has
/// room.
fn pushed_with_losses(sim: &mut Sim) {
    pushed(sim);
    sim.links().all().loses(100).duplicates::<Incoming>(100);
    sim.faults().cease_after(LEAVES_AFTER / 3);
    sim.at_end("the last number comes", |facts| {
        let last = facts.last::<Told>().map_or(0, |told| told.number);
        last == facts.last::<Taken>().map_or(0, |taken| taken.0) && last >= PUSHED
    });
}

/// Checks that all messages are handled if the network and the nodes work.
fn calm(sim: &mut Sim) {
    program(sim, ANSWERED_WITHIN);
    sim.latency(Duration::from_millis(1)..Duration::from_millis(50));
    one_session(sim);
    sim.at_end("all was handled", |facts| {
        let stopped = |ended: &HasEnded| ended.1 == Ended::Stopped;
        let unreachable = |ended: &HasEnded| ended.1 == Ended::Unreachable;
        let ends = facts.seen::<HasEnded>();
        let are_right = ends.clone().all(|ended| match ended.0 % 2 {
            0 => stopped(ended),
            _ => unreachable(ended),
        });
        if !are_right || facts.seen::<Homed>().len() != ends.len() {
            return false;
        }

        let is_good = |answered: &Answered| answered.1.is_ok();
        facts.seen::<Told>().len() == 2 * MESSAGES as usize
            && facts
                .seen::<Answered>()
                .filter(|answered| is_good(answered))
                .count()
                == 2 * MESSAGES as usize
    });
}

/// Declares the properties that hold if no session ends before the nodes leave.
fn one_session(sim: &mut Sim) {
    sim.always("an address that comes home is the original", |facts| {
        facts.seen::<Homed>().all(|homed| !homed.is_far)
    });
    sim.explained("nothing is left", nothing_is_left);
}

/// Checks that the nodes hold no addresses of each other before they leave.
fn nothing_is_left(facts: &Facts) -> Result<(), String> {
    for Sampled(sample) in facts.seen::<Sampled>() {
        let left = (sample.exported, sample.imported, sample.questions);
        if left != (0, 0, 0) {
            return Err(format!("{left:?} of {sample:?}"));
        }
    }
    Ok(())
}

fn lossy(sim: &mut Sim) {
    program(sim, ANSWERED_WITHIN);
    one_session(sim);
    sim.latency(Duration::from_millis(1)..Duration::from_millis(50));
    sim.links().all().loses(150).duplicates::<Incoming>(100);
}

fn cut(sim: &mut Sim) {
    // Beats may be late by the time of the partitions.
    program(sim, ANSWERED_WITHIN + 3 * CUT_FOR);
    sim.latency(Duration::from_millis(1)..Duration::from_millis(50));
    let lasts = Duration::from_millis(100)..CUT_FOR;
    sim.faults().partition(["server"], 3, lasts);
}

fn crashing(sim: &mut Sim) {
    program(sim, ANSWERED_WITHIN);
    sim.latency(Duration::from_millis(1)..Duration::from_millis(50));
    let after = Duration::ZERO..Duration::from_secs(8);
    sim.faults().crash_and_restart("server", 2, after);
    sim.links().all().loses(50).duplicates::<Incoming>(50);
}

fn any_order(sim: &mut Sim) {
    // Time passes by choice.
    program(sim, Duration::from_secs(1 << 30));
    sim.links().all().loses(100).duplicates::<Incoming>(100);
    sim.faults()
        .crash_and_restart("server", 1, Duration::ZERO..Duration::from_secs(1));
}

#[test]
fn on_a_good_network_all_is_handled() {
    check("calm", calm);
}

#[test]
fn lost_and_repeated_frames_are_noticed() {
    check("lossy", lossy);
}

#[test]
fn partitions_end_sessions() {
    check("cut", cut);
}

#[test]
fn nodes_that_crash_and_restart_are_noticed() {
    check("crashing", crashing);
}

#[test]
fn no_order_is_wrong() {
    check("any order", any_order);
}

#[test]
fn a_full_mailbox_loses_nothing() {
    check("pushed calmly", pushed_calmly);
}

#[test]
fn a_mailbox_that_was_full_has_room_again_in_spite_of_losses() {
    check("pushed with losses", pushed_with_losses);
}
