//! State beside an actor, for those that were spawned with options.

pub(crate) mod pipes;
pub(crate) mod shelf;

use std::cell::Cell;
use std::sync::Arc;

use crate::failure::path::ActorPath;
use pipes::Pipes;

/// The state that [`With`](crate::extras::with::With) lends to the turns of its actor. An actor
/// without options has none, and pays nothing for it.
pub(crate) struct Beside {
    /// Path of the actor.
    pub(crate) path: Option<ActorPath>,
    /// The state for options other than a name.
    pub(crate) more: Option<Box<More>>,
}

/// The state for options other than a name.
pub(crate) struct More {
    /// Maximum number of stashed messages, if it was set.
    pub(crate) stash: Option<usize>,
    /// Change of the receive timeout by this turn. The context writes, the wrapper reads. `None`
    /// for an actor without a receive timeout.
    pub(crate) patience: Option<Cell<Option<Patience>>>,
    /// Futures under way, if the actor has its own limit. The context enters more.
    pub(crate) pipes: Option<Arc<Pipes>>,
}

impl Beside {
    /// Returns the maximum number of stashed messages, if it was set.
    pub(crate) fn stash(&self) -> Option<usize> {
        self.more.as_ref()?.stash
    }

    /// Returns the change of the receive timeout by this turn, if the actor has a receive timeout.
    pub(crate) fn patience(&self) -> Option<&Cell<Option<Patience>>> {
        self.more.as_ref()?.patience.as_ref()
    }

    /// Returns the actor's own futures under way, if it has its own limit.
    pub(crate) fn pipes(&self) -> Option<&Arc<Pipes>> {
        self.more.as_ref()?.pipes.as_ref()
    }
}

impl Drop for More {
    /// Ends the futures that the actor leaves behind.
    fn drop(&mut self) {
        if let Some(pipes) = &self.pipes {
            pipes.cancel();
        }
    }
}

/// The time that an actor waits for a message before it gets the timeout's message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// A number of nanoseconds, from this turn on.
    For(u64),
    /// No limit.
    Endless,
}
