//! The work that a study requests from a pair of nodes, and the outcome of the work.

use std::error::Error;
use std::fmt;

use serde_json::{Value, json};

/// An error that can move between threads.
pub(super) type Fault = Box<dyn Error + Send + Sync>;

/// Size of a question and of the smallest messages: two numbers, the second of which is the first
/// plus one.
pub(super) const SMALL: usize = 16;

/// Work of a pair of nodes, which is a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Messages of this size in bytes, without answers, as fast as they are accepted.
    Tell { bytes: usize },
    /// Questions of 16 bytes and their answers of 8 bytes. This number of questions is unanswered
    /// at a time.
    Ask { in_flight: usize },
}

/// A request to do some work this many times. The sending node reads it as a line such as
/// `tell 16 1000000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) work: Work,
    pub(super) count: u64,
}

/// The outcome of an order, which the sending node prints as a line of JSON.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    /// Number of messages or questions.
    pub(super) count: u64,
    /// Number of messages that the receiving node has not handled.
    pub(super) lost: u64,
    /// Wall time until the receiving node has confirmed all messages.
    pub(super) seconds: f64,
    /// CPU time of the sending process, in seconds.
    pub(super) near_cpu: f64,
    /// CPU time of the receiving process, in seconds.
    pub(super) far_cpu: f64,
    /// The part of `near_cpu` that the turns of the sending actor took, if it was measured.
    pub(super) turns_cpu: Option<f64>,
    /// Median and 99th percentile of the times from a question to its answer, in microseconds.
    pub(super) latency: Option<[f64; 2]>,
}

impl Order {
    /// Parses a line that was printed by [`Display`](fmt::Display).
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (name, number, count) = (words.next()?, words.next()?, words.next()?);
        let work = match name {
            "tell" => Work::Tell {
                bytes: number.parse().ok().filter(|bytes| *bytes >= SMALL)?,
            },
            "ask" => Work::Ask {
                in_flight: number.parse().ok().filter(|number| *number > 0)?,
            },
            _ => return None,
        };
        let count = count.parse().ok().filter(|count| *count > 0)?;
        words.next().is_none().then_some(Self { work, count })
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.work {
            Work::Tell { bytes } => write!(f, "tell {bytes} {}", self.count),
            Work::Ask { in_flight } => write!(f, "ask {in_flight} {}", self.count),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tell { bytes } => write!(f, "tell of {bytes} B"),
            Self::Ask { in_flight } => write!(f, "ask, {in_flight} in flight"),
        }
    }
}

impl Outcome {
    /// Returns messages or answers per second.
    pub(super) fn rate(&self) -> f64 {
        (self.count - self.lost) as f64 / self.seconds
    }

    /// Returns the CPU time of the sending process for each message, in nanoseconds.
    pub(super) fn near_ns(&self) -> f64 {
        self.near_cpu * 1e9 / self.count as f64
    }

    /// Returns the CPU time of the receiving process for each message, in nanoseconds.
    pub(super) fn far_ns(&self) -> f64 {
        self.far_cpu * 1e9 / self.count as f64
    }

    /// Returns the CPU time of the sending turns for each message, in nanoseconds.
    pub(super) fn turns_ns(&self) -> Option<f64> {
        self.turns_cpu.map(|cpu| cpu * 1e9 / self.count as f64)
    }

    /// Parses the line that a process has printed. Returns `None` if the line is not an outcome.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let json: Value = serde_json::from_str(line).ok()?;
        let (count, time) = (|key| json[key].as_u64(), |key| json[key].as_f64());
        let latency = time("median_us").zip(time("p99_us"));
        let outcome = Self {
            count: count("count").filter(|count| *count > 0)?,
            lost: count("lost")?,
            seconds: time("seconds").filter(|seconds| *seconds > 0.0)?,
            near_cpu: time("near_cpu")?,
            far_cpu: time("far_cpu")?,
            turns_cpu: time("turns_cpu"),
            latency: latency.map(|(median, p99)| [median, p99]),
        };
        (outcome.lost <= outcome.count).then_some(outcome)
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "count": self.count,
            "lost": self.lost,
            "seconds": self.seconds,
            "near_cpu": self.near_cpu,
            "far_cpu": self.far_cpu,
            "turns_cpu": self.turns_cpu,
            "median_us": self.latency.map(|[median, _]| median),
            "p99_us": self.latency.map(|[_, p99]| p99),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns an outcome of 1,000 questions in half a second.
    pub(in crate::far) fn sample() -> Outcome {
        let line = r#"{"count":1000,"lost":0,"seconds":0.5,"near_cpu":0.001,"far_cpu":0.002,
                       "turns_cpu":null,"median_us":50.0,"p99_us":90.0}"#;
        Outcome::parse(line).expect("it is one")
    }

    #[test]
    fn an_order_is_read_as_it_was_written() {
        for work in [Work::Tell { bytes: 256 }, Work::Ask { in_flight: 64 }] {
            let order = Order { work, count: 9 };
            assert_eq!(Order::parse(&order.to_string()), Some(order));
        }
        for bad in [
            "",
            "tell 16",
            "tell 15 1",
            "ask 0 1",
            "ask 1 0",
            "ask 1 1 1",
        ] {
            assert_eq!(Order::parse(bad), None, "{bad}");
        }
        assert_eq!(Order::parse("sell 16 1"), None);
    }

    #[test]
    fn an_outcome_is_read_as_it_was_written() {
        let outcome = sample();
        assert_eq!(Outcome::parse(&outcome.json().to_string()), Some(outcome));
        assert_eq!(outcome.rate(), 2_000.0);
        assert_eq!(outcome.near_ns(), 1_000.0);
        assert_eq!(outcome.far_ns(), 2_000.0);
        assert_eq!(outcome.turns_ns(), None);
        let good = outcome.json().to_string();
        for bad in [
            "",
            "{}",
            "a warning",
            &good.replace("1000", "0"),
            &good.replace("\"lost\":0", "\"lost\":1001"),
            &good.replace("far_cpu", "cpu"),
        ] {
            assert_eq!(Outcome::parse(bad), None, "{bad}");
        }
    }
}
