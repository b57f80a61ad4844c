//! Pipelines together with actors: messages under way, delays, links, crashes, the kit, and
//! programs that are refused.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};
use std::thread;
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Reply, behavior};
use garrick_flow::{AsyncSender, Cx, Graph, Restarts, StartError, Wait, note, stages};
use garrick_sim::testing::Kit;
use garrick_sim::{Check, Node, Sim};

use crate::assert_right;

/// A fact: this number has arrived.
#[derive(Debug)]
struct Came(u64);

/// An actor that records the numbers it receives as facts.
struct Notes;

impl Actor for Notes {
    type Msg = u64;
    type Outcome = ();

    fn receive(&mut self, number: u64, cx: &mut Context<'_, u64>) {
        cx.note(Came(number));
    }
}

/// Returns a graph that sends the numbers below `count` to an actor.
fn sending(count: u64, to: Address<u64>) -> Graph {
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel(2).unwrap();
    graph.source("numbers", stages::produce(numbers, 0..count));
    let send = move |batch: &[u64]| batch.iter().for_each(|number| _ = to.send(*number));
    graph.stage("send", stages::consume(input, send));
    graph
}

/// Declares that the numbers below `count` have arrived in order.
fn all_come(sim: &mut Sim, count: u64) {
    sim.at_end("all come in order", move |facts| {
        facts.seen::<Came>().map(|came| came.0).eq(0..count)
    });
}

#[test]
fn messages_of_a_stage_have_delays_and_its_wake_ups_have_none() {
    let delay = Duration::from_millis(10);
    assert_right("delays", move |sim| {
        let node = sim.node("one");
        let notes = node.spawn(Notes).unwrap();
        node.run(sending(3, notes)).unwrap();
        sim.latency(delay..delay * 2);
        all_come(sim, 3);
        sim.at_end("after one delay", move |facts| {
            let late = delay * 2;
            facts.timed::<Came>().all(|(at, _)| {
                let at = Duration::from_nanos(at);
                delay <= at && at < late
            })
        });
    });
}

#[test]
fn a_message_of_a_stage_to_another_node_can_be_lost() {
    let lossy = |sim: &mut Sim| {
        let notes = sim.node("far").spawn(Notes).unwrap();
        sim.node("near").run(sending(3, notes)).unwrap();
        sim.links().all().loses(200);
        all_come(sim, 3);
    };
    let failed = Check::new("lossy").seeds(100).run(lossy).unwrap_err();
    let trace = failed.trace().to_string();
    let lost = "near:stage send -> far:Notes#1: u64 LOST";
    assert!(trace.contains(lost), "{trace}");
}

#[test]
fn turns_of_stages_do_not_fail() {
    assert_right("only actors fail", |sim| {
        let mut graph = Graph::new();
        let (numbers, input) = graph.channel(2).unwrap();
        graph.source("numbers", stages::produce(numbers, 0..4));
        let read = |batch: &[u64]| batch.iter().for_each(|number| note(Came(*number)));
        graph.stage("read", stages::consume(input, read));
        sim.node("one").run(graph).unwrap();
        sim.faults().any_turn_fails(500);
        all_come(sim, 4);
    });
}

#[test]
fn a_stage_and_an_actor_race_for_what_an_actor_has_sent() {
    let early = |sim: &mut Sim| {
        let node = sim.node("one");
        let mut graph = Graph::new();
        let (output, input) = graph.channel::<u64>(4).unwrap();
        let read = |batch: &[u64]| batch.iter().for_each(|number| note(Came(*number)));
        graph.stage("read", stages::consume(input, read));
        let notes = node.spawn(Notes).unwrap();
        let mut output = AsyncSender::from(output);
        let push = behavior(move |number: u64, cx| {
            let _ = output.try_push(number);
            let _ = cx.send(&notes, number + 10);
        });
        let pusher = node.spawn(push).unwrap();
        node.run(graph).unwrap();
        pusher.send(1).unwrap();
        sim.at_end("the stage is first", |facts| {
            facts.seen::<Came>().map(|came| came.0).eq([1, 11])
        });
    };
    let failed = Check::new("race").seeds(100).run(early).unwrap_err();
    assert_eq!(failed.broken().property, "the stage is first");
}

#[test]
fn a_crash_drops_a_pipeline_and_the_node_can_start_it_again() {
    let sets_up = |sim: &mut Sim| {
        let notes = sim.node("notes").spawn(Notes).unwrap();
        sim.restarting("pipeline", move |node| {
            node.run(sending(3, notes.clone())).unwrap();
        });
        let soon = Duration::ZERO..Duration::from_millis(1);
        sim.faults().crash_and_restart("pipeline", 2, soon);
        // What the first pipeline has sent may come after what the second one has sent.
        sim.at_end("the last comes", |facts| {
            facts.seen::<Came>().any(|came| came.0 == 2)
        });
    };
    assert_right("crashes of a pipeline", sets_up);
}

/// Runs a program a few times. No property must be broken.
fn runs(name: &str, setup: impl FnMut(&mut Sim)) {
    let check = Check::new(name).seeds(50);
    check.run(setup).unwrap_or_else(|failed| panic!("{failed}"));
}

#[test]
fn a_graph_cannot_run_on_a_node_that_has_crashed() {
    runs("old node", |sim| {
        let old = Rc::new(RefCell::new(None::<Node>));
        sim.restarting("one", move |node| {
            let before = old.borrow_mut().replace(node.clone());
            if let Some(before) = before {
                let mut graph = Graph::new();
                graph.stage("done", |_: &mut Cx<'_>| Wait::done());
                let refused = before.run(graph).unwrap_err();
                assert!(matches!(refused, StartError::NoNode), "{refused}");
                assert!(refused.to_string().contains("has crashed"), "{refused}");
            }
        });
        let soon = Duration::ZERO..Duration::from_millis(1);
        sim.faults().crash_and_restart("one", 1, soon);
    });
}

#[test]
fn threads_of_a_graph_are_refused() {
    runs("threads", |sim| {
        let node = sim.node("one");
        let notes = node.spawn(Notes).unwrap();
        let refused = sending(1, notes).start().unwrap_err().to_string();
        assert!(refused.contains("a simulation has no threads"), "{refused}");
        assert!(refused.contains("run a graph by `Node::run`"), "{refused}");
    });
    runs("cycle", |sim| {
        let mut graph = Graph::new();
        let (there, there_in) = graph.channel::<u64>(2).unwrap();
        let (back, back_in) = graph.channel::<u64>(2).unwrap();
        graph.stage("ping", stages::map(back_in, there, |n| *n));
        graph.stage("pong", stages::map(there_in, back, |n| *n));
        let refused = sim.node("one").run(graph).unwrap_err().to_string();
        assert!(refused.contains("form a cycle"), "{refused}");
    });
}

/// A future that another thread wakes.
struct Foreign(bool);

impl Future for Foreign {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        let waker = cx.waker().clone();
        thread::spawn(move || waker.wake()).join().unwrap();
        Poll::Pending
    }
}

#[test]
fn a_thread_that_wakes_a_stage_is_found() {
    let check = Check::new("foreign").seeds(10);
    let failed = check.run(|sim| {
        let mut graph = Graph::new();
        let (numbers, input) = graph.channel::<u64>(2).unwrap();
        graph.source("numbers", stages::produce(numbers, 0..1));
        graph.stage("wait", stages::for_each_async(input, |_| Foreign(false)));
        sim.node("one").run(graph).unwrap();
    });
    let failed = failed.unwrap_err();
    let broken = failed.broken();
    assert_eq!(broken.property, "stage wait");
    assert!(
        broken
            .why
            .starts_with("another thread has woken this stage"),
        "{}",
        broken.why
    );
}

#[test]
fn a_kit_runs_a_pipeline() {
    let mut kit = Kit::new();
    let probe = kit.probe::<u64>();
    let pipeline = kit.node().run(sending(3, probe.address())).unwrap();
    kit.run();
    assert_eq!([probe.expect(), probe.expect(), probe.expect()], [0, 1, 2]);
    assert!(pipeline.has_ended());
    assert!(pipeline.report().failures().is_empty());
}

#[test]
fn the_clock_of_a_kit_is_that_of_the_stages() {
    let mut kit = Kit::new();
    let probe = kit.probe::<u64>();
    let (to, minute) = (probe.address(), Duration::from_secs(60));
    let mut graph = Graph::new();
    graph.source("clock", move |cx: &mut Cx<'_>| {
        let _ = to.send(cx.now());
        Wait::timer(minute)
    });
    kit.node().run(graph).unwrap();
    kit.run();
    assert_eq!(probe.expect(), 0);
    kit.advance(minute - Duration::from_nanos(1));
    probe.expect_nothing();
    kit.advance(Duration::from_nanos(1));
    assert_eq!(Duration::from_nanos(probe.expect()), minute);
}

#[test]
fn stages_that_share_names_with_another_graph_do_not_disturb_it() {
    assert_right("two graphs", |sim| {
        let node = sim.node("one");
        for first in [0, 10] {
            let mut graph = Graph::new();
            let (numbers, input) = graph.channel(2).unwrap();
            let (output, last) = graph.channel(2).unwrap();
            graph.source("numbers", stages::produce(numbers, first..first + 3));
            let double = stages::map(input, output, |number| number * 2);
            graph.stage("double", double.restarting(Restarts::default()));
            let read = |batch: &[u64]| batch.iter().for_each(|number| note(Came(*number)));
            graph.stage("read", stages::consume(last, read));
            node.run(graph).unwrap();
        }
        sim.at_end("both end", |facts| {
            let came = facts.seen::<Came>().map(|came| came.0);
            let mut came: Vec<_> = came.collect();
            came.sort_unstable();
            came == [0, 2, 4, 20, 22, 24]
        });
    });
}

/// An actor that answers each question at once.
struct Echo;

impl Actor for Echo {
    type Msg = Reply<u64>;
    type Outcome = ();

    fn receive(&mut self, reply: Reply<u64>, _: &mut Context<'_, Reply<u64>>) {
        reply.send(7);
    }
}

/// Returns a graph that asks an actor once, and notes the answer.
fn asking(echo: Address<Reply<u64>>) -> Graph {
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel::<u64>(2).unwrap();
    graph.source("numbers", stages::produce(numbers, 0..1));
    let ask = move |_| {
        let answer = echo.ask(|reply| reply);
        async move { note(Came(answer.await.unwrap_or(0))) }
    };
    graph.stage("ask", stages::for_each_async(input, ask));
    graph
}

#[test]
fn an_answer_from_another_node_has_a_delay_and_can_be_lost() {
    let delay = Duration::from_millis(10);
    assert_right("answers", move |sim| {
        let echo = sim.node("far").spawn(Echo).unwrap();
        sim.node("near").run(asking(echo)).unwrap();
        sim.latency(delay..delay * 2);
        sim.at_end("after two delays", move |facts| {
            let mut came = facts
                .timed::<Came>()
                .map(|(at, came)| (Duration::from_nanos(at), came.0));
            came.next_back()
                .is_some_and(|(at, number)| at >= delay * 2 && number == 7)
        });
    });
    let lossy = |sim: &mut Sim| {
        let echo = sim.node("far").spawn(Echo).unwrap();
        sim.node("near").run(asking(echo)).unwrap();
        sim.links().between("far", "near").loses(500);
        sim.at_end("an answer comes", |facts| !facts.is_empty());
    };
    let failed = Check::new("lossy answers")
        .seeds(100)
        .run(lossy)
        .unwrap_err();
    let trace = failed.trace().to_string();
    let lost = "far:Echo#1 -> near:stage ask: wake of a future LOST";
    assert!(trace.contains(lost), "{trace}");
}

#[test]
fn an_end_of_a_channel_on_another_node_is_found() {
    let misplaced = |sim: &mut Sim| {
        let mut graph = Graph::new();
        let (output, input) = graph.channel::<u64>(2).unwrap();
        graph.stage("read", stages::consume(input, |_: &[u64]| ()));
        let mut output = AsyncSender::from(output);
        let push = behavior(move |number: u64, _| _ = output.try_push(number));
        let pusher = sim.node("far").spawn(push).unwrap();
        sim.node("near").run(graph).unwrap();
        pusher.send(1).unwrap();
    };
    let failed = Check::new("misplaced")
        .seeds(100)
        .run(misplaced)
        .unwrap_err();
    let broken = failed.broken();
    assert_eq!(broken.property, "stage read");
    assert!(
        broken
            .why
            .starts_with(r#"a task of the node "far" has an end of a channel of the node "near""#),
        "{}",
        broken.why
    );
}
