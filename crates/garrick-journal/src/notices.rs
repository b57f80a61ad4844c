//! Errors that have lost nothing, for people.

use std::mem;
use std::sync::Arc;

use crate::error::{JournalError, describe};

/// Number of errors that are kept.
const KEPT_MAX: usize = 64;

/// Errors of snapshots and of compactions, which have lost nothing.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// Oldest first.
    kept: Vec<JournalError>,
    /// Number so far, including those that were not kept or were taken.
    count: u64,
    /// Text of the newest error.
    newest: Option<Arc<str>>,
}

impl Notices {
    pub(crate) fn add(&mut self, error: JournalError) {
        self.count += 1;
        self.newest = Some(describe(&error).into());
        if self.kept.len() < KEPT_MAX {
            self.kept.push(error);
        }
    }

    pub(crate) fn take(&mut self) -> Vec<JournalError> {
        mem::take(&mut self.kept)
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn newest(&self) -> Option<&Arc<str>> {
        self.newest.as_ref()
    }
}
