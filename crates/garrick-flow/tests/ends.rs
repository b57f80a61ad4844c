//! Tests how graphs end: stage by stage, at once, by a panic, or from either side. No message in
//! flight is lost.
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use garrick_flow::{Cx, Graph, Receiver, Report, Sender, Wait, stages};

type Result = std::result::Result<(), Box<dyn Error>>;

/// Number of messages that the tests with tiny channels send: a fraction of a second of work.
const MANY: u64 = if cfg!(debug_assertions) {
    20_000
} else {
    200_000
};

/// Checks that all channels are empty, and that each of them was used by two stages.
fn assert_drained(report: &Report) {
    for channel in report.channels() {
        assert_eq!(channel.sent, channel.taken, "{report:?}");
        assert!(channel.from.is_some() && channel.to.is_some(), "{report:?}");
    }
}

/// Builds the graph numbers -> plus one -> check. Each stage has its own thread, or all stages
/// share one thread.
fn pipeline(
    capacity: usize,
    count: u64,
    is_team: bool,
) -> std::result::Result<Graph, Box<dyn Error>> {
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel(capacity)?;
    let (output, results) = graph.channel(capacity)?;
    let source = stages::produce(numbers, 0..count);
    let map = stages::map(input, output, |n| n + 1);
    let mut last = 0;
    let sink = stages::consume(results, move |batch: &[u64]| {
        for number in batch {
            assert_eq!(*number, last + 1);
            last = *number;
        }
    });
    if is_team {
        graph
            .team("all")
            .source("numbers", source)
            .stage("plus one", map)
            .stage("check", sink);
    } else {
        graph.source("numbers", source);
        graph.stage("plus one", map);
        graph.stage("check", sink);
    }
    Ok(graph)
}

#[test]
fn all_arrives_whatever_the_capacity() -> Result {
    for is_team in [false, true] {
        for capacity in [1, 2, 64, 4096] {
            let report = pipeline(capacity, MANY, is_team)?.start()?.join();
            assert!(report.failures().is_empty(), "{report:?}");
            assert_drained(&report);
            let middle = report.stage("plus one").ok_or("the stage is reported")?;
            assert_eq!((middle.messages_in, middle.messages_out), (MANY, MANY));
            assert!(middle.steps > 0);
        }
    }
    Ok(())
}

#[test]
fn a_stop_drains_what_is_in_flight() -> Result {
    for is_team in [false, true] {
        let running = pipeline(256, u64::MAX, is_team)?.start()?;
        while running.totals().channels[1].taken < 1_000 {
            std::thread::yield_now();
        }
        running.stop();
        running.stop();
        let report = running.join();
        assert!(report.failures().is_empty(), "{report:?}");
        assert_drained(&report);
        assert_eq!(report.channels()[0].taken, report.channels()[1].sent);
    }
    Ok(())
}

/// A stream that yields three values at once, and then panics.
struct Breaks(u64);

impl Stream for Breaks {
    type Item = u64;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<u64>> {
        assert!(self.0 < 3, "it breaks off");
        self.0 += 1;
        Poll::Ready(Some(self.0))
    }
}

#[test]
fn a_source_that_breaks_off_has_sent_what_it_had_yielded() -> Result {
    for is_stream in [false, true] {
        let mut graph = Graph::new();
        let (output, input) = graph.channel::<u64>(64)?;
        if is_stream {
            graph.source("breaks", stages::from_stream(output, Breaks(0)));
        } else {
            let values = (1..).inspect(|n| assert!(*n <= 3, "it breaks off"));
            graph.source("breaks", stages::produce(output, values));
        }
        let (told, sum) = std::sync::mpsc::channel();
        graph.stage(
            "read",
            stages::consume(input, move |batch: &[u64]| {
                told.send(batch.iter().sum::<u64>()).unwrap();
            }),
        );
        let report = graph.start()?.join();
        assert_eq!(report.failures()[0].message, "it breaks off");
        assert_eq!(sum.iter().sum::<u64>(), 1 + 2 + 3);
    }
    Ok(())
}

#[test]
fn a_stage_can_stop_the_graph() -> Result {
    let mut graph = Graph::new();
    let (tx, mut rx) = graph.channel::<u64>(16)?;
    graph.source("endless", stages::produce(tx, 0..));
    graph.stage("enough", move |cx: &mut Cx<'_>| {
        rx.consume_batch(usize::MAX, |_| ());
        if rx.taken() > 100 {
            cx.stop();
        }
        if rx.is_finished() {
            Wait::done()
        } else {
            Wait::readable(&rx, 1)
        }
    });
    let report = graph.start()?.join();
    assert_drained(&report);
    assert!(report.channels()[0].taken > 100);
    Ok(())
}

#[test]
fn a_dropped_graph_ends_at_once_and_drops_what_it_holds() -> Result {
    let value = Arc::new(());
    let mut graph = Graph::new();
    let (tx, rx) = graph.channel(64)?;
    let copies = Arc::clone(&value);
    graph.source("copies", stages::produce(tx, std::iter::repeat(copies)));
    // No stage takes anything, so the channel is full when the graph is dropped.
    graph.stage("idle", move |_: &mut Cx<'_>| {
        let _ = &rx;
        Wait::timer(Duration::from_hours(1))
    });
    let running = graph.start()?;
    while running.totals().channels[0].sent < 64 {
        std::thread::yield_now();
    }
    drop(running);
    assert_eq!(Arc::strong_count(&value), 1);
    Ok(())
}

#[test]
fn a_graph_that_is_not_started_closes_its_channels() -> Result {
    let mut graph = Graph::new();
    let (tx, mut rx) = graph.channel::<u8>(4)?;
    graph.source("never", stages::produce(tx, [1, 2]));
    assert!(!rx.is_closed());
    drop(graph);
    assert!(rx.is_finished());
    Ok(())
}

/// Runs the graph numbers -> `middle` -> count, and returns its report.
fn around(
    middle: impl FnOnce(Receiver<u64>, Sender<u64>) -> Box<dyn FnMut(&mut Cx<'_>) -> Wait + Send>,
) -> std::result::Result<Report, Box<dyn Error>> {
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel::<u64>(8)?;
    let (output, results) = graph.channel::<u64>(8)?;
    graph.source("numbers", stages::produce(numbers, 0..));
    graph.stage("middle", middle(input, output));
    graph.stage("count", stages::consume(results, |_| ()));
    Ok(graph.start()?.join())
}

#[test]
fn a_panic_closes_both_sides_and_the_others_end_in_order() -> Result {
    let report = around(|mut input, mut output| {
        Box::new(move |_: &mut Cx<'_>| {
            garrick_flow::map_batch(&mut input, &mut output, 8, |n| {
                assert!(*n < 1_000, "too many");
                *n
            });
            Wait::readable(&input, 1).and(Wait::free(&output, 1))
        })
    })?;
    let [failure] = report.failures() else {
        panic!("one failure: {report:?}")
    };
    assert_eq!(
        (failure.stage.as_str(), failure.message.as_str()),
        ("middle", "too many")
    );
    let [input, output] = report.channels() else {
        panic!("two channels: {report:?}")
    };
    assert_eq!(
        (input.taken, output.sent, output.taken),
        (1_000, 1_000, 1_000)
    );
    Ok(())
}

#[test]
fn a_panic_after_an_end_was_dropped_wakes_the_others_too() -> Result {
    let report = around(|mut input, output| {
        let mut output = Some(output);
        Box::new(move |_: &mut Cx<'_>| {
            if input.taken() > 100 {
                drop(output.take());
                panic!("{}", "without an output");
            }
            input.consume_batch(usize::MAX, |_| ());
            Wait::readable(&input, 8)
        })
    })?;
    assert_eq!(report.failures()[0].message, "without an output");
    Ok(())
}

#[test]
fn a_panic_in_a_destructor_is_a_failure() -> Result {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("not even dropped");
        }
    }
    let mut graph = Graph::new();
    let bad = Bad;
    graph.stage("bad", move |_: &mut Cx<'_>| {
        let _ = &bad;
        Wait::done()
    });
    let report = graph.start()?.join();
    assert_eq!(report.failures()[0].message, "not even dropped");
    Ok(())
}

#[test]
fn a_consumer_that_ends_first_ends_its_producers() -> Result {
    let report = around(|mut input, output| {
        Box::new(move |_: &mut Cx<'_>| {
            let _ = &output;
            input.consume_batch(8, |_| ());
            if input.taken() > 500 {
                Wait::done()
            } else {
                Wait::readable(&input, 1)
            }
        })
    })?;
    assert!(report.failures().is_empty());
    assert_eq!(report.channels()[1].sent, 0);
    Ok(())
}

#[test]
fn a_stage_that_rests_on_its_input_hears_that_its_output_is_gone() -> Result {
    let mut graph = Graph::new();
    let (silent, input) = graph.channel::<u8>(8)?;
    let (output, results) = graph.channel::<u8>(8)?;
    // The stage sends nothing. It ends only when the end of the last stage has ended the middle
    // one.
    graph.stage("silent", move |_: &mut Cx<'_>| {
        if silent.is_closed() {
            return Wait::done();
        }
        Wait::free(&silent, 8).and(Wait::timer(Duration::from_hours(1)))
    });
    graph.stage("middle", stages::map(input, output, |n| *n));
    graph.stage("gone", move |_: &mut Cx<'_>| {
        let _ = &results;
        Wait::done()
    });
    assert!(graph.start()?.join().failures().is_empty());
    Ok(())
}

#[test]
fn a_tail_below_the_threshold_is_drained() -> Result {
    let mut graph = Graph::new();
    let (tx, rx) = graph.channel::<u64>(1024)?;
    graph.source("numbers", stages::produce(tx, 0..1_337));
    graph.stage("halves", stages::consume(rx, |_| ()).wait_for(512));
    assert_eq!(graph.start()?.join().channels()[0].taken, 1_337);
    Ok(())
}

#[test]
fn an_empty_graph_ends() -> Result {
    let report = Graph::new().start()?.join();
    assert!(report.stages().is_empty() && report.channels().is_empty());
    Ok(())
}
