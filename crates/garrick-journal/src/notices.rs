//! Notices: errors that have lost no data.

use std::mem;
use std::sync::Arc;

use crate::error::{JournalError, describe};

/// Number of errors that are kept.
const KEPT_MAX: usize = 64;

/// Errors of snapshots and of compactions, which have lost no data.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// The kept errors, oldest first.
    kept: Vec<JournalError>,
    /// Number of all errors so far, including those that were taken or not kept.
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
