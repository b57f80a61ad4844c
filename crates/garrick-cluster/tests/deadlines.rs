//! Questions to other nodes end in time, whatever happens to their answers.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, NoReply, Reply};
use garrick_cluster::{
    Carrier, Incoming, JoinError, LocalNet, Node, NodeName, NodeOptions, NodeSample, Transport,
    Wire,
};
use garrick_core::random::mix;
use garrick_sim::{Check, Sim};
use garrick_testkit::seeds;

/// Number of seeds of each check in an optimized build. `GARRICK_CLUSTER_SEEDS` sets another
/// number.
const SEEDS: u64 = 1_000;

/// Number of questions. The next constant is the time between two questions.
const QUESTIONS: u64 = 30;
const PAUSE: Duration = Duration::from_millis(300);

/// The time limit of a question. A question may end up to 1 second later. A message between the
/// asker and its link takes up to 50 ms.
const WITHIN: Duration = Duration::from_secs(3);
const LATER: Duration = Duration::from_millis(1_100);

/// Time after which the asker's node records its counters. At this time, the server no longer
/// answers.
const ENDS_AFTER: Duration = Duration::from_secs(40);

#[track_caller]
fn check(name: &str, program: fn(&mut Sim)) {
    let seeds = seeds("GARRICK_CLUSTER_SEEDS", SEEDS);
    match Check::new(name).seeds(seeds).run(program) {
        Ok(report) => println!("{name}: {report}"),
        Err(failed) => panic!("{failed}"),
    }
}

#[derive(Wire)]
#[wire(name = "test.Question", context = Carrier)]
struct Question {
    number: u64,
    reply: Reply<u64>,
}

/// Time after which the server answers a question. `None` if it never answers.
fn answered_after(number: u64) -> Option<Duration> {
    match number % 3 {
        0 => Some(Duration::ZERO),
        1 => Some(2 * WITHIN),
        _ => None,
    }
}

enum ToServer {
    Question(Question),
    Answer(Question),
}

/// A server that answers some questions at once, answers others late, and never answers the rest.
struct Server(Vec<Question>);

impl Actor for Server {
    type Msg = ToServer;
    type Outcome = ();

    fn receive(&mut self, message: ToServer, cx: &mut Context<'_, ToServer>) {
        match message {
            ToServer::Question(question) => match answered_after(question.number) {
                Some(after) => {
                    let me = cx.address();
                    let _ = cx.send_after(after, &me, ToServer::Answer(question));
                }
                None => self.0.push(question),
            },
            ToServer::Answer(Question { number, reply }) => reply.send(number),
        }
    }
}

/// A fact: the question with this number was asked. The types below are further facts.
#[derive(Debug)]
struct Asked(u64);
#[derive(Debug)]
struct Ended(u64, Result<u64, NoReply>);
/// A fact: the counters of the asker's node at the end.
#[derive(Debug)]
struct Sampled(NodeSample);

/// A network that loses all frames of one node while the node's cable is cut.
#[derive(Clone)]
struct Cable {
    net: LocalNet,
    is_cut: Arc<AtomicBool>,
}

impl Transport for Cable {
    fn join(&self, of: &str, name: &NodeName, to: Address<Incoming>) -> Result<u64, JoinError> {
        self.net.join(of, name, to)
    }

    fn leave(&self, name: &NodeName, life: u64) {
        self.net.leave(name, life);
    }

    fn send(&self, to: &NodeName, frame: Incoming) -> bool {
        self.is_cut.load(Relaxed) || self.net.send(to, frame)
    }
}

struct Asker {
    node: Node,
    cable: Cable,
    /// Times at which the cable is cut and repaired.
    cuts: Vec<(Duration, bool)>,
    server: Address<Question>,
    number: u64,
}

enum ToAsker {
    Next,
    Got(u64, Result<u64, NoReply>),
    SetCut(bool),
    Sample,
}

impl Actor for Asker {
    type Msg = ToAsker;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToAsker>) {
        let me = cx.address();
        let _ = cx.send(&me, ToAsker::Next);
        let _ = cx.send_after(ENDS_AFTER, &me, ToAsker::Sample);
        for (at, is_cut) in &self.cuts {
            let _ = cx.send_after(*at, &me, ToAsker::SetCut(*is_cut));
        }
    }

    fn receive(&mut self, message: ToAsker, cx: &mut Context<'_, ToAsker>) {
        match message {
            ToAsker::Next => {
                self.number += 1;
                let number = self.number;
                cx.note(Asked(number));
                let ask = move |reply| Question { number, reply };
                cx.ask(&self.server, ask, move |got| ToAsker::Got(number, got));
                if number < QUESTIONS {
                    let me = cx.address();
                    let pause = PAUSE + Duration::from_millis(mix(number) % 200);
                    let _ = cx.send_after(pause, &me, ToAsker::Next);
                }
            }
            ToAsker::Got(number, got) => cx.note(Ended(number, got)),
            ToAsker::SetCut(is_cut) => self.cable.is_cut.store(is_cut, Relaxed),
            ToAsker::Sample => {
                cx.note(Sampled(self.node.sample()));
                self.node.leave();
            }
        }
    }
}

/// Makes a node leave.
struct Closer(Node);

impl Actor for Closer {
    type Msg = ();
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ()>) {
        let me = cx.address();
        let _ = cx.send_after(ENDS_AFTER, &me, ());
    }

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) {
        self.0.leave();
    }
}

/// Runs the asker and the server. Timers may fire up to `late` too late.
fn program(sim: &mut Sim, cuts: Vec<(Duration, bool)>, late: Duration) {
    let cable = Cable {
        net: LocalNet::new(),
        is_cut: Arc::default(),
    };
    let server_net = cable.clone();
    sim.restarting("server", move |node| {
        let server = node.spawn(Server(Vec::new())).unwrap();
        let joined = Node::join(node.handle(), server_net.clone(), "test", "server").unwrap();
        joined.offer("server", &server.contramap(ToServer::Question));
        drop(node.spawn(Closer(joined)).unwrap());
    });
    let asker = sim.node("asker");
    let options = NodeOptions::new().answer_within(WITHIN);
    let net = cable.clone();
    let node = Node::join_with(asker.handle(), net, "test", "asker", options).unwrap();
    let server = node.service("server", "server").unwrap();
    let it = Asker {
        node,
        cable,
        cuts,
        server,
        number: 0,
    };
    drop(asker.spawn(it).unwrap());
    sim.latency(Duration::from_millis(1)..Duration::from_millis(50));
    sim.explained("each question ends once, and in time", move |facts| {
        let (least, limit) = (
            WITHIN.as_nanos() as u64,
            (WITHIN + LATER + late).as_nanos() as u64,
        );
        for (asked, Asked(number)) in facts.timed::<Asked>() {
            let is_its = |ended: &(u64, &Ended)| ended.1.0 == *number;
            let ends: Vec<_> = facts.timed::<Ended>().filter(is_its).collect();
            match ends[..] {
                [(at, Ended(_, Ok(answer)))] if *answer == *number && at <= asked + limit => {}
                [(at, Ended(_, Err(NoReply::TimedOut)))]
                    if (asked + least..=asked + limit).contains(&at) => {}
                [(at, Ended(_, Err(NoReply::NodeLost | NoReply::Dropped)))]
                    if at <= asked + limit => {}
                _ => return Err(format!("{number}, asked at {asked}: {ends:?}")),
            }
        }
        Ok(())
    });
    sim.explained("nothing is kept for a question that has ended", |facts| {
        let left = |sampled: &&Sampled| sampled.0.questions > 0;
        facts
            .seen::<Sampled>()
            .find(left)
            .map_or(Ok(()), |sampled| Err(format!("{sampled:?}")))
    });
}

/// Checks that late answers are counted on a good network.
fn calm(sim: &mut Sim) {
    program(sim, Vec::new(), Duration::ZERO);
    sim.at_end("the counters are right", |facts| {
        let (third, late) = (QUESTIONS / 3, 2 * QUESTIONS / 3);
        let timed_out = |ended: &&Ended| ended.1 == Err(NoReply::TimedOut);
        let sample = facts.last::<Sampled>().map(|sampled| &sampled.0);
        sample.is_some_and(|sample| (sample.timed_out, sample.late_answers) == (late, third))
            && facts.seen::<Ended>().filter(timed_out).count() as u64 == late
    });
}

fn lossy(sim: &mut Sim) {
    program(sim, Vec::new(), Duration::ZERO);
    sim.links().all().loses(150).duplicates::<Incoming>(100);
}

fn cut(sim: &mut Sim) {
    let at = Duration::from_millis(mix(sim.seed()) % 10_000);
    let lasts = Duration::from_millis(100 + mix(!sim.seed()) % 20_000);
    program(sim, vec![(at, true), (at + lasts, false)], Duration::ZERO);
}

fn crashing(sim: &mut Sim) {
    let down = Duration::from_secs(8);
    // Timers may be late by the times for which the server is down.
    program(sim, Vec::new(), 2 * down);
    let after = Duration::ZERO..down;
    sim.faults().crash_and_restart("server", 2, after);
    sim.links().all().loses(50).duplicates::<Incoming>(50);
}

#[test]
fn questions_without_answers_end_in_time_and_late_answers_are_counted() {
    check("questions on a good network", calm);
}

#[test]
fn questions_end_in_time_in_spite_of_losses() {
    check("questions with losses", lossy);
}

#[test]
fn questions_to_a_node_that_is_cut_off_end_in_time() {
    check("questions over a cut", cut);
}

#[test]
fn questions_to_a_node_that_crashes_end_in_time() {
    check("questions to a crashing node", crashing);
}
