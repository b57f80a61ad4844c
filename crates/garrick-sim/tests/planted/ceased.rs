//! Faults that cease. A client that repeats its request reaches the server in the end. A client
//! that gives up after some tries does not reach it. A property that must become true counts only
//! if it holds after the faults have ceased.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Reply};
use garrick_sim::{Check, Choosing, Crashed, Cut, Facts, Failed, Healed, Report, Restarted, Sim};

use crate::{assert_found, assert_right};

/// A fact: true if the server has answered, and false if it has not.
#[derive(Debug)]
struct Answers(bool);

struct Server;

impl Actor for Server {
    type Msg = Reply<()>;
    type Outcome = ();

    fn receive(&mut self, reply: Reply<()>, _: &mut Context<'_, Reply<()>>) {
        reply.send(());
    }
}

/// An actor that asks the server every 100 milliseconds, and gives up after a number of questions
/// without an answer.
struct Client {
    server: Address<Reply<()>>,
    tries: u32,
    left: u32,
    rounds: u32,
}

enum Event {
    Ask,
    Answered(bool),
}

impl Actor for Client {
    type Msg = Event;
    type Outcome = ();

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) {
        match event {
            Event::Ask if self.left == 0 || self.rounds == 0 => {}
            Event::Ask => {
                self.left -= 1;
                self.rounds -= 1;
                let within = Duration::from_millis(90);
                let answered = |answer: Result<(), _>| Event::Answered(answer.is_ok());
                cx.ask_within(within, &self.server, |reply| reply, answered);
                let pause = Duration::from_millis(100);
                let _ = cx.send_after(pause, &cx.address(), Event::Ask);
            }
            Event::Answered(is_there) => {
                if is_there {
                    self.left = self.tries;
                }
                cx.note(Answers(is_there));
            }
        }
    }
}

const CEASED: Duration = Duration::from_secs(3);

fn answers(facts: &Facts) -> bool {
    facts.last::<Answers>().is_some_and(|answers| answers.0)
}

fn asking(sim: &mut Sim, tries: u32) {
    let millis = Duration::from_millis;
    sim.latency(millis(1)..millis(20));
    let server = sim.node("server").spawn(Server).unwrap();
    let client = Client {
        server,
        tries,
        left: tries,
        rounds: 40,
    };
    let client = sim.node("client").spawn(client).unwrap();
    client.send(Event::Ask).unwrap();
    let lasts = millis(200)..millis(10_000);
    sim.faults()
        .cease_after(CEASED)
        .partition(["server"], 2, lasts);
    sim.eventually("the server answers", Duration::from_secs(1), answers);
}

#[test]
fn a_client_that_gives_up_is_found() {
    assert_found("ceased", "the server answers", |sim| asking(sim, 2));
}

#[test]
fn a_client_that_does_not_give_up_is_right() {
    assert_right("ceased, with patience", |sim| {
        asking(sim, 100);
        sim.at_end("partitions have healed", |facts| {
            let healed = facts.timed::<Healed>();
            let in_time = healed.clone().all(|(at, _)| at <= 3_000_000_000);
            in_time && healed.count() == facts.seen::<Cut>().len()
        });
        sim.at_end("the run goes on after the faults", |facts| {
            facts.seen::<Answers>().len() == 40
        });
    });
}

/// Sets up a node that crashes and a timer that wakes nobody.
fn crashing(sim: &mut Sim) {
    let millis = Duration::from_millis;
    sim.latency(millis(1)..millis(5));
    sim.restarting("server", |node| {
        node.spawn(Server).unwrap();
    });
    let client = Client {
        server: sim.node("other").spawn(Server).unwrap(),
        tries: 100,
        left: 100,
        rounds: 50,
    };
    let client = sim.node("client").spawn(client).unwrap();
    client.send(Event::Ask).unwrap();
    let hour = Duration::from_secs(3600);
    sim.faults()
        .cease_after_steps(60)
        .crash_and_restart("server", 1, hour..hour * 2);
}

#[test]
fn a_node_that_is_down_starts_when_the_faults_cease() {
    assert_right("ceased, restart", |sim| {
        crashing(sim);
        sim.at_end("it is up", |facts| {
            let restarts = facts.timed::<Restarted>();
            let are_early = restarts.clone().all(|(at, _)| at < 3_600_000_000_000);
            are_early && restarts.count() == facts.seen::<Crashed>().len()
        });
    });
}

#[test]
fn what_held_only_before_the_end_of_the_faults_does_not_count() {
    let held = |sim: &mut Sim| {
        crashing(sim);
        sim.eventually("there is no answer yet", Duration::from_secs(1), |facts| {
            facts.seen::<Answers>().len() == 0
        });
    };
    let failed = Check::new("ceased, early").seeds(5).run(held).unwrap_err();
    assert_eq!(failed.broken().property, "there is no answer yet");
}

#[test]
fn each_property_has_a_time_limit_of_its_own() {
    let all = |facts: &Facts| facts.seen::<Answers>().len() == 40;
    let check = Check::new("ceased, limits").seeds(200);
    let failed = check.run(|sim| {
        asking(sim, 100);
        sim.eventually("in the end", Duration::from_secs(10), all);
        sim.eventually("soon", Duration::from_millis(1), all);
    });
    assert_eq!(failed.unwrap_err().broken().property, "soon");
    let passed = check.run(|sim| {
        asking(sim, 100);
        sim.eventually("in the end", Duration::from_secs(10), all);
    });
    passed.unwrap();
}

#[test]
fn all_orders_are_tried_until_the_faults_cease() {
    let all = Check::new("ceased, all").strategy(Choosing::All);
    let report = all.run(|sim| {
        let server = sim.node("server").spawn(Server).unwrap();
        let client = Client {
            server,
            tries: 2,
            left: 2,
            rounds: 2,
        };
        let client = sim.node("client").spawn(client).unwrap();
        client.send(Event::Ask).unwrap();
        let lasts = Duration::ZERO..Duration::from_secs(1);
        sim.faults()
            .cease_after_steps(6)
            .partition(["server"], 1, lasts)
            .holds_messages();
        sim.at_end("healed", |facts| {
            facts.seen::<Cut>().len() == facts.seen::<Healed>().len()
        });
    });
    let report = report.unwrap_or_else(|failed| panic!("{failed}"));
    println!("{report}");
    assert!(report.complete, "{report}");
}

/// Checks a program with a partition of `nodes`.
fn part(nodes: &[&str]) {
    let _ = Check::new("sides").seeds(1).run(|sim| {
        sim.node("one");
        sim.node("two");
        sim.faults()
            .partition(nodes.iter().copied(), 1, Duration::ZERO..CEASED);
    });
}

#[test]
#[should_panic(expected = "a partition without nodes on one side")]
fn an_empty_side_is_an_error() {
    part(&[]);
}

#[test]
#[should_panic(expected = "has all nodes on one side")]
fn a_side_with_all_nodes_is_an_error() {
    part(&["one", "two"]);
}

#[test]
#[should_panic(expected = "there is no node \"three\"")]
fn an_unknown_node_is_an_error() {
    part(&["one", "three"]);
}

/// An actor that is at work for ever, and is ready after a number of rounds of a millisecond.
struct Rounds {
    left: u32,
}

/// A fact: an actor is ready.
#[derive(Debug)]
struct Ready;

impl Actor for Rounds {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            cx.note(Ready);
        }
        let _ = cx.send_after(Duration::from_millis(1), &cx.address(), ());
    }
}

/// Checks that an actor is ready within two seconds, in runs of at most `steps` steps in each part.
/// The actor needs `rounds` rounds.
fn ready_after(rounds: u32, steps: u32) -> Result<Report, Box<Failed>> {
    let check = Check::new("rounds").seeds(3).steps(steps);
    check.run(|sim| {
        let actor = sim.node("one").spawn(Rounds { left: rounds }).unwrap();
        actor.send(()).unwrap();
        sim.latency(Duration::ZERO..Duration::from_micros(1));
        sim.faults().cease_after(Duration::from_millis(100));
        let is_ready = |facts: &Facts| facts.last::<Ready>().is_some();
        sim.eventually("ready", Duration::from_secs(2), is_ready);
    })
}

#[test]
fn a_run_that_is_cut_off_before_the_limit_of_a_property_does_not_break_it() {
    for rounds in [500, 1_500] {
        let report = ready_after(rounds, 1_000).unwrap_or_else(|failed| panic!("{failed}"));
        assert_eq!(report.cut, 3);
    }
    // Here the time limit passes before the run is cut off.
    let failed = ready_after(10_000, 3_000).unwrap_err();
    assert_eq!(failed.broken().property, "ready");
}
