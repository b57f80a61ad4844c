//! Records a stage's votes on stopping the graph, its restarts, and its panics.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use crate::post::StageId;

/// The message of a panic that a simulation has caused.
#[cfg(feature = "sim")]
pub(crate) const CHOSEN_PANIC: &str = "the simulation has chosen that this step panics";

/// Message of the panic that led to the most recent restart of a stage.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastPanic(Arc<Mutex<Option<String>>>);

impl LastPanic {
    /// Returns the message of the panic before the most recent restart of the stage. Returns `None`
    /// if the stage was never restarted.
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

/// Results of the steps of one stage: its vote, its restarts and its panics. The conditions that
/// the steps return are not included.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) id: StageId,
    /// Vote of the current step on stopping the graph.
    pub(crate) ballot: Paper,
    /// True if the stage was restarted in the current step, and the restart is not counted yet.
    is_new: bool,
    /// Message of the panic before the most recent restart. Written by the steps, read by monitors.
    last_panic: LastPanic,
    /// Message of the panic that a test or a simulation has requested for the next step.
    fault: Option<String>,
}

/// Vote of a step on stopping the graph.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) enum Paper {
    /// The stage was not asked, so its vote does not count.
    #[default]
    NotAsked,
    /// The stage agrees, because it has not vetoed.
    Agrees,
    /// The stage vetoes, for the contained reason.
    Against(String),
    /// The stage does not vote, because it is waiting for its restart.
    Abstains,
}

impl Desk {
    /// Creates the record of the votes, restarts and panics of stage `id`.
    pub(crate) fn new(id: StageId) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    /// Returns a handle that reads the message of the panic before the most recent restart.
    pub(crate) fn last_panic(&self) -> LastPanic {
        self.last_panic.clone()
    }

    /// Returns true if the stage was restarted since the previous call to this method.
    #[inline]
    pub(crate) fn take_restarted(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// Votes against stopping, if a stop was requested.
    pub(crate) fn veto(&mut self, reason: impl Display) {
        if self.ballot != Paper::NotAsked {
            self.ballot = Paper::Against(reason.to_string());
        }
    }

    /// Withdraws the vote of a stage that is waiting for its restart.
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

    /// Makes the next step panic with the message `words`. `None` cancels an earlier request.
    pub(crate) fn set_fault(&mut self, words: Option<String>) {
        self.fault = words;
    }

    /// Makes the next step panic, because a simulation has chosen this fault.
    #[cfg(feature = "sim")]
    pub(crate) fn choose_fault(&mut self) {
        self.set_fault(Some(CHOSEN_PANIC.to_owned()));
    }

    /// Panics if a test or a simulation has requested a panic for this step.
    pub(crate) fn fail_on_demand(&mut self) {
        if let Some(words) = self.fault.take() {
            std::panic::panic_any(words);
        }
    }
}
