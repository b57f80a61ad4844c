//! State that is stored next to an actor that was spawned with options.

pub(crate) mod shelf;
pub(crate) mod table;

pub(crate) mod pipes;

use std::cell::Cell;
use std::sync::Arc;

use crate::failure::path::ActorPath;
use pipes::Pipes;

/// The state that [`With`](crate::extras::with::With) stores next to its actor and passes to the
/// context of each turn. An actor without options has no such state.
pub(crate) struct Beside {
    pub(crate) path: Option<ActorPath>,
    /// State for the other options of the actor: the stash, the receive timeout and the limit for
    /// its futures. `None` if none of these options was set.
    pub(crate) more: Option<Box<More>>,
}

/// State for the options of an actor other than its name: the stash, the receive timeout and the
/// limit for its futures.
pub(crate) struct More {
    /// Maximum number of stashed messages, if it was set.
    pub(crate) stash: Option<usize>,
    /// The current turn's request to change the receive timeout, if there is one. The context of
    /// the turn writes this field, and the wrapper around the actor reads it. `None` for an actor
    /// without a receive timeout.
    pub(crate) patience: Option<Cell<Option<Patience>>>,
    /// Running futures and streams of an actor that was spawned with a limit for its futures.
    /// `None` for any other actor.
    pub(crate) pipes: Option<Arc<Pipes>>,
}

impl Beside {
    /// Returns the maximum number of stashed messages, if it was set.
    pub(crate) fn stash(&self) -> Option<usize> {
        self.more.as_ref()?.stash
    }

    /// Returns the current turn's request to change the receive timeout. `None` for an actor
    /// without a receive timeout.
    pub(crate) fn patience(&self) -> Option<&Cell<Option<Patience>>> {
        self.more.as_ref()?.patience.as_ref()
    }

    /// Returns the running futures and streams of an actor that was spawned with a limit for its
    /// futures. Returns `None` for any other actor.
    pub(crate) fn pipes(&self) -> Option<&Arc<Pipes>> {
        self.more.as_ref()?.pipes.as_ref()
    }
}

impl Drop for More {
    /// Cancels the futures and streams that are still running when the actor is dropped.
    fn drop(&mut self) {
        if let Some(pipes) = &self.pipes {
            pipes.cancel();
        }
    }
}

/// The duration of a receive timeout.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// A duration in nanoseconds, counted from the end of a turn.
    For(u64),
    /// No receive timeout.
    Endless,
}
