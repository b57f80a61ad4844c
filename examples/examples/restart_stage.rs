//! A pipeline whose worker panics repeatedly, and restarts with its channels intact. No message is
//! lost, and no message is counted twice. At the end, the stages agree to stop.
//!
//! Run it with `cargo run --release -p garrick-examples --example restart_stage`.
use std::error::Error;
use std::panic;
use std::time::Duration;

use garrick::flow::{Backoff, Cx, Graph, Receiver, Restarts, Wait, map_batch, restarting, stages};

/// Number of messages after which the counting stage agrees to stop.
const ENOUGH: u64 = 20_000;

/// Counts messages, and does not agree to stop until it has enough. The count survives a restart.
fn count((input, seen): &mut (Receiver<u64>, u64), cx: &mut Cx<'_>) -> Wait {
    let mut peek = input.peek();
    for number in &*peek {
        assert_eq!(number % 2, 0, "doubles are even");
    }
    *seen += peek.len() as u64;
    peek.advance(peek.len());
    if *seen < ENOUGH {
        cx.veto(format_args!("{} more to come", ENOUGH - *seen));
    }
    if input.is_finished() {
        return Wait::done();
    }
    Wait::readable(input, 1)
}

fn main() -> Result<(), Box<dyn Error>> {
    // The panics are part of the example.
    panic::set_hook(Box::new(|_| ()));

    let mut graph = Graph::new();
    let (numbers, input) = graph.channel::<u64>(256)?;
    let (output, doubles) = graph.channel::<u64>(256)?;
    graph.source("numbers", stages::produce(numbers, 0..));

    let worker = restarting(
        (input, output),
        |_| 0,
        |age, (input, output), _| {
            map_batch(input, output, 64, |n| {
                *age += 1;
                assert!(*age < 1_000, "worn out");
                n * 2
            });
            if input.is_finished() || output.is_closed() {
                return Wait::done();
            }
            Wait::readable(input, 1).and(Wait::free(output, 1))
        },
    );
    let backoff = Backoff::exponential(Duration::from_micros(100), Duration::from_millis(1));
    let policy = Restarts::unlimited().backoff(backoff);
    graph.stage("worker", worker.policy(policy));
    graph.stage(
        "till",
        restarting((doubles, 0), |_| (), |(), kept, cx| count(kept, cx)),
    );

    let running = graph.start()?;
    running.stop();
    let report = match running.join_timeout(Duration::from_millis(1)) {
        Ok(report) => report,
        Err(late) => {
            println!("{late}");
            late.running.join()
        }
    };
    let worker = report.stage("worker").ok_or("the worker is reported")?;
    println!(
        "the worker has failed {} times, the last time because it was {}",
        worker.restarts,
        worker.last_panic.as_deref().unwrap_or("nothing")
    );
    for channel in report.channels() {
        println!(
            "{} sent, {} taken, {} left",
            channel.sent,
            channel.taken,
            channel.left()
        );
    }
    Ok(())
}
