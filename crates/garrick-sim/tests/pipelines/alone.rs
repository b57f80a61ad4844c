//! Pipelines without actors: results, timers, restarts, failures, stops and loops.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;

use garrick_flow::{
    AsyncReceiver, AsyncSender, Backoff, Cx, Graph, Receiver, Restarts, StageState, Wait,
    map_batch, note, restarting, stages, with_ends,
};
use garrick_sim::{Check, Choosing, Facts, Kind, Pipeline, Sim};

use crate::assert_right;

/// Number of values that the source of [`split`] sends.
const VALUES: u64 = 12;

/// A value with its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Keyed(u64, u64);

/// The values of each key, in the order of their arrival.
type ByKey = BTreeMap<u64, Vec<u64>>;

fn by_key(values: impl Iterator<Item = Keyed>) -> ByKey {
    let mut all = ByKey::new();
    values.for_each(|Keyed(key, value)| all.entry(key).or_default().push(value));
    all
}

/// Returns a graph that splits values by key, handles both parts, and merges them. `sink` receives
/// the results.
fn split(mut sink: impl FnMut(Keyed) + Send + 'static) -> Graph {
    let mut graph = Graph::new();
    let (values, values_in) = graph.channel(4).unwrap();
    let (parts, parts_in) = graph.bundle(2, 2).unwrap();
    let (done, done_in) = graph.bundle(2, 2).unwrap();
    let (all, all_in) = graph.channel(2).unwrap();
    let source = (0..VALUES).map(|value| Keyed(value % 3, value));
    graph.source("values", stages::produce(values, source));
    graph.stage(
        "split",
        stages::partition(values_in, parts, |Keyed(key, _)| *key),
    );
    for (part, done) in parts_in.into_iter().zip(done) {
        let work = |Keyed(key, value): &Keyed| Keyed(*key, value * value);
        graph.stage("work", stages::map(part, done, work));
    }
    graph.stage("gather", stages::merge(done_in, all));
    graph.stage(
        "read",
        stages::consume(all_in, move |batch: &[Keyed]| {
            batch.iter().for_each(|keyed| sink(*keyed));
        }),
    );
    graph
}

/// Declares that the pipeline ends, and that `check` holds at its end.
fn at_end(sim: &mut Sim, pipeline: Pipeline, check: impl Fn(&Facts, &Pipeline) + 'static) {
    sim.explained("the end", move |facts| {
        if !pipeline.has_ended() {
            return Err(format!("{pipeline:?}"));
        }
        check(facts, &pipeline);
        Ok(())
    });
}

#[test]
fn results_are_those_of_threads_in_every_order() {
    let (results, received) = mpsc::channel();
    let graph = split(move |keyed| results.send(keyed).unwrap());
    graph.start().unwrap().join();
    let expected = by_key(received.iter());
    assert_eq!(expected.len(), 3);
    assert_right("split", move |sim| {
        let pipeline = sim.node("one").run(split(note)).unwrap();
        let expected = expected.clone();
        at_end(sim, pipeline, move |facts, _| {
            assert_eq!(by_key(facts.seen::<Keyed>().copied()), expected);
        });
    });
}

/// A fact: a timer has woken a stage at this time of the stage's clock.
#[derive(Debug)]
struct Rang(u64);

#[test]
fn timers_of_stages_fire_in_virtual_time() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let hours = |count: u64| count * HOUR.as_nanos() as u64;
    assert_right("timers", |sim| {
        let mut graph = Graph::new();
        let mut rings = 0;
        graph.source("clock", move |cx: &mut Cx<'_>| {
            note(Rang(cx.now()));
            rings += 1;
            match rings {
                4 => Wait::done(),
                _ => Wait::timer(HOUR),
            }
        });
        let pipeline = sim.node("one").run(graph).unwrap();
        at_end(sim, pipeline, move |facts, pipeline| {
            let rang = facts.timed::<Rang>();
            let expected = (0..4).map(hours);
            assert!(
                rang.map(|(at, rang)| (at, rang.0))
                    .eq(expected.map(|at| (at, at)))
            );
            assert_eq!(pipeline.report().stages()[0].steps, 4);
        });
    });
}

/// A fact: the pipeline has received a number.
#[derive(Debug)]
struct Received(u64);

/// Returns a graph with a stage that panics at the number 2. If there is a policy, the stage panics
/// only once and is restarted.
fn fragile(policy: Option<Restarts>) -> Graph {
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel(2).unwrap();
    let (output, last) = graph.channel(2).unwrap();
    graph.source("numbers", stages::produce(numbers, 0..4));
    if let Some(policy) = policy {
        let kept = (input, output, false);
        let stage = restarting(
            kept,
            |_| (),
            |(), (input, output, has_panicked), _| {
                map_batch(input, output, 8, |number| {
                    assert!(*has_panicked || *number != 2, "{}", {
                        *has_panicked = true;
                        "no twos"
                    });
                    *number
                });
                if input.is_finished() {
                    return Wait::done();
                }
                Wait::readable(input, 1).and(Wait::free(output, 1))
            },
        );
        graph.stage("work", stage.policy(policy));
    } else {
        let work = |number: &u64| {
            assert!(*number != 2, "no twos");
            *number
        };
        graph.stage("work", stages::map(input, output, work));
    }
    let read = |batch: &[u64]| batch.iter().for_each(|number| note(Received(*number)));
    graph.stage("read", stages::consume(last, read));
    graph
}

#[test]
fn the_failure_of_a_stage_is_found() {
    for (policy, why) in [
        (None, "no twos"),
        (
            Some(Restarts::default()),
            "no twos (its restart policy has handled it)",
        ),
    ] {
        let check = Check::new("fragile").seeds(10);
        let failed = check.run(|sim| drop(sim.node("one").run(fragile(policy.clone())).unwrap()));
        let failed = failed.unwrap_err();
        let broken = failed.broken();
        assert_eq!(broken.kind, Kind::NoFailure);
        assert_eq!((&*broken.property, &*broken.why), ("stage work", why));
    }
}

#[test]
fn a_stage_that_panics_ends_or_is_restarted_as_in_production() {
    assert_right("stage that ends", |sim| {
        sim.allow_failures();
        let pipeline = sim.node("one").run(fragile(None)).unwrap();
        at_end(sim, pipeline, |facts, pipeline| {
            let received = facts.seen::<Received>().map(|received| received.0);
            assert!(received.eq(0..2));
            let report = pipeline.report();
            assert_eq!(report.failures()[0].message, "no twos");
        });
    });
    let minute = Duration::from_secs(60);
    assert_right("stage that is restarted", move |sim| {
        sim.allow_failures();
        let policy = Restarts::default().backoff(Backoff::exponential(minute, minute).jitter(0.0));
        let pipeline = sim.node("one").run(fragile(Some(policy))).unwrap();
        at_end(sim, pipeline, move |facts, pipeline| {
            let received = facts.timed::<Received>();
            assert!(received.clone().map(|(_, received)| received.0).eq(0..4));
            let (at, _) = received.last().unwrap();
            assert_eq!(Duration::from_nanos(at), minute, "the delay of the restart");
            let report = pipeline.report();
            let work = report.stage("work").unwrap();
            assert_eq!((work.restarts, &work.state), (1, &StageState::Ended));
        });
    });
}

#[test]
fn chosen_panics_are_no_failures_of_the_run() {
    assert_right("chosen panics", |sim| {
        let mut graph = Graph::new();
        let (numbers, input) = graph.channel(2).unwrap();
        let (output, last) = graph.channel(2).unwrap();
        graph.source("numbers", stages::produce(numbers, 0..4));
        let double = stages::map(input, output, |number| number * 2);
        graph.stage("double", double.restarting(Restarts::unlimited()));
        graph.stage("read", stages::consume(last, |_: &[u64]| ()));
        let pipeline = sim.node("one").run(graph).unwrap();
        pipeline.inject_panic("double").unwrap();
        pipeline.inject_panic("double").unwrap();
        let unknown = pipeline.inject_panic("triple").unwrap_err();
        assert_eq!(unknown.there_are, ["numbers", "double", "read"]);
        at_end(sim, pipeline, |_, pipeline| {
            let report = pipeline.report();
            assert_eq!(report.channels()[1].taken, 4);
            assert!(report.stage("double").unwrap().restarts <= 2);
        });
    });
}

#[test]
fn a_graph_stops_when_its_stages_agree() {
    assert_right("stop", |sim| {
        let mut graph = Graph::new();
        let (numbers, input) = graph.channel(2).unwrap();
        graph.source("endless", stages::produce(numbers, 0u64..));
        let mut count = 0;
        let mut input = input;
        graph.stage("stop", move |cx: &mut Cx<'_>| {
            input.consume_batch(usize::MAX, |batch| count += batch.len());
            if count > 3 && !cx.is_stopping() {
                cx.stop();
            }
            if count < 6 {
                cx.veto("not enough");
            }
            if input.is_finished() {
                return Wait::done();
            }
            Wait::readable(&input, 1)
        });
        let pipeline = sim.node("one").run(graph).unwrap();
        at_end(sim, pipeline, |_, pipeline| {
            let report = pipeline.report();
            let channel = &report.channels()[0];
            assert!(channel.taken >= 6 && channel.left() == 0, "{channel:?}");
        });
    });
}

#[test]
fn a_loop_ends_in_every_order() {
    assert_right("loop", |sim| {
        let mut graph = Graph::new();
        let (numbers, numbers_in) = graph.channel::<u64>(2).unwrap();
        let (again, again_in) = graph.channel::<u64>(4).unwrap();
        graph.feedback(&again);
        graph.source("numbers", stages::produce(numbers, [3, 5]));
        let ends = (numbers_in, again_in, again);
        graph.stage(
            "count down",
            with_ends(ends, |(new, old, again), _| {
                while again.free() > 0
                    && let Some(number) = old.try_pop().or_else(|| new.try_pop())
                {
                    note(Received(number));
                    if number > 0 {
                        again.try_push(number - 1).unwrap();
                    }
                }
                if new.is_finished() && old.is_finished() {
                    return Wait::done();
                }
                match new.is_finished() {
                    true => Wait::readable(old, 1),
                    false => Wait::readable(old, 1).or(Wait::readable(new, 1)),
                }
            }),
        );
        let pipeline = sim.node("one").run(graph).unwrap();
        at_end(sim, pipeline, |facts, _| {
            assert_eq!(facts.seen::<Received>().len(), 4 + 6);
        });
    });
}

/// Sets up two sources whose channels lead to the same stage. The search chooses which value this
/// stage receives first.
fn two_sources(sim: &mut Sim, is_right: bool) {
    let mut graph = Graph::new();
    let (outputs, inputs) = graph.bundle::<u64>(2, 2).unwrap();
    for (number, output) in (1..).zip(outputs) {
        graph.source(
            format!("source {number}"),
            stages::produce(output, [number]),
        );
    }
    let mut inputs = inputs;
    graph.stage("read", move |_: &mut Cx<'_>| {
        for input in &mut inputs {
            while let Some(number) = input.try_pop() {
                note(Received(number));
            }
        }
        if inputs.iter_mut().all(Receiver::is_finished) {
            return Wait::done();
        }
        Wait::any_readable(&inputs, 1)
    });
    let pipeline = sim.node("one").run(graph).unwrap();
    at_end(sim, pipeline, |_, _| ());
    sim.at_end("both come", |facts| facts.seen::<Received>().len() == 2);
    sim.at_end("the first comes first", move |facts| {
        is_right || facts.last::<Received>().is_some_and(|last| last.0 == 2)
    });
}

#[test]
fn a_search_of_all_orders_knows_that_stages_share_channels() {
    let all = |is_right| {
        let check = Check::new("two sources").strategy(Choosing::All);
        check
            .seeds(200_000)
            .run(move |sim| two_sources(sim, is_right))
    };
    // The deliveries have three receivers, so independent steps alone would never be exchanged.
    let failed = all(false).unwrap_err();
    assert_eq!(failed.broken().property, "the first comes first");
    let report = all(true).unwrap();
    assert!(report.complete, "{report}");
    println!("{report}");
}

#[test]
fn a_pipeline_without_end_is_cut() {
    let check = Check::new("endless").seeds(2).steps(500);
    let report = check.run(|sim| {
        let mut graph = Graph::new();
        let (numbers, input) = graph.channel(2).unwrap();
        graph.source("endless", stages::produce(numbers, 0u64..));
        graph.stage("read", stages::consume(input, |_| ()));
        sim.node("one").run(graph).unwrap();
    });
    assert_eq!(report.unwrap().cut, 2);
}

#[test]
fn a_future_and_a_stream_are_sources_in_every_order() {
    assert_right("futures", |sim| {
        let mut graph = Graph::new();
        let (numbers, input) = graph.channel(2).unwrap();
        let (output, last) = graph.channel(2).unwrap();
        let count = |mut numbers: AsyncSender<u64>| async move {
            for number in 0..6 {
                numbers.send(number).await.unwrap();
            }
        };
        graph.source("count", stages::from_async(numbers, count));
        let input = AsyncReceiver::from(input);
        graph.stage("pass on", stages::from_stream(output, input));
        let read = |number| async move { note(Received(number)) };
        graph.stage("read", stages::for_each_async(last, read).at_once(2));
        let pipeline = sim.node("one").run(graph).unwrap();
        at_end(sim, pipeline, |facts, _| {
            let received = facts.seen::<Received>().map(|received| received.0);
            assert!(received.eq(0..6));
        });
    });
}
