//! Tests stages whose threads share one core: a wake-up that is delayed until the waking stage
//! sleeps is not lost.
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;

use garrick_flow::{AsyncReceiver, Cx, Graph, Restarts, Slots, Wait, stages};
use garrick_testkit::HANGS_AFTER;

type Result = std::result::Result<(), Box<dyn Error>>;

/// Number of values sent through each of the channels.
const VALUES: u64 = if cfg!(debug_assertions) {
    20_000
} else {
    200_000
};

#[test]
fn all_values_arrive_whatever_the_capacity() -> Result {
    for capacity in [1, 2, 8, 256, 4096] {
        let mut graph = Graph::new();
        let (numbers, numbers_in) = graph.channel::<u64>(capacity)?;
        let (doubles, doubles_in) = graph.channel::<u64>(capacity)?;
        let values = VALUES.min(1000 * capacity as u64);
        let source = stages::produce(numbers, 0..values).wait_for(capacity / 2);
        graph.team("first").source("source", source).pin_to(0);
        let double = stages::map(numbers_in, doubles, |n| 2 * n);
        graph.team("second").stage("double", double).pin_to(0);
        let mut next = 0;
        let check = stages::consume(doubles_in, move |doubles: &[u64]| {
            for double in doubles {
                assert_eq!(*double, next);
                next += 2;
            }
        });
        graph.team("third").stage("check", check).pin_to(0);
        let report = graph.start()?.join();
        assert!(report.failures().is_empty(), "{report:?}");
        assert_eq!(report.channels()[1].taken, values, "{capacity} slots");
    }
    Ok(())
}

#[test]
fn a_stage_that_never_rests_wakes_the_others_nevertheless() -> Result {
    let mut graph = Graph::new();
    let (mut tx, rx) = graph.channel::<u64>(1 << 10)?;
    let seen = Arc::new(AtomicBool::new(false));
    let ours = Arc::clone(&seen);
    let mut left = 100;
    let restless = move |_: &mut Cx<'_>| {
        // The next value goes out when the one before has been seen. Until then the stage never
        // rests.
        if tx.sent() == 0 || ours.swap(false, Relaxed) {
            if left == 0 {
                return Wait::done();
            }
            left -= 1;
            let _ = tx.try_push(left);
        }
        Wait::again()
    };
    graph.team("first").stage("restless", restless).pin_to(0);
    let see = stages::consume(rx, move |_: &[u64]| seen.store(true, Relaxed));
    graph.team("second").stage("see", see).pin_to(0);
    let report = graph.start()?.join();
    assert!(report.failures().is_empty(), "{report:?}");
    assert_eq!(report.channels()[0].taken, 100);
    Ok(())
}

#[test]
fn a_stage_that_ends_or_fails_has_woken_the_others() -> Result {
    for fails in [false, true] {
        let mut graph = Graph::new();
        let (mut tx, rx) = graph.channel::<u64>(8)?;
        let mut steps = 0;
        let short = move |_: &mut Cx<'_>| {
            steps += 1;
            let _ = tx.try_push(steps);
            match steps {
                3 if fails => std::panic::resume_unwind(Box::new("as told")),
                3 => Wait::done(),
                _ => Wait::again(),
            }
        };
        graph.team("first").stage("short", short).pin_to(0);
        let see = stages::consume(rx, |_: &[u64]| ());
        graph.team("second").stage("see", see).pin_to(0);
        let report = graph.start()?.join();
        assert_eq!(report.failures().len(), usize::from(fails));
        assert_eq!(report.channels()[0].taken, 3);
    }
    Ok(())
}

#[test]
fn a_stage_with_an_end_of_another_graph_wakes_that_one() -> Result {
    let (mut first, mut second) = (Graph::new(), Graph::new());
    let (numbers, numbers_in) = first.channel::<u64>(8)?;
    let (again, again_in) = second.channel::<u64>(8)?;
    let source = stages::produce(numbers, 0..VALUES);
    first.team("first").source("source", source).pin_to(0);
    let mut left = 100;
    // The stage between the graphs has a number that the first graph does not know.
    let idle = move |_: &mut Cx<'_>| {
        left -= 1;
        if left == 0 {
            Wait::done()
        } else {
            Wait::again()
        }
    };
    second.team("idle").stage("idle", idle).pin_to(0);
    let between = stages::from_stream(again, AsyncReceiver::from(numbers_in));
    second.team("between").stage("between", between).pin_to(0);
    let read = stages::consume(again_in, |_: &[u64]| ());
    second.team("read").stage("read", read).pin_to(0);
    let (first, second) = (first.start()?, second.start()?);
    let monitor = first.monitor();
    first.join();
    // The taker of the first graph's values belongs to the second graph, so all values are taken
    // only when the second graph has ended.
    assert_eq!(second.join().channels()[0].taken, VALUES);
    let channel = &monitor.sample().channels[0];
    assert_eq!(channel.taken, VALUES);
    assert_eq!(channel.to, None, "it is not of this graph");
    Ok(())
}

#[test]
fn a_value_does_not_wait_while_an_iterator_blocks() -> Result {
    for restarts in [false, true] {
        let mut graph = Graph::new();
        let (numbers, input) = graph.channel::<u64>(Slots::of(64).batch(1))?;
        let (told, heard) = channel();
        let (to, values) = channel();
        let source = graph.team("first").pin_to(0);
        if restarts {
            let mut values = Some(values);
            let again = move |_| values.take().into_iter().flatten();
            source.source(
                "source",
                stages::produce_from(numbers, Restarts::default(), again),
            );
        } else {
            source.source("source", stages::produce(numbers, values));
        }
        let tell = stages::consume(input, move |numbers: &[u64]| {
            numbers
                .iter()
                .for_each(|number| told.send(*number).unwrap());
        });
        graph.team("second").stage("tell", tell).pin_to(0);
        let running = graph.start()?;
        // A value is sent when the one before has arrived.
        let arrived = (0..20).take_while(|number| {
            to.send(*number).is_ok() && heard.recv_timeout(HANGS_AFTER) == Ok(*number)
        });
        let arrived = arrived.count();
        drop(to);
        assert!(running.join().failures().is_empty());
        assert_eq!(arrived, 20);
    }
    Ok(())
}
