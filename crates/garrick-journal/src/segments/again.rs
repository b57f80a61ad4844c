//! Reading of the events of a journal, even while another process removes segments.

use std::mem;
use std::sync::Arc;

use super::SegmentLog;
use super::open::{READINGS_MAX, inspect};
use crate::error::JournalError;
use crate::event::Event;
use crate::group::JournalId;

impl SegmentLog {
    /// Calls `each` with each event that is in the journal `journal` and has a number of at least
    /// `from`, oldest first. Does nothing if there are no such events. The events before
    /// [`SegmentLog::oldest`] cannot be read, because a snapshot or an event with the whole state
    /// covers them.
    ///
    /// Needs at most 256 KiB of memory, or the size of one event if that is larger. The log also
    /// caches up to 4 MiB of the most recently read data.
    ///
    /// If the log was opened for reading, and another process has removed a segment since then,
    /// reads the log again, and goes on with the next event. If that event is no longer needed
    /// either, goes on with the oldest event that is.
    ///
    /// # Errors
    /// Returns [`JournalError::Damaged`] if an event differs from what was written, or an I/O
    /// error. In both cases, `each` has been called for all events before the event that could not
    /// be read.
    pub fn read(
        &mut self,
        journal: JournalId,
        from: u64,
        mut each: impl FnMut(Event<'_>),
    ) -> Result<(), JournalError> {
        let mut next = from;
        let mut read = |log: &mut Self| {
            log.read_while(journal, next, |event| {
                next = event.number + 1;
                each(event);
                true
            })
        };
        for _ in 1..READINGS_MAX {
            match read(self) {
                Err(error) if self.is_gone(&error) => self.read_again()?,
                result => return result,
            }
        }
        read(self)
    }

    /// Reads the log in the folder again, as when it was opened for reading. The notices stay.
    fn read_again(&mut self) -> Result<(), JournalError> {
        let (now, _) = inspect(Arc::clone(&self.files), self.options.clone())?;
        *self = Self {
            files: Arc::clone(&self.files),
            counts: Arc::clone(&self.counts),
            notices: mem::take(&mut self.notices),
            ..now
        };
        Ok(())
    }
}
