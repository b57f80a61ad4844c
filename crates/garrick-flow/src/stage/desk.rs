//! What a step writes down for others to read.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use crate::post::StageId;

/// What the last panic said that a stage was started again after.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastPanic(Arc<Mutex<Option<String>>>);

impl LastPanic {
    /// What it said, if there was one.
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

/// Where the steps of one stage leave what they have to say beside their waits.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    /// The stage's number.
    pub(crate) id: StageId,
    /// What the step under way says to the end of the graph.
    pub(crate) ballot: Paper,
    /// Whether the stage was started again in the step under way, and that was not counted yet.
    is_new: bool,
    /// What led to that. Written by the steps, read by whoever wants to know.
    last_panic: LastPanic,
    /// What a test wants the next step to panic with.
    fault: Option<String>,
}

/// What a step says to the end of the graph.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) enum Paper {
    /// It was not asked: its vote does not count.
    #[default]
    NotAsked,
    /// It agrees, unless it says something else.
    Agrees,
    /// It is against it.
    Against(String),
    /// The stage is not up, so it says nothing.
    Abstains,
}

impl Desk {
    /// The desk of stage number `id`.
    pub(crate) fn new(id: StageId) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    /// What led to the last restart, for others to read.
    pub(crate) fn last_panic(&self) -> LastPanic {
        self.last_panic.clone()
    }

    /// Whether the stage was started again since this was asked last.
    #[inline]
    pub(crate) fn take_restarted(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// Votes against the end, if that is asked for.
    pub(crate) fn veto(&mut self, reason: impl Display) {
        if self.ballot != Paper::NotAsked {
            self.ballot = Paper::Against(reason.to_string());
        }
    }

    /// The stage is not up: what it says does not count.
    pub(crate) fn abstain(&mut self) {
        if self.ballot != Paper::NotAsked {
            self.ballot = Paper::Abstains;
        }
    }

    /// Takes note that the stage is started again after a panic that said `words`.
    pub(crate) fn restarted(&mut self, words: String) {
        self.last_panic.set(words);
        self.is_new = true;
    }

    /// Has the next step panic, or no longer.
    pub(crate) fn set_fault(&mut self, words: Option<String>) {
        self.fault = words;
    }

    /// Panics if that is what a test wants.
    pub(crate) fn fail_on_demand(&mut self) {
        if let Some(words) = self.fault.take() {
            std::panic::panic_any(words);
        }
    }
}
