//! Notices: errors that have lost no data.

use std::mem;
use std::sync::Arc;

use crate::error::{JournalError, describe};

/// Maximum number of errors that are kept.
const KEPT_MAX: usize = 64;

/// Errors without loss of data, for example errors of snapshots and of compactions. Used by
/// implementations of [`Log`](crate::Log).
#[derive(Debug, Default)]
pub struct Notices {
    /// Kept errors, oldest first.
    kept: Vec<JournalError>,
    /// Number of all errors so far, including errors that were already taken, and errors that were
    /// not kept.
    count: u64,
    /// Text of the newest error.
    newest: Option<Arc<str>>,
}

impl Notices {
    /// Adds an error. Only the first 64 errors that were not taken are kept.
    pub fn add(&mut self, error: JournalError) {
        self.count += 1;
        self.newest = Some(describe(&error).into());
        if self.kept.len() < KEPT_MAX {
            self.kept.push(error);
        }
    }

    /// Removes and returns the errors, oldest first.
    pub fn take(&mut self) -> Vec<JournalError> {
        mem::take(&mut self.kept)
    }

    /// Returns the number of errors so far, including errors that were already taken, and errors
    /// that were not kept.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the text of the newest error, with its causes.
    #[must_use]
    pub fn newest(&self) -> Option<&Arc<str>> {
        self.newest.as_ref()
    }
}
