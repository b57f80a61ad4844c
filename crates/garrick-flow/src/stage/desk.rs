//! Records of a stage's steps: its vote and its restarts.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use crate::post::StageId;

/// Message of the last panic after which a stage was restarted.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastPanic(Arc<Mutex<Option<String>>>);

impl LastPanic {
    /// Returns the message, if there was a panic.
    pub(crate) fn get(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, words: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
    }
}

/// Results of one stage's steps, besides their waits.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    /// Number of the stage.
    pub(crate) id: StageId,
    /// Vote of the step under way on the end of the graph.
    pub(crate) ballot: Paper,
    /// True if the stage was restarted in the step under way, and the restart is not counted yet.
    is_new: bool,
    /// Message of the panic before the last restart. Written by the steps, read by monitors.
    last_panic: LastPanic,
    /// Message with which the next step is to panic, set by a test.
    fault: Option<String>,
}

/// Vote of a step on the end of the graph.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) enum Paper {
    /// The stage was not asked: its vote does not count.
    #[default]
    NotAsked,
    /// The stage agrees, as it has not said otherwise.
    Agrees,
    /// The stage objects, for this reason.
    Against(String),
    /// The stage is not up, so it does not vote.
    Abstains,
}

impl Desk {
    /// Creates the desk of stage number `id`.
    pub(crate) fn new(id: StageId) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    /// Returns the record of the last restart, for reading elsewhere.
    pub(crate) fn last_panic(&self) -> LastPanic {
        self.last_panic.clone()
    }

    /// Returns true if the stage was restarted since the last call.
    #[inline]
    pub(crate) fn take_restarted(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// Votes against the end, if the end was requested.
    pub(crate) fn veto(&mut self, reason: impl Display) {
        if self.ballot != Paper::NotAsked {
            self.ballot = Paper::Against(reason.to_string());
        }
    }

    /// Withdraws the vote of a stage that is not up.
    pub(crate) fn abstain(&mut self) {
        if self.ballot != Paper::NotAsked {
            self.ballot = Paper::Abstains;
        }
    }

    /// Records that the stage is restarted after a panic with the message `words`.
    pub(crate) fn restarted(&mut self, words: String) {
        self.last_panic.set(words);
        self.is_new = true;
    }

    /// Makes the next step panic with `words`, or cancels that.
    pub(crate) fn set_fault(&mut self, words: Option<String>) {
        self.fault = words;
    }

    /// Panics if a test has requested it.
    pub(crate) fn fail_on_demand(&mut self) {
        if let Some(words) = self.fault.take() {
            std::panic::panic_any(words);
        }
    }
}
