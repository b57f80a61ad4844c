//! Tests stages that restart: which values they lose, how often they restart, and when.
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use common::Result;
use garrick_flow::testing::{NoSuchStage, Seen, Stepper};
use garrick_flow::{
    Backoff, Buffer, Cx, Graph, Receiver, Restarts, Sender, Wait, map_batch, restarting,
};
use garrick_flow::{map_batch_owned, stages};
use garrick_testkit::{ON_PURPOSE, fail, silence_panics};

/// The channel ends of a stage that maps.
type Ends = (Receiver<u64>, Sender<u64>);

/// Returns a condition on both channel ends, or the end of the stage if its input is finished.
fn rest((input, output): &mut Ends) -> Wait {
    if input.is_finished() {
        return Wait::done();
    }
    Wait::readable(input, 1).and(Wait::free(output, 1))
}

/// Runs the graph 0..10 -> `middle` step by step until the stage `middle` has panicked once. The
/// channels have 16 slots. No stage reads the output of `middle`.
fn after_a_panic(
    step: impl Fn(&mut (), &mut Ends, &mut Cx<'_>) -> Wait + Send + 'static,
) -> std::result::Result<(Stepper, Receiver<u64>), Box<dyn std::error::Error>> {
    silence_panics();
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel(16)?;
    let (output, results) = graph.channel(16)?;
    graph.source("numbers", stages::produce(numbers, 0..10));
    graph.stage("middle", restarting((input, output), |_| (), step));
    let mut stepper = Stepper::new(graph);
    for _ in 0..2 {
        stepper.step_stage("numbers")?;
    }
    assert_eq!(stepper.fill(0), 10);
    stepper.step_stage("middle")?;
    assert_eq!(stepper.totals().stages[1].restarts, 1);
    Ok((stepper, results))
}

#[test]
fn what_was_peeked_stays_and_what_was_poked_is_taken_back() -> Result {
    let (stepper, mut results) = after_a_panic(|(), (input, output), _| {
        let peek = input.peek();
        let mut poke = output.poke(16);
        poke.extend(peek.iter().copied());
        fail()
    })?;
    assert_eq!(
        (stepper.fill(0), stepper.fill(1), results.readable()),
        (10, 0, 0)
    );
    Ok(())
}

#[test]
fn a_buffer_that_is_kept_keeps_what_the_panic_left() -> Result {
    silence_panics();
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel(16)?;
    let (output, mut results) = graph.channel(16)?;
    graph.source("numbers", stages::produce(numbers, 0..10));
    let middle = restarting(
        (input, output, Buffer::new()),
        |_| 0,
        |seen, (input, output, buffer), _| {
            buffer.map_batch(input, output, 8, |number: &u64| {
                *seen += 1;
                if *seen > 3 {
                    fail();
                }
                number + 100
            });
            if buffer.left() == 0 && input.is_finished() {
                return Wait::done();
            }
            Wait::readable(input, 1).and(Wait::free(output, 1))
        },
    );
    graph.stage("middle", middle.policy(Restarts::unlimited()));
    let mut stepper = Stepper::new(graph);
    for _ in 0..2 {
        stepper.step_stage("numbers")?;
    }
    stepper.step_stage("middle")?;
    // Eight were taken, three sent, and the fourth is the one it panicked on.
    assert_eq!((stepper.fill(0), results.readable()), (2, 3));
    stepper.run_until_idle();
    let mut got = Vec::new();
    results.pop_each(usize::MAX, |number| got.push(number));
    assert_eq!(got, (100..110).collect::<Vec<_>>());
    assert_eq!(stepper.totals().stages[1].restarts, 3);
    Ok(())
}

#[test]
fn what_was_advanced_over_and_committed_is_settled_and_known_to_the_others() -> Result {
    let (stepper, mut results) = after_a_panic(|(), (input, output), _| {
        let mut peek = input.peek();
        let mut poke = output.poke(4);
        poke.extend(peek.iter().copied());
        let count = poke.commit();
        peek.advance(count);
        fail()
    })?;
    assert_eq!((stepper.fill(0), stepper.fill(1)), (6, 4));
    assert_eq!(results.peek().as_slices().0, [0, 1, 2, 3]);
    Ok(())
}

#[test]
fn a_batch_that_breaks_off_is_sent_as_far_as_it_went() -> Result {
    let (stepper, mut results) = after_a_panic(|(), (input, output), _| {
        map_batch(input, output, 16, |n| if *n == 7 { fail() } else { *n });
        Wait::done()
    })?;
    // The gates have moved with the rings, so a stage that rests on them has been woken.
    assert_eq!(
        (stepper.fill(0), stepper.fill(1), results.readable()),
        (3, 7, 7)
    );
    Ok(())
}

#[test]
fn a_value_that_was_handed_over_goes_with_the_panic() -> Result {
    let (stepper, mut results) = after_a_panic(|(), (input, output), _| {
        map_batch_owned(input, output, 16, |n| if n == 7 { fail() } else { n });
        Wait::done()
    })?;
    assert_eq!(
        (stepper.fill(0), stepper.fill(1), results.readable()),
        (2, 7, 7)
    );
    Ok(())
}

#[test]
fn each_way_of_taking_and_sending_moves_its_gate_when_it_breaks_off() -> Result {
    type Step = fn(&mut (), &mut Ends, &mut Cx<'_>) -> Wait;
    let cases: [(Step, u64, u64); 4] = [
        (
            |(), (input, _), _| {
                input.pop_each(16, |n| {
                    if n == 3 {
                        fail()
                    }
                });
                Wait::done()
            },
            6,
            0,
        ),
        (
            |(), (input, _), _| {
                input.consume_batch(16, |_| fail());
                Wait::done()
            },
            10,
            0,
        ),
        (
            |(), (_, output), _| {
                output.push_iter((0..).inspect(|n| {
                    if *n == 3 {
                        fail()
                    }
                }));
                Wait::done()
            },
            10,
            3,
        ),
        (
            |(), (_, output), _| {
                output.produce_batch(16, |n| if n == 3 { fail() } else { 0 });
                Wait::done()
            },
            10,
            3,
        ),
    ];
    for (number, (step, left, sent)) in cases.into_iter().enumerate() {
        let (stepper, _results) = after_a_panic(step)?;
        assert_eq!(
            (stepper.fill(0), stepper.fill(1)),
            (left, sent),
            "case {number}"
        );
    }
    Ok(())
}

#[test]
fn a_value_whose_destructor_panics_between_commit_and_advance_is_not_sent_twice() -> Result {
    struct Bad(u64);
    impl Drop for Bad {
        fn drop(&mut self) {
            if self.0 == 3 {
                fail();
            }
        }
    }
    silence_panics();
    let mut graph = Graph::new();
    let (mut numbers, input) = graph.channel(8)?;
    let (output, mut results) = graph.channel(8)?;
    numbers.push_iter((0..5).map(Bad));
    drop(numbers);
    let step = |(): &mut (), (input, output): &mut (Receiver<Bad>, Sender<u64>), _: &mut Cx<'_>| {
        let mut peek = input.peek();
        let mut poke = output.poke(8);
        poke.extend(peek.iter().map(|bad| bad.0));
        let count = poke.commit();
        peek.advance(count);
        if input.is_finished() {
            Wait::done()
        } else {
            Wait::readable(input, 1)
        }
    };
    graph.stage("copy", restarting((input, output), |_| (), step));
    let mut stepper = Stepper::new(graph);
    stepper.run_until_idle();
    let report = stepper.finish();
    assert_eq!(results.peek().as_slices().0, [0, 1, 2, 3, 4]);
    assert_eq!(
        (report.stages()[0].restarts, report.failures().len()),
        (1, 0)
    );
    Ok(())
}

#[test]
fn the_state_is_dropped_before_the_next_is_made_and_what_is_kept_stays() -> Result {
    struct State(Arc<AtomicU32>);
    impl Drop for State {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Relaxed);
        }
    }
    silence_panics();
    let alive = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&alive);
    let mut graph = Graph::new();
    let make = move |made: &mut u32| {
        *made += 1;
        assert_eq!(counted.fetch_add(1, Relaxed), 0, "one at a time");
        State(Arc::clone(&counted))
    };
    let step = |_: &mut State, made: &mut u32, _: &mut Cx<'_>| {
        if *made < 4 { fail() } else { Wait::done() }
    };
    graph.stage("four", restarting(0, make, step));
    let report = graph.start()?.join();
    assert!(report.failures().is_empty());
    assert_eq!((report.stages()[0].restarts, alive.load(Relaxed)), (3, 0));
    assert_eq!(report.stages()[0].last_panic.as_deref(), Some(ON_PURPOSE));
    Ok(())
}

#[test]
fn too_many_restarts_are_a_failure_and_the_graph_ends_in_order() -> Result {
    silence_panics();
    for breaks_in_make in [false, true] {
        let mut graph = Graph::new();
        let (numbers, input) = graph.channel::<u64>(8)?;
        let (output, results) = graph.channel::<u64>(8)?;
        graph.source("numbers", stages::produce(numbers, 0..));
        let make = move |_: &mut Ends| {
            if breaks_in_make {
                fail()
            }
        };
        let always = restarting((input, output), make, |(), _, _| fail());
        let policy = Restarts::at_most(2, Duration::from_secs(60));
        graph.stage("always", always.policy(policy));
        graph.stage("end", stages::consume(results, |_| ()));
        let report = graph.start()?.join();
        let [failure] = report.failures() else {
            panic!("one failure: {report:?}")
        };
        assert_eq!(failure.stage, "always");
        assert_eq!(
            failure.message,
            "the restart limit (2 within 60s) was exceeded; the last panic: on purpose"
        );
        assert_eq!(report.stage("always").map(|stage| stage.restarts), Some(2));
    }
    Ok(())
}

#[test]
fn a_wait_before_a_restart_is_a_wait_and_not_a_sleep() -> Result {
    silence_panics();
    let backoff = Backoff::exponential(Duration::from_millis(10), Duration::from_secs(1));
    let mut graph = Graph::new();
    let step = |(): &mut (), steps: &mut u32, _: &mut Cx<'_>| {
        *steps += 1;
        if *steps < 3 { fail() } else { Wait::done() }
    };
    let policy = Restarts::unlimited().backoff(backoff.jitter(0.0));
    graph.stage("twice", restarting(0, |_| (), step).policy(policy));
    let mut stepper = Stepper::new(graph);
    assert_eq!(stepper.run_until_idle(), 1);
    // A step that comes too early changes nothing.
    assert_eq!(stepper.step_stage("twice")?, Seen::Waits);
    for (wait, early) in [(10, 9), (20, 19)] {
        stepper.advance(Duration::from_millis(early));
        assert_eq!(stepper.run_until_idle(), 0, "{wait} ms");
        stepper.advance(Duration::from_millis(wait - early));
        assert_eq!(stepper.run_until_idle(), 1, "{wait} ms");
    }
    assert!(stepper.has_ended());
    Ok(())
}

#[test]
fn on_threads_a_restart_comes_in_its_time() -> Result {
    silence_panics();
    let backoff = Backoff::exponential(Duration::from_millis(1), Duration::from_millis(4));
    let mut graph = Graph::new();
    let step = |(): &mut (), steps: &mut u32, _: &mut Cx<'_>| {
        *steps += 1;
        if *steps < 6 { fail() } else { Wait::done() }
    };
    let policy = Restarts::unlimited().backoff(backoff);
    graph.stage("five", restarting(0, |_| (), step).policy(policy));
    let report = graph.start()?.join();
    assert!(report.failures().is_empty());
    assert_eq!(report.stages()[0].restarts, 5);
    Ok(())
}

#[test]
fn a_source_that_waits_for_its_restart_ends_with_the_graph() -> Result {
    silence_panics();
    let day = Duration::from_hours(24);
    let mut graph = Graph::new();
    let policy = Restarts::unlimited().backoff(Backoff::exponential(day, day));
    let never = restarting((), |()| (), |(), (), _| fail());
    graph.source("never", never.policy(policy));
    let mut stepper = Stepper::new(graph);
    stepper.run_until_idle();
    stepper.stop();
    stepper.run_until_idle();
    // The stage is not up, so it has no vote: its silence must not count as a yes.
    assert!(!stepper.has_ended());
    stepper.overrule();
    stepper.run_until_idle();
    assert!(stepper.has_ended());
    Ok(())
}

#[test]
fn a_panic_from_outside_ends_a_stage_that_does_not_begin_anew() -> Result {
    silence_panics();
    let mut graph = Graph::new();
    let (tx, rx) = graph.channel(4)?;
    graph.source("source", stages::produce(tx, 0..4));
    graph.stage("end", stages::consume(rx, |_: &[i32]| ()));
    let mut stepper = Stepper::new(graph);
    stepper.inject_panic("end", "injected")?;
    assert_eq!(stepper.step_stage("end")?, Seen::Done);
    let gone = NoSuchStage {
        name: "end".to_owned(),
        there_are: vec!["source".to_owned()],
    };
    assert_eq!(stepper.step_stage("end"), Err(gone));
    stepper.run_until_idle();
    assert!(stepper.has_ended(), "the source sees that nobody reads");
    assert_eq!(stepper.finish().failures()[0].message, "injected");
    Ok(())
}

#[test]
fn rest_of_both_ends_is_what_a_map_waits_for() -> Result {
    let mut graph = Graph::new();
    let (mut numbers, input) = graph.channel(2)?;
    let (output, mut results) = graph.channel(2)?;
    let step = |(): &mut (), ends: &mut Ends, _: &mut Cx<'_>| {
        map_batch(&mut ends.0, &mut ends.1, 1, |n| n + 1);
        rest(ends)
    };
    graph.stage("copy", restarting((input, output), |_| (), step));
    let mut stepper = Stepper::new(graph);
    numbers.push_slice(&[1, 2]);
    stepper.run_until_idle();
    numbers.push_slice(&[3]);
    assert_eq!(stepper.run_until_idle(), 0, "the output is full");
    assert_eq!(results.try_pop(), Some(2));
    assert_eq!(stepper.run_until_idle(), 1);
    Ok(())
}

#[test]
fn a_wait_of_centuries_is_no_wait_of_nothing() {
    silence_panics();
    let mut graph = Graph::new();
    let stage = restarting((), |()| (), |(), (), _| -> Wait { fail() });
    // In nanoseconds, this is a multiple of 2^64.
    let long = Duration::from_secs(1 << 55);
    let backoff = Backoff::exponential(long, long).jitter(0.0);
    graph.stage(
        "fails",
        stage.policy(Restarts::unlimited().backoff(backoff)),
    );
    let mut stepper = Stepper::new(graph);
    assert_eq!(stepper.run(100), 1);
    stepper.advance(Duration::from_secs(1 << 30));
    assert_eq!(stepper.run(100), 0);
}
