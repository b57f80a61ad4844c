//! A run of one contender: its parameters, the state that its clients share, and its outcome.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use garrick_measure::{Clock, Stopwatch};
use serde_json::{Value, json};

/// Size of the payload of an event, in bytes.
pub(super) const PAYLOAD: usize = 128;

/// An error that can move between threads.
pub(super) type Fault = Box<dyn Error + Send + Sync>;

/// The parameters of a run.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Number of entities. Each entity has one command in progress.
    pub(super) entities: usize,
    /// Duration of the warm-up, during which the clients already send commands.
    pub(super) warm_up: Duration,
    /// Duration of the measurement.
    pub(super) lasts: Duration,
    /// Folder for the files of the run. The folder is empty at first.
    pub(super) folder: PathBuf,
}

/// State that the clients of a run share.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Number of commands that have been answered.
    acknowledged: AtomicU64,
    is_over: AtomicBool,
}

/// The measured part of a run: its start and end, its commands, and its CPU time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    /// Number of commands that were acknowledged within the measurement.
    commands: u64,
    /// Time at which the measurement began, in seconds since 1970.
    began: f64,
    /// Time at which the measurement ended, in seconds since 1970.
    ended: f64,
    /// CPU time of the process within the measurement, in seconds.
    cpu_seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    window: Window,
    /// Number of commands that were acknowledged in the whole run.
    pub(super) acknowledged: u64,
    /// Number of events that were read after the run, when the files were opened again.
    pub(super) stored: u64,
}

impl Run {
    /// Counts an answer. Returns true if the client must send its next command.
    pub(super) fn answered(&self) -> bool {
        // Relaxed: the clients are awaited before the sum is read.
        self.acknowledged.fetch_add(1, Relaxed);
        !self.is_over.load(Relaxed)
    }

    /// Measures the clients, which are already sending commands. After that, tells them to end.
    pub(super) fn measure(&self, plan: &Plan) -> Window {
        thread::sleep(plan.warm_up);
        let before = self.acknowledged.load(Relaxed);
        let (watch, began) = (Stopwatch::start(Clock::Process), unix_seconds());
        thread::sleep(plan.lasts);
        let commands = self.acknowledged.load(Relaxed) - before;
        let span = watch.stop();
        self.is_over.store(true, Relaxed);
        Window {
            commands,
            began,
            ended: began + span.wall.as_secs_f64(),
            cpu_seconds: span.cpu.as_secs_f64(),
        }
    }

    /// Returns the outcome of the run. All clients must have ended.
    pub(super) fn outcome(&self, window: Window, stored: u64) -> Outcome {
        Outcome {
            window,
            acknowledged: self.acknowledged.load(Relaxed),
            stored,
        }
    }
}

impl Outcome {
    /// Returns how many commands per second were acknowledged during the measurement.
    pub(super) fn commands_per_second(&self) -> f64 {
        self.window.commands as f64 / (self.window.ended - self.window.began)
    }

    /// Returns the mean CPU time per command, in microseconds.
    pub(super) fn cpu_us(&self) -> f64 {
        self.window.cpu_seconds * 1e6 / self.commands()
    }

    /// Returns the number of commands that were acknowledged within the measurement.
    pub(super) fn commands(&self) -> f64 {
        self.window.commands as f64
    }

    /// Returns true if the given time, in seconds since 1970, is within the measurement.
    pub(super) fn contains(&self, unix_seconds: f64) -> bool {
        (self.window.began..self.window.ended).contains(&unix_seconds)
    }

    /// Parses the line that a process has printed. Returns `None` if the line is not an outcome, or
    /// if no command was acknowledged within the measurement.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let json: Value = serde_json::from_str(line).ok()?;
        let (count, time) = (|key| json[key].as_u64(), |key| json[key].as_f64());
        let window = Window {
            commands: count("commands").filter(|commands| *commands > 0)?,
            began: time("began")?,
            ended: time("ended")?,
            cpu_seconds: time("cpu_seconds")?,
        };
        (window.ended > window.began).then_some(())?;
        Some(Self {
            window,
            acknowledged: count("acknowledged")?,
            stored: count("stored")?,
        })
    }
}

/// Prints the outcome as a line of JSON, which [`Outcome::parse`] can read.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = json!({
            "commands": self.window.commands,
            "began": self.window.began,
            "ended": self.window.ended,
            "cpu_seconds": self.window.cpu_seconds,
            "acknowledged": self.acknowledged,
            "stored": self.stored,
        });
        write!(f, "{json}")
    }
}

fn unix_seconds() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns an outcome of 200 commands in half a second. The measurement begins 1,000 seconds
    /// after the start of the year 1970.
    pub(in crate::journal) fn sample() -> Outcome {
        let line = r#"{"commands":200,"began":1000.0,"ended":1000.5,"cpu_seconds":0.01,
                       "acknowledged":250,"stored":250}"#;
        Outcome::parse(line).expect("it is one")
    }

    #[test]
    fn an_outcome_is_read_as_it_was_written() {
        let outcome = sample();
        assert_eq!(Outcome::parse(&outcome.to_string()), Some(outcome));
        assert_eq!(outcome.commands_per_second(), 400.0);
        assert_eq!(outcome.cpu_us(), 50.0);
        assert!(outcome.contains(1000.2) && !outcome.contains(1000.6));
    }

    #[test]
    fn what_is_no_outcome_is_none() {
        let good = sample().to_string();
        for bad in [
            "",
            "{}",
            "a warning",
            &good.replace("200", "0"),
            &good.replace("1000.5", "999.0"),
            &good.replace("stored", "kept"),
        ] {
            assert_eq!(Outcome::parse(bad), None, "{bad}");
        }
    }
}
