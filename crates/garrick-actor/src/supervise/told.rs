//! The reports of a supervisor about its children, and the limit on the rate of printed lines.

use std::mem;
use std::time::Duration;

use garrick_sched::{Nanos, TaskId, nanos};

use super::facts::Facts;
use crate::failure::office::Omitted;
use crate::failure::path::ActorPath;
use crate::failure::{Consequence, Failure};

/// Minimum time between two lines of one supervisor, by the clock of its system.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// The reports of a supervisor about its children.
///
/// Each report is added to the log, and is passed to the user's function unless reports are
/// switched off. A line is written at most once per [`LINE_EVERY`]. When this time is over, a
/// single line contains the number of the reports that have no lines.
pub(super) struct Told {
    /// Path of the supervisor.
    path: ActorPath,
    /// True if the reports of this supervisor are switched off. They are then only added to the
    /// log.
    is_quiet: bool,
    /// Time from which the next line may be written.
    next_line: Nanos,
    /// Reports since the last line, which have no separate lines.
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

    /// Reports a failure of a child. If this report is the first one without a line, returns the
    /// time after which the caller must call [`Told::write_omitted`].
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

    /// Writes a line about the reports that have no separate lines, if there are any.
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
