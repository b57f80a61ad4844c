//! The demonstration pipeline as a graph of stages.

use std::time::{Duration, Instant};

use garrick_core::count::GroupReader;
use garrick_flow::{Buffer, ChannelSample, Graph, Monitor, Slots};

use super::stages::{Generator, Heartbeat, Log, Logger, Worker};
use super::{Config, Counts, Error, Mode, Snapshot, Totals, Traffic};

/// Time between two progress reports, and between two checks for a stop.
const TICK: Duration = Duration::from_millis(100);
/// Maximum number of heartbeats that may wait for the worker.
const BEATS_WAITING_MAX: usize = 1024;
/// Index of the channel of the numbers, in a sample of all channels. The channels are in the order
/// in which [`build`] creates them.
const VALUES: usize = 0;
/// Index of the channel of the heartbeats, in a sample of all channels.
const BEATS: usize = 1;
/// Index of the channel of the FizzBuzz names, in a sample of all channels.
const MESSAGES: usize = 2;
const CHANNELS: usize = 3;

/// The results of a pipeline that has stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Message counts of the whole run.
    pub totals: Totals,
    /// Traffic of each channel, in the order in which the channels were created.
    pub traffic: Vec<Traffic>,
}

/// Runs the pipeline until it stops. After the start, calls `watch` with the pipeline's monitor.
/// Then calls `progress` with a snapshot about every 100 ms.
///
/// # Errors
///
/// Returns an [`Error`] if the pipeline cannot start, or if a stage fails.
pub fn run(
    config: &Config<'_>,
    watch: impl FnOnce(Monitor),
    mut progress: impl FnMut(&Snapshot),
) -> Result<Outcome, Error> {
    let (graph, log) = build(config)?;
    let began = Instant::now();
    let running = graph.start()?;
    let monitor = running.monitor();
    watch(monitor.clone());
    let mut fills = Fills::default();
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
        let channels = monitor.sample().channels;
        fills.add(&channels);
        progress(&snapshot(&channels, &log, began));
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
    let totals = Totals {
        elapsed,
        generated: channels[VALUES].sent,
        heartbeats: channels[BEATS].taken,
        values: channels[VALUES].taken,
        messages: channels[MESSAGES].sent,
        counts: counts(&log),
    };
    let traffic = channels.iter().enumerate();
    let traffic = traffic
        .map(|(index, channel)| Traffic::of(channel, elapsed, fills.mean(index)))
        .collect();
    Ok(Outcome { totals, traffic })
}

/// Fill levels of the channels, sampled at regular intervals.
#[derive(Default)]
struct Fills {
    /// Sum of the sampled fill levels, for each channel.
    sums: [f64; CHANNELS],
    /// Number of samples.
    looks: f64,
}

impl Fills {
    fn add(&mut self, channels: &[ChannelSample]) {
        for (sum, channel) in self.sums.iter_mut().zip(channels) {
            // A message is counted as taken a little after its slot becomes free. The slot may be
            // filled again before that, so the difference may exceed the capacity.
            let fill = (channel.sent - channel.taken).min(channel.capacity);
            *sum += fill as f64 / channel.capacity as f64;
        }
        self.looks += 1.0;
    }

    /// Returns the average fill level of channel `index`, if there is a sample.
    fn mean(&self, index: usize) -> Option<f64> {
        (self.looks > 0.0).then(|| self.sums[index] / self.looks)
    }
}

/// Builds the graph. The logger runs on the thread of the other stages if `one_core` is set, and
/// otherwise on a second thread. The logger has about as much work as all other stages together, so
/// a third thread would only add wake-ups.
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
    let buffer = (config.mode == Mode::DoubleBuffer).then(Buffer::new);
    let worker = Worker {
        values,
        beats,
        output,
        buffer,
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

fn snapshot(channels: &[ChannelSample], log: &GroupReader<4>, began: Instant) -> Snapshot {
    Snapshot {
        elapsed: began.elapsed(),
        generated: channels[VALUES].sent,
        heartbeats: channels[BEATS].taken,
        counts: counts(log),
    }
}

/// Returns the counts that the logger has published. Tries again if the logger is publishing new
/// counts at the same time. This is rare, because the logger publishes only once per batch.
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
