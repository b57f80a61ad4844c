//! Tests stages that wait for many values and many free slots at once (`wait_for`). However large
//! these numbers are, two stages never wait for each other.

mod common;

use common::Result;
use garrick_flow::testing::Stepper;
use garrick_flow::{AsyncReceiver, Graph, Receiver, Sender, Slots, Stage, stages};

/// Number of slots of each channel. A batch has half of them.
const SLOTS: usize = 8;

/// Number of values and free slots for which each stage waits: more than half of the slots.
const WANTED: usize = 6;

/// Number of values that each source sends.
const VALUES: u64 = 30;

fn read(input: Receiver<u64>) -> impl Stage {
    stages::consume(input, |_| ()).wait_for(WANTED)
}

/// Runs a graph in an order in which the stages "read" sleep before the stage "middle" has passed
/// on its first batch. This batch is too small to wake them.
#[track_caller]
fn run(graph: Graph, readers: usize) {
    let mut stepper = Stepper::new(graph);
    let names = ["read 0", "read 1"].into_iter().take(readers);
    let order = names.chain(["numbers", "middle", "middle"]);
    order.for_each(|name| _ = stepper.step_stage(name).unwrap());
    stepper.run_until_idle();
    assert!(stepper.has_ended(), "{:#?}", stepper.totals());
}

/// Builds the graph numbers -> `middle` -> read, and runs it.
#[track_caller]
fn run_between<S: Stage>(middle: impl FnOnce(Receiver<u64>, Sender<u64>) -> S) {
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel(SLOTS).unwrap();
    let (output, results) = graph.channel(SLOTS).unwrap();
    graph.source("numbers", stages::produce(numbers, 0..VALUES));
    graph.stage("middle", middle(input, output));
    graph.stage("read 0", read(results));
    run(graph, 1);
}

#[test]
fn a_map_does_not_wait_for_more_room_than_its_reader_makes() {
    run_between(|input, output| stages::map(input, output, |n| *n).wait_for(WANTED));
    run_between(|input, output| {
        let map = stages::map(input, output, |n| *n).wait_for(WANTED);
        map.restarting(garrick_flow::Restarts::default())
    });
    run_between(|input, output| {
        let map = stages::map(input, output, |n| *n).wait_for(WANTED);
        map.buffered()
    });
}

#[test]
fn a_merge_does_not_wait_for_more_room_than_its_reader_makes() -> Result {
    let mut graph = Graph::new();
    let (numbers, inputs) = graph.bundle(2, SLOTS)?;
    let (output, results) = graph.channel(SLOTS)?;
    for numbers in numbers {
        graph.source("numbers", stages::produce(numbers, 0..VALUES));
    }
    graph.stage("middle", stages::merge(inputs, output).wait_for(WANTED));
    graph.stage("read 0", read(results));
    run(graph, 1);
    Ok(())
}

#[test]
fn stages_with_two_outputs_do_not_wait_for_more_room_than_their_readers_make() -> Result {
    for copies in [false, true] {
        let mut graph = Graph::new();
        // The batch is passed on in two parts, so that both readers get values.
        let (numbers, input) = graph.channel(Slots::of(SLOTS).batch(if copies { 4 } else { 2 }))?;
        let (outputs, results) = graph.bundle(2, SLOTS)?;
        graph.source("numbers", stages::produce(numbers, 0..VALUES));
        if copies {
            let middle = stages::broadcast(input, outputs);
            graph.stage("middle", middle.wait_for(WANTED));
        } else {
            let middle = stages::distribute(input, outputs);
            graph.stage("middle", middle.wait_for(SLOTS));
        }
        for (index, results) in results.into_iter().enumerate() {
            let reader = stages::consume(results, |_| ()).wait_for(SLOTS);
            graph.stage(format!("read {index}"), reader);
        }
        let mut stepper = Stepper::new(graph);
        for name in [
            "read 0", "read 1", "numbers", "numbers", "middle", "middle", "middle",
        ] {
            stepper.step_stage(name)?;
        }
        stepper.run_until_idle();
        assert!(stepper.has_ended(), "{copies}: {:#?}", stepper.totals());
    }
    Ok(())
}

#[test]
fn a_stream_does_not_wait_for_more_room_than_its_reader_makes() -> Result {
    let mut before = Graph::new();
    let (mut values, stream) = before.channel::<u64>(64)?;
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel(SLOTS)?;
    let source = stages::from_stream(numbers, AsyncReceiver::from(stream));
    graph.source("numbers", source.wait_for(WANTED));
    graph.stage("read", read(input));
    let mut stepper = Stepper::new(graph);
    for _ in 0..8 {
        // The stage has passed on 4 values, and waits for the stream. Its reader waits for 6.
        values.push_iter(0..4);
        stepper.run_until_idle();
        assert!(stepper.fill(0) < WANTED as u64, "{:#?}", stepper.totals());
    }
    drop(values);
    stepper.run_until_idle();
    assert!(stepper.has_ended(), "{:#?}", stepper.totals());
    assert_eq!(stepper.totals().channels[0].taken, 32);
    Ok(())
}
