//! The pipeline as a graph of stages.

use std::time::{Duration, Instant};

use garrick_core::count::GroupReader;
use garrick_flow::{Buffers, Graph, Running, Slots};

use super::stages::{Generator, Heartbeat, Log, Logger, Worker};
use super::{Config, Counts, Error, Mode, Snapshot, Totals};

/// How often progress is shown, and looked whether to stop.
const TICK: Duration = Duration::from_millis(100);
/// Beats that may wait for the worker.
const BEATS_WAITING_MAX: usize = 1024;
/// The channels, by the order in which they are made.
const VALUES: usize = 0;
const BEATS: usize = 1;
const MESSAGES: usize = 2;

/// Runs the pipeline to its end, and tells `progress` every now and then how far it is.
///
/// # Errors
///
/// [`Error`] if it cannot start, or a stage fails.
pub(crate) fn run(
    config: &Config<'_>,
    mut progress: impl FnMut(&Snapshot),
) -> Result<Totals, Error> {
    let (graph, log) = build(config)?;
    let began = Instant::now();
    let running = graph.start()?;
    let duration = config.duration();
    let mut is_stopped = false;
    loop {
        let left = duration.saturating_sub(began.elapsed());
        if running.wait_timeout(if is_stopped {
            TICK
        } else {
            left.clamp(Duration::from_millis(1), TICK)
        }) {
            break;
        }
        progress(&snapshot(&running, &log, began));
        if !is_stopped && (config.is_stopped() || config.seconds.is_some() && left.is_zero()) {
            running.stop();
            is_stopped = true;
        }
    }
    let elapsed = began.elapsed();
    let report = running.join();
    if let Some(failure) = report.failures().first() {
        return Err(Error::Stage(failure.clone()));
    }
    let channels = report.channels();
    Ok(Totals {
        elapsed,
        generated: channels[VALUES].sent,
        heartbeats: channels[BEATS].taken,
        values: channels[VALUES].taken,
        messages: channels[MESSAGES].sent,
        counts: counts(&log),
    })
}

/// Builds the graph, on one thread or on two: the logger has about as much to do as the others together, so a
/// third thread would only cost wake-ups.
fn build(config: &Config<'_>) -> Result<(Graph, GroupReader<4>), Error> {
    let mut graph = Graph::new();
    let (output, values) = graph.channel(Slots::of(config.capacity).named("numbers"))?;
    let generator = Generator { output };
    let (output, beats) = graph.channel(Slots::of(BEATS_WAITING_MAX).named("beats"))?;
    let rate = config.rate_ms.saturating_mul(1_000_000);
    let heartbeat = Heartbeat {
        output,
        beats: config.beats,
        rate,
        began: None,
    };
    let (output, input) = graph.channel(Slots::of(config.capacity).named("messages"))?;
    let buffers = (config.mode == Mode::DoubleBuffer).then(Buffers::new);
    let worker = Worker {
        values,
        beats,
        output,
        buffers,
    };
    let log = Log::new();
    let reader = log.reader();
    let logger = Logger {
        input,
        counts: Counts::default(),
        log,
    };
    let team = graph
        .team("pipeline")
        .source("generator", generator)
        .source("heartbeat", heartbeat);
    let team = team.stage("worker", worker);
    if config.one_core {
        team.stage("logger", logger);
    } else {
        graph.stage("logger", logger);
    }
    Ok((graph, reader))
}

fn snapshot(running: &Running, log: &GroupReader<4>, began: Instant) -> Snapshot {
    let channels = running.totals().channels;
    Snapshot {
        elapsed: began.elapsed(),
        generated: channels[VALUES].sent,
        heartbeats: channels[BEATS].taken,
        counts: counts(log),
    }
}

/// What the logger has published. It publishes once a batch, so it is not busy with that for long.
fn counts(log: &GroupReader<4>) -> Counts {
    loop {
        if let Ok([fizz, buzz, fizz_buzz, value]) = log.try_snapshot() {
            return Counts {
                fizz,
                buzz,
                fizz_buzz,
                value,
            };
        }
        std::thread::yield_now();
    }
}
