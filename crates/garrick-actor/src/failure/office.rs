//! The office of a system, which receives the reports of all failures. The office keeps the latest
//! reports in the log, and prints each report. If `Builder::on_failure` has set a function, the
//! office passes each report to this function instead of printing it.
//!
//! ```text
//!   a turn panics, or an actor without a supervisor fails ---> office ---> log
//!   a supervisor has decided what happens to its child ------'   |-------> on_failure, or stderr
//!                                                                '-------> tracing
//! ```

use std::fmt;
use std::sync::Arc;

use garrick_sched::Nanos;

use super::log::{Consequence, Failure, FailureRecord, Log};
use super::path::ActorPath;
use crate::quiet;

/// A function to which failures are reported.
pub(crate) type Reporter = Box<dyn Fn(&Failure) + Send + Sync>;

/// The destination of all failure reports of a system.
pub(crate) struct Office {
    /// Name of the system.
    system: String,
    /// Function that `Builder::on_failure` has set. `None` if reports are printed.
    reporter: Option<Reporter>,
    /// True if failures of supervised actors are reported. If false, these failures are only added
    /// to the log.
    reports_restarts: bool,
    log: Log,
}

/// The omitted reports about the children of one supervisor. Instead of these reports, a single
/// line is printed, which contains the number of omitted reports.
#[derive(Default)]
pub(crate) struct Omitted {
    /// Number of omitted reports about restarts.
    restarts: u64,
    /// Number of omitted reports about children that were resumed or not restarted.
    others: u64,
    /// Latest omitted report, and the office that prints the summary. An office is the destination
    /// of all failure reports of a system.
    last: Option<(Arc<Office>, Failure)>,
}

impl Office {
    pub(crate) fn new(system: String, reporter: Option<Reporter>, reports_restarts: bool) -> Self {
        Self {
            system,
            reporter,
            reports_restarts,
            log: Log::default(),
        }
    }

    /// Returns true if failures of supervised actors are reported. If not, these failures are only
    /// added to the log.
    pub(crate) fn reports_restarts(&self) -> bool {
        self.reports_restarts
    }

    /// Returns the failures with sequence numbers greater than `number`, the newest first.
    pub(crate) fn failures_after(&self, number: u64) -> Vec<FailureRecord> {
        self.log.after(number)
    }

    /// Adds a failure to the log, but does not report it.
    pub(crate) fn keep(&self, at: Nanos, failure: &Failure) {
        self.log.add(at, failure);
    }

    /// Adds a failure to the log, and reports it. Catches panics of the function that
    /// `Builder::on_failure` has set, and of `tracing` subscribers.
    pub(crate) fn tell(&self, at: Nanos, failure: &Failure) {
        self.keep(at, failure);
        self.pass_on(failure);
        self.write(failure);
    }

    /// Passes a failure to the function that `Builder::on_failure` has set, if there is one.
    pub(crate) fn pass_on(&self, failure: &Failure) {
        if let Some(reporter) = &self.reporter {
            quiet::call(|| reporter(failure));
        }
    }

    /// Prints a line about a failure to standard error, if `Builder::on_failure` has set no
    /// function. Logs a `tracing` event in both cases.
    pub(crate) fn write(&self, failure: &Failure) {
        #[cfg(feature = "tracing")]
        quiet::call(|| super::events::failed(&self.system, failure));
        self.print(failure);
    }

    /// Prints one line that summarizes the omitted reports about the children of a supervisor, and
    /// logs a `tracing` event. Prints nothing if `Builder::on_failure` has set a function.
    fn write_omitted(&self, supervisor: &ActorPath, omitted: &Omitted, last: &Failure) {
        #[cfg(feature = "tracing")]
        quiet::call(|| super::events::failed_more(&self.system, supervisor, omitted.count(), last));
        self.print(&format_args!(
            "supervisor {supervisor}: {omitted}; the last report: {last}"
        ));
    }

    /// Prints a line to standard error, if `Builder::on_failure` has set no function.
    fn print(&self, text: &impl fmt::Display) {
        if self.reporter.is_none() {
            quiet::call(|| eprintln!("garrick: in system `{}`, {text}", self.system));
        }
    }
}

impl Omitted {
    /// Returns the number of omitted reports.
    pub(crate) fn count(&self) -> u64 {
        self.restarts + self.others
    }

    /// Counts a report that is not printed, and keeps it as the latest one.
    pub(crate) fn add(&mut self, office: &Arc<Office>, failure: Failure) {
        match failure.consequence {
            Consequence::Restarted { .. } => self.restarts += 1,
            _ => self.others += 1,
        }
        self.last = Some((office.clone(), failure));
    }

    /// Prints one line that summarizes the omitted reports, if there are any.
    pub(crate) fn write(self, supervisor: &ActorPath) {
        if let Some((office, last)) = &self.last {
            office.write_omitted(supervisor, &self, last);
        }
    }
}

impl fmt::Display for Omitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self {
            restarts, others, ..
        } = self;
        let s = |count: u64| if count == 1 { "" } else { "s" };
        match (restarts, others) {
            (_, 0) => write!(f, "and {restarts} more restart{}", s(restarts)),
            (0, _) => write!(f, "and {others} more failure{}", s(others)),
            _ => write!(
                f,
                "and {restarts} more restart{} and {others} other failure{}",
                s(restarts),
                s(others)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_reports_are_counted_in_words() {
        let said = |restarts, others| {
            let omitted = Omitted {
                restarts,
                others,
                last: None,
            };
            omitted.to_string()
        };
        assert_eq!(said(37, 0), "and 37 more restarts");
        assert_eq!(said(1, 0), "and 1 more restart");
        assert_eq!(said(0, 2), "and 2 more failures");
        assert_eq!(said(2, 1), "and 2 more restarts and 1 other failure");
    }
}
