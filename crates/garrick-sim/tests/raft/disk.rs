//! The persistent state of a server, which survives a crash.

use std::sync::{Arc, Mutex, PoisonError};

use crate::log::Log;

/// The state that a server writes before it answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Persistent {
    /// The latest term that the server knows.
    pub(crate) term: u64,
    /// The candidate that the server has voted for in this term.
    pub(crate) voted_for: Option<usize>,
    pub(crate) log: Log,
}

/// The disk of a server. It is outside of the server's node, so that a crash leaves it as it is.
#[derive(Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<Persistent>>);

impl Disk {
    /// Returns the state that was written last.
    pub(crate) fn read(&self) -> Persistent {
        let content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        content.clone()
    }

    pub(crate) fn write(&self, state: Persistent) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
