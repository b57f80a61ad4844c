//! Kill test: stages of a pipeline panic at random points, again and again, and the logger counts
//! every message exactly once, in order.
//!
//! The test runs for `GARRICK_SOAK_SECONDS`, by default one second. The longer run:
//!
//! ```text
//! GARRICK_SOAK_SECONDS=60 cargo test --release -p garrick-tests --test pipeline_kill -- --nocapture
//! ```
use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

use garrick::flow::{
    Backoff, Cx, Graph, Receiver, Report, Restarts, Sender, Wait, map_batch, restarting,
};
use garrick_testkit::{fail, setting, silence_panics};

/// Average number of chances between two kills.
const ONE_IN: u64 = 20_000;

/// Returns the duration of the test.
fn soak() -> Result<Duration, Box<dyn Error>> {
    let seconds = setting("GARRICK_SOAK_SECONDS").unwrap_or(1.0);
    Ok(Duration::try_from_secs_f64(seconds)?)
}

/// Kills the calling stage, at random.
struct Killer(u64);

impl Killer {
    fn strike(&mut self) {
        // Marsaglia's xorshift: never 0, unless it begins there.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        if self.0.is_multiple_of(ONE_IN) {
            fail();
        }
    }
}

/// Message: its number, and a word on the heap. A lost or duplicated message is a leak or worse.
type Message = (u64, Box<u64>);

/// Generates numbers from the last one that was sent on.
fn generate((output, killer): &mut (Sender<u64>, Killer), _: &mut Cx<'_>) -> Wait {
    let next = output.sent();
    let mut poke = output.poke(64);
    poke.extend((next..).inspect(|_| killer.strike()));
    killer.strike();
    poke.commit();
    killer.strike();
    Wait::free(output, 1)
}

/// Packs numbers, as the first worker: a batch as a whole.
fn pack(
    (input, output, killer): &mut (Receiver<u64>, Sender<Message>, Killer),
    _: &mut Cx<'_>,
) -> Wait {
    map_batch(input, output, 64, |number| {
        killer.strike();
        let message = (*number, Box::new(!number));
        killer.strike();
        message
    });
    killer.strike();
    if input.is_finished() {
        return Wait::done();
    }
    Wait::readable(input, 1).and(Wait::free(output, 1))
}

/// Copies messages, as the second worker: peek, work, commit, advance.
fn copy(
    (input, output, killer): &mut (Receiver<Message>, Sender<Message>, Killer),
    _: &mut Cx<'_>,
) -> Wait {
    let mut peek = input.peek();
    let mut poke = output.poke(64);
    for (number, check) in &*peek {
        killer.strike();
        if poke.push((*number, check.clone())).is_err() {
            break;
        }
    }
    killer.strike();
    let count = poke.commit();
    peek.advance(count);
    killer.strike();
    if input.is_finished() {
        return Wait::done();
    }
    Wait::readable(input, 1).and(Wait::free(output, 1))
}

/// Counts of the logger, which outlive the kills.
#[derive(Debug, Default)]
struct Log {
    /// Number that must come next, which is also the number of messages so far.
    next: u64,
    /// First wrong number, with the expected one.
    wrong: Option<(u64, u64)>,
}

/// Logs messages: counts each message when it is advanced over, with nothing between that can
/// panic.
fn log(
    (input, log, killer, end): &mut (Receiver<Message>, Log, Killer, mpsc::Sender<Log>),
    _: &mut Cx<'_>,
) -> Wait {
    let mut peek = input.peek();
    while let Some((number, check)) = peek.get(0) {
        killer.strike();
        if *number != log.next || **check != !number {
            log.wrong.get_or_insert((log.next, *number));
        }
        log.next += 1;
        peek.advance(1);
        killer.strike();
    }
    if input.is_finished() {
        // The receiver waits until the log arrives.
        let _ = end.send(std::mem::take(log));
        return Wait::done();
    }
    Wait::readable(input, 1)
}

/// Runs the pipeline for `duration`, and returns the logger's counts.
fn run(duration: Duration, seed: u64) -> Result<(Report, Log), Box<dyn Error>> {
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel(256)?;
    let (packed, packed_in) = graph.channel(64)?;
    let (copied, copied_in) = graph.channel(1024)?;
    let killer = |stage: u64| Killer(seed.wrapping_mul(4).wrapping_add(stage) | 1);
    let backoff = Backoff::exponential(Duration::from_micros(50), Duration::from_millis(2))
        .reset_after(Duration::ZERO);
    let policy = || Restarts::unlimited().backoff(backoff);
    let (end, ended) = mpsc::channel();
    let generator = restarting(
        (numbers, killer(1)),
        |_| (),
        |(), kept, cx| generate(kept, cx),
    );
    let packer = restarting(
        (numbers_in, packed, killer(3)),
        |_| (),
        |(), kept, cx| pack(kept, cx),
    );
    let copier = restarting(
        (packed_in, copied, killer(5)),
        |_| (),
        |(), kept, cx| copy(kept, cx),
    );
    let kept = (copied_in, Log::default(), killer(7), end);
    let logger = restarting(kept, |_| (), |(), kept, cx| log(kept, cx));
    graph.source("generator", generator.policy(policy()));
    graph
        .team("workers")
        .stage("packer", packer.policy(policy()))
        .stage("copier", copier.policy(policy()));
    graph.stage("logger", logger.policy(policy()));
    let running = graph.start()?;
    // The pipeline does not end by itself: this is its running time.
    running.wait_timeout(duration);
    running.stop();
    let report = running.join();
    Ok((report, ended.recv()?))
}

#[test]
fn every_message_is_counted_once_whatever_is_killed() -> Result<(), Box<dyn Error>> {
    silence_panics();
    let duration = soak()?;
    let (report, log) = run(duration, 0x5eed)?;
    assert!(report.failures().is_empty(), "{report:?}");
    assert_eq!(log.wrong, None, "in order, each once");
    for channel in report.channels() {
        assert_eq!(
            (channel.sent, channel.taken),
            (log.next, log.next),
            "{report:?}"
        );
    }
    for stage in report.stages() {
        println!("{:>9}: killed {} times", stage.name, stage.restarts);
        assert!(stage.restarts > 0, "{} was never killed", stage.name);
    }
    println!("{duration:?}: {} messages, each counted once", log.next);
    Ok(())
}
