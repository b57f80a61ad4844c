//! The reports of a supervisor about failures of its children, and the limit on how often they are
//! printed.

use std::mem;
use std::time::Duration;

use garrick_sched::{Nanos, TaskId, nanos};

use super::facts::Facts;
use crate::failure::office::Omitted;
use crate::failure::path::ActorPath;
use crate::failure::{Consequence, Failure};

/// Minimum time between two lines that a supervisor prints, by the clock of its system.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// The reports of a supervisor about failures of its children.
///
/// Each report is added to the log, and is passed to the function of `Builder::on_failure` if
/// reports are not switched off. At most one line is printed in each period of length
/// [`LINE_EVERY`]. When the period is over, one more line states how many reports were not printed.
pub(super) struct Told {
    /// Path of the supervisor.
    path: ActorPath,
    /// True if the reports of this supervisor are switched off. If so, reports are only added to
    /// the log.
    is_quiet: bool,
    /// Earliest time at which the next line may be printed.
    next_line: Nanos,
    /// Reports since the last printed line. None of them was printed.
    omitted: Omitted,
}

impl Told {
    pub(super) fn new(path: ActorPath, is_quiet: bool) -> Self {
        Self {
            path,
            is_quiet,
            next_line: 0,
            omitted: Omitted::default(),
        }
    }

    /// Returns the path of the supervisor.
    pub(super) fn path(&self) -> &ActorPath {
        &self.path
    }

    /// Reports a failure of a child. The report is not printed if another line was printed less
    /// than [`LINE_EVERY`] ago. For the first report that is not printed, returns the duration
    /// after which the caller must call [`Told::write_omitted`].
    pub(super) fn tell(
        &mut self,
        facts: &Facts,
        id: TaskId,
        (message, consequence): (String, Consequence),
        now: Nanos,
    ) -> Option<Duration> {
        let office = facts.office.as_ref()?;
        let failure: Failure = facts.failure(id, message, consequence);
        office.keep(now, &failure);
        if self.is_quiet || !office.reports_restarts() {
            return None;
        }
        office.pass_on(&failure);
        if now >= self.next_line && self.omitted.count() == 0 {
            self.next_line = now.saturating_add(nanos(LINE_EVERY));
            office.write(&failure);
            return None;
        }
        self.omitted.add(office, failure);
        let wait = self.next_line.saturating_sub(now);
        (self.omitted.count() == 1).then(|| Duration::from_nanos(wait))
    }

    /// Prints one line that states how many reports were not printed. Prints nothing if all reports
    /// were printed.
    pub(super) fn write_omitted(&mut self, now: Nanos) {
        self.next_line = now.saturating_add(nanos(LINE_EVERY));
        mem::take(&mut self.omitted).write(&self.path);
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        mem::take(&mut self.omitted).write(&self.path);
    }
}
