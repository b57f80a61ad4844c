//! State beside a turn, for actors with wrappers.

pub(crate) mod pipes;
pub(crate) mod shelf;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::failure::path::ActorPath;
use pipes::Pipes;
use shelf::Shelf;

/// The state that the wrappers around an actor lend to its context. An actor without wrappers has
/// none, and pays nothing for it.
pub(crate) struct Beside<'a, M> {
    /// Stash. The context writes, the wrapper reads once the turn's end is known.
    pub(crate) stash: Option<&'a RefCell<Shelf<M>>>,
    /// Change of the receive timeout by this turn. The context writes, the wrapper reads.
    pub(crate) patience: Option<&'a Cell<Option<Patience>>>,
    /// Path of the actor. The context reads it.
    pub(crate) path: Option<&'a ActorPath>,
    /// Futures under way, if the actor has its own limit. The context enters more.
    pub(crate) pipes: Option<&'a Arc<Pipes>>,
}

impl<M> Clone for Beside<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Beside<'_, M> {}

impl<M> Beside<'_, M> {
    /// No state.
    pub(crate) const NONE: Self = Self {
        stash: None,
        patience: None,
        path: None,
        pipes: None,
    };
}

/// The time that an actor waits for a message before it gets the timeout's message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// A number of nanoseconds, from this turn on.
    For(u64),
    /// No limit.
    Endless,
}
