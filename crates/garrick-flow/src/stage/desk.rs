//! What a step writes down for others to read.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use garrick_core::count::{Counter, CounterReader};

use crate::post::StageId;

/// What is known of a stage's restarts.
#[derive(Debug, Clone)]
pub(crate) struct RestartsReader {
    /// How many there were.
    count: CounterReader,
    /// What the last panic said that led to one.
    last_panic: Arc<Mutex<Option<String>>>,
}

impl RestartsReader {
    /// How many restarts there were.
    pub(crate) fn count(&self) -> u64 {
        self.count.get()
    }

    /// What the last panic said that led to one.
    pub(crate) fn last_panic(&self) -> Option<String> {
        let last = self.last_panic.lock();
        last.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where the steps of one stage leave what they have to say beside their waits.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    /// The stage's number.
    pub(crate) id: StageId,
    /// What the step under way says to the end of the graph.
    pub(crate) ballot: Paper,
    /// Panics in the stage that it was started again after. Written by the steps, read by whoever wants to know.
    restarts: Counter,
    /// What the last of them said.
    last_panic: Arc<Mutex<Option<String>>>,
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

    /// A reader for the restarts.
    pub(crate) fn restarts(&self) -> RestartsReader {
        RestartsReader {
            count: self.restarts.reader(),
            last_panic: Arc::clone(&self.last_panic),
        }
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
        let mut last = self
            .last_panic
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last = Some(words);
        self.restarts.add(1);
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
