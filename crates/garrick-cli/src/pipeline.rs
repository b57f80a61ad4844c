//! Subcommand `garrick pipeline`, which is also the default command of `garrick`.

use std::fmt::Write;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use clap::{Args, ValueEnum, value_parser};
use garrick_bench::pipeline::{self, Config, Error, Mode, Outcome, Snapshot, Totals};
use garrick_measure::commands::{Ended, print};
use garrick_measure::{Clock, Result, Span, Stopwatch, units};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{logging, telemetry};

mod traffic;

/// Maximum interval of the heartbeat: a day.
const RATE_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// Default number of heartbeats. With the default interval, a run with this number takes a minute.
const BEATS: u64 = 30_000;

/// Maximum number of heartbeats. Even with one heartbeat per millisecond, this number is reached
/// only after more than 30 years.
const BEATS_MAX: u64 = 1_000_000_000_000;

/// Maximum capacity of a channel. With this capacity, a channel of numbers takes 128 MiB, and a
/// channel of messages 256 MiB.
const CAPACITY_MAX: usize = 1 << 24;

/// Maximum number of seconds: a year.
const SECONDS_MAX: f64 = 366.0 * 24.0 * 60.0 * 60.0;

/// Exit code of a process that was terminated by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// True if the pipeline must stop. Ctrl-C sets this flag, and the pipeline reads it.
static STOP: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Milliseconds between two beats of the heartbeat.
    #[arg(long, value_name = "MS", default_value_t = 2, value_parser = value_parser!(u64).range(1..=RATE_MS_MAX))]
    rate: u64,

    /// Stop the pipeline after this number of beats. The default is 30000, or unlimited if
    /// --seconds is used.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=BEATS_MAX))]
    beats: Option<u64>,

    /// Method by which the worker handles a batch.
    #[arg(long, value_enum, default_value_t = ModeName::ZeroCopy)]
    mode: ModeName,

    /// Number of slots of each channel, rounded up to a power of two.
    #[arg(long, value_name = "N", default_value_t = 1 << 16, value_parser = capacity)]
    capacity: usize,

    /// Stop the pipeline after this number of seconds, if it has not stopped before.
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,

    #[command(flatten)]
    telemetry: telemetry::Flags,
}

/// A [`Mode`], as the user types it on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModeName {
    /// Read and write messages in place, in the rings of both channels.
    ZeroCopy,
    /// Copy each batch from the first ring into a buffer, and write the converted messages from
    /// there into the next ring.
    DoubleBuffer,
}

/// Default values, used if there are no arguments.
impl Default for Arguments {
    fn default() -> Self {
        Self {
            rate: 2,
            beats: None,
            mode: ModeName::ZeroCopy,
            capacity: 1 << 16,
            seconds: None,
            telemetry: telemetry::Flags::default(),
        }
    }
}

impl Arguments {
    fn config(&self) -> Config<'static> {
        Config {
            rate_ms: self.rate,
            beats: self.beats(),
            mode: match self.mode {
                ModeName::ZeroCopy => Mode::ZeroCopy,
                ModeName::DoubleBuffer => Mode::DoubleBuffer,
            },
            capacity: self.capacity,
            seconds: self.seconds,
            one_core: false,
            stop: &STOP,
        }
    }

    /// Returns the number of beats after which the pipeline stops. If the user has set only a time
    /// limit, returns the maximum number of beats, so that only the time limit ends the run.
    fn beats(&self) -> u64 {
        let default = if self.seconds.is_some() {
            BEATS_MAX
        } else {
            BEATS
        };
        self.beats.unwrap_or(default)
    }

    /// Returns the planned duration of the run.
    fn duration(&self) -> Duration {
        let beats = Duration::from_millis(self.rate.saturating_mul(self.beats()));
        self.seconds
            .map_or(beats, |seconds| beats.min(Duration::from_secs_f64(seconds)))
    }
}

fn capacity(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(capacity @ 1..=CAPACITY_MAX) => Ok(capacity),
        _ => Err(format!("not a number of slots from 1 to {CAPACITY_MAX}")),
    }
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(seconds) if seconds > 0.0 && seconds <= SECONDS_MAX => Ok(seconds),
        _ => Err(format!(
            "not a number of seconds above 0 and up to {SECONDS_MAX}"
        )),
    }
}

/// Runs the pipeline. Shows its progress and then its totals.
pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let tells_events = match logging::start() {
        Ok(tells_events) => tells_events,
        Err(why) => return Ok(Ended::Refused(why)),
    };
    ctrlc::set_handler(interrupt)?;
    let telemetry = match arguments.telemetry.start("garrick pipeline", tells_events) {
        Ok(telemetry) => telemetry,
        Err(error) => return telemetry::explain(error),
    };
    let mut progress = Progress::new(arguments.duration());
    let stopwatch = Stopwatch::start(Clock::Process);
    let watch = |monitor| {
        if let Some(telemetry) = &telemetry {
            telemetry.watch(monitor);
        }
    };
    let outcome = pipeline::run(&arguments.config(), watch, |seen| progress.show(seen));
    let span = stopwatch.stop();
    progress.bar.finish_and_clear();
    let Outcome { totals, traffic } = match outcome {
        Ok(outcome) => outcome,
        Err(error @ Error::Capacity(_)) => return Ok(Ended::Refused(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    print(&traffic::table(&traffic));
    print(&summary(arguments, &totals, span));
    tracing::info!(
        messages = totals.messages,
        seconds = totals.elapsed.as_secs_f64(),
        "the pipeline has ended"
    );
    if totals.agree() {
        Ok(Ended::Well)
    } else {
        Ok(Ended::Wrong(
            "the stages have counted different numbers of messages".to_owned(),
        ))
    }
}

/// Handles Ctrl-C. The first Ctrl-C stops the pipeline after the numbers that were already
/// generated have been handled. The second Ctrl-C terminates the process immediately.
fn interrupt() {
    // Relaxed: no other read depends on it.
    if STOP.swap(true, Relaxed) {
        process::exit(INTERRUPTED);
    }
}

/// Progress of the pipeline. A bar is shown if standard error is a terminal. Lines are always
/// printed at intervals.
struct Progress {
    /// Bar on standard error. Nothing is drawn if standard error is not a terminal.
    bar: ProgressBar,
    /// Time between two progress lines.
    interval: Duration,
    /// Snapshot from which the most recent progress line was printed.
    told: Snapshot,
}

impl Progress {
    /// Number of progress lines that a run of medium length prints.
    const LINES: u32 = 12;
    /// Minimum time between two progress lines.
    const INTERVAL_MIN: Duration = Duration::from_secs(1);
    /// Maximum time between two progress lines.
    const INTERVAL_MAX: Duration = Duration::from_secs(10);

    fn new(duration: Duration) -> Self {
        let style = ProgressStyle::with_template("{wide_bar} {elapsed}/{msg}");
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let bar = ProgressBar::new(millis)
            .with_style(style.expect("the template is valid"))
            .with_message(format!("{} s", units::whole(duration.as_secs())));
        Self {
            bar,
            interval: (duration / Self::LINES).clamp(Self::INTERVAL_MIN, Self::INTERVAL_MAX),
            told: Snapshot::default(),
        }
    }

    fn show(&mut self, now: &Snapshot) {
        self.bar.set_position(now.elapsed.as_millis() as u64);
        let since = now.elapsed.saturating_sub(self.told.elapsed);
        if since < self.interval {
            return;
        }
        let logged = now.counts.total();
        let rate = logged.saturating_sub(self.told.counts.total()) as f64 / since.as_secs_f64();
        let line = format!(
            "{:6.1} s  generated {}  logged {}  beats {}  {}/s",
            now.elapsed.as_secs_f64(),
            units::whole(now.generated),
            units::whole(logged),
            units::whole(now.heartbeats),
            units::rate(rate)
        );
        self.bar.suspend(|| print(&line));
        self.told = *now;
    }
}

/// Returns the totals of each stage, and the duration of the run.
fn summary(arguments: &Arguments, totals: &Totals, span: Span) -> String {
    let counts = &totals.counts;
    let mut text = String::new();
    let mut line = |stage: &str, messages: u64, more: String| {
        let _ = writeln!(text, "{stage:10}{:>20}  {more}", units::whole(messages));
    };
    let [fizz, buzz, fizz_buzz, value] =
        [counts.fizz, counts.buzz, counts.fizz_buzz, counts.value].map(units::whole);
    line("generator", totals.generated, "numbers sent".to_owned());
    line("heartbeat", totals.heartbeats, "beats".to_owned());
    line("worker", totals.values, "numbers taken".to_owned());
    line("", totals.messages, "messages sent".to_owned());
    let names = format!("messages: Fizz {fizz}, Buzz {buzz}, FizzBuzz {fizz_buzz}, others {value}");
    line("logger", counts.total(), names);
    let cpu = span.cpu.as_secs_f64();
    let mode = arguments
        .mode
        .to_possible_value()
        .map_or(String::new(), |mode| mode.get_name().to_owned());
    let _ = write!(
        text,
        "{mode}, {} slots: {} messages/s for {:.2} s; {cpu:.2} CPU seconds, {} a message",
        units::whole(arguments.capacity as u64),
        units::rate(totals.rate()),
        totals.elapsed.as_secs_f64(),
        units::time(1e9 * cpu / (counts.total().max(1)) as f64),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn defaults_are_those_of_the_command_line() {
        let typed = Alone::try_parse_from(["pipeline"]).unwrap().arguments;
        assert_eq!(format!("{typed:?}"), format!("{:?}", Arguments::default()));
        assert_eq!(typed.duration(), Duration::from_secs(60));
    }

    #[test]
    fn flags_arrive() {
        let flags = "pipeline --rate 5 --beats 7 --mode double-buffer --capacity 100 --seconds 0.5";
        let Alone { arguments } = Alone::try_parse_from(flags.split(' ')).unwrap();
        let config = arguments.config();
        assert_eq!((config.rate_ms, config.beats, config.capacity), (5, 7, 100));
        assert_eq!(
            (config.mode, config.seconds),
            (Mode::DoubleBuffer, Some(0.5))
        );
        assert_eq!(arguments.duration(), Duration::from_millis(35));
    }

    #[test]
    fn a_time_is_not_cut_short_by_the_default_number_of_beats() {
        let duration = |flags: &str| {
            let flags = format!("pipeline {flags}");
            let typed = Alone::try_parse_from(flags.split_whitespace());
            typed.unwrap().arguments.duration().as_secs()
        };
        assert_eq!(duration("--seconds 600"), 600);
        assert_eq!(duration("--seconds 600 --rate 1"), 600);
        assert_eq!(duration("--seconds 600 --beats 1000"), 2);
        assert_eq!(duration("--seconds 1 --beats 1000"), 1);
        assert_eq!(duration("--beats 5000"), 10);
    }

    #[test]
    fn capacities_have_limits() {
        assert_eq!(capacity("1"), Ok(1));
        assert_eq!(capacity(&CAPACITY_MAX.to_string()), Ok(CAPACITY_MAX));
        for text in [
            "0",
            "-1",
            "16777217",
            "99999999999999999999",
            "many",
            "",
            "1.5",
        ] {
            assert!(capacity(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_summary_names_every_stage() {
        let text = summary(
            &Arguments::default(),
            &Totals::default(),
            Span {
                cpu: Duration::from_secs(2),
                wall: Duration::from_secs(1),
            },
        );
        for word in [
            "generator",
            "heartbeat",
            "worker",
            "logger",
            "FizzBuzz",
            "zero-copy, 65,536 slots",
        ] {
            assert!(text.contains(word), "{word} is missing: {text}");
        }
    }
}
