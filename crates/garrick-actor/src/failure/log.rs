//! The reports of failures, and the log that keeps the latest reports.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use garrick_core::text;
use garrick_sched::Nanos;

use super::path::ActorPath;

/// Maximum number of failures in the log of a system. Older failures are forgotten.
const FAILURES_MAX: usize = 256;

/// Maximum size of a reason in the log, in bytes. A longer reason is cut off.
const REASON_BYTES_MAX: usize = 1024;

/// The report of a failure. There are three kinds of failures:
///
/// - A turn panics or fails with an error.
/// - A destructor or a [door](crate::door) panics.
/// - A supervised actor stops by itself and is restarted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// Name of the actor's type. If code outside of actors has failed, such as a
    /// [door](crate::door), the name of this code.
    pub task: &'static str,
    /// Path of the actor, if the actor has a name or a supervisor.
    pub path: Option<ActorPath>,
    /// Reason: the message of the panic, or the text of the error with its causes.
    pub message: String,
    /// Effect of the failure on the actor.
    pub consequence: Consequence,
}

/// The effect of a failure on the actor that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Consequence {
    /// The actor is dropped. It has no supervisor, or was about to stop anyway.
    Stopped,
    /// The code that failed continues to be used. It belongs to an actor that survives panics, such
    /// as a router, or it belongs to no actor, such as a [door](crate::door).
    Continued,
    /// The supervisor lets the failed actor continue.
    Resumed,
    /// The supervisor replaces the failed actor by a new one.
    Restarted {
        /// Number of times that this child of the supervisor has been restarted, including this
        /// restart.
        restarts: u64,
    },
    /// The supervisor does not restart the failed actor. Either the supervisor removes the actor,
    /// or the supervisor stops all of its children and then fails itself.
    GivenUp,
}

impl Failure {
    /// Returns the beginning of a sentence about the actor, as in `the actor /user/bank#1 (Bank)`.
    pub(crate) fn subject(&self) -> String {
        match &self.path {
            Some(path) => format!("the actor {path} ({})", self.task),
            None => format!("the actor {}", self.task),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (subject, message) = (self.subject(), &self.message);
        match self.consequence {
            Consequence::Stopped | Consequence::Continued => {
                write!(f, "{subject} failed: {message}")
            }
            Consequence::Resumed => write!(f, "{subject} failed and continues: {message}"),
            Consequence::Restarted { restarts } => {
                write!(f, "{subject} is restarted (restart {restarts}): {message}")
            }
            Consequence::GivenUp => write!(f, "{subject} is not restarted: {message}"),
        }
    }
}

/// A failure in the log of a system, as returned by
/// [`Handle::recent_failures`](crate::Handle::recent_failures).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailureRecord {
    /// Sequence number of the failure. The first failure of a system has the number 1.
    pub number: u64,
    /// Time of the report in nanoseconds, by the clock of the system's
    /// [`World`](crate::system::World).
    pub at: Nanos,
    /// Report of the failure. If the message of the report is longer than 1,024 bytes, the end of
    /// the message is cut off.
    pub failure: Failure,
}

/// The latest failures of a system.
#[derive(Default)]
pub(crate) struct Log {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Number of failures that have been added so far.
    numbered: u64,
    /// The latest failures, the newest last.
    records: VecDeque<FailureRecord>,
}

impl Log {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        // No code that holds the lock can panic halfway.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a failure. If the log is full, forgets the oldest failure.
    pub(crate) fn add(&self, at: Nanos, failure: &Failure) {
        // A whole message may need megabytes, also after it was shortened in place.
        let failure = Failure {
            path: failure.path.clone(),
            message: beginning(&failure.message, REASON_BYTES_MAX),
            ..*failure
        };
        let mut kept = self.kept();
        kept.numbered += 1;
        let number = kept.numbered;
        let forgotten = (kept.records.len() == FAILURES_MAX).then(|| kept.records.pop_front());
        kept.records.push_back(FailureRecord {
            number,
            at,
            failure,
        });
        drop(kept);
        drop(forgotten);
    }

    /// Returns the failures with sequence numbers greater than `number`, the newest first.
    pub(crate) fn after(&self, number: u64) -> Vec<FailureRecord> {
        let kept = self.kept();
        let newest_first = kept.records.iter().rev();
        let new = newest_first.take_while(|record| record.number > number);
        new.cloned().collect()
    }
}

/// Returns a copy of at most `bytes_max` bytes of a text. The copy of a longer text ends with an
/// ellipsis.
pub(crate) fn beginning(text: &str, bytes_max: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    [text::beginning(text, bytes_max - MARK.len()), MARK].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(message: &str) -> Failure {
        Failure {
            task: "Teller",
            path: None,
            message: message.to_owned(),
            consequence: Consequence::Stopped,
        }
    }

    #[test]
    fn the_log_keeps_the_newest_failures_and_numbers_them() {
        let log = Log::default();
        for at in 1..=1000 {
            log.add(at, &failure(&at.to_string()));
        }
        let all = log.after(0);
        assert_eq!(all.len(), FAILURES_MAX);
        let newest = &all[0];
        let found = (newest.number, newest.at, &*newest.failure.message);
        assert_eq!(found, (1000, 1000, "1000"));
        let new: Vec<u64> = log.after(997).iter().map(|record| record.number).collect();
        assert_eq!(new, [1000, 999, 998]);
        assert!(log.after(1000).is_empty());
    }

    #[test]
    fn a_long_reason_is_cut_between_two_characters() {
        let log = Log::default();
        log.add(0, &failure(&"ä".repeat(1000)));
        let message = &log.after(0)[0].failure.message;
        assert!(message.len() <= REASON_BYTES_MAX && message.ends_with("ä…"));
        assert!(message.capacity() <= REASON_BYTES_MAX);
        assert_eq!(beginning("short", 5), "short");
    }

    #[test]
    fn a_report_is_a_sentence() {
        let mut failure = failure("no money");
        assert_eq!(failure.to_string(), "the actor Teller failed: no money");
        failure.consequence = Consequence::Restarted { restarts: 3 };
        let text = "the actor Teller is restarted (restart 3): no money";
        assert_eq!(failure.to_string(), text);
        failure.consequence = Consequence::GivenUp;
        let text = "the actor Teller is not restarted: no money";
        assert_eq!(failure.to_string(), text);
    }
}
