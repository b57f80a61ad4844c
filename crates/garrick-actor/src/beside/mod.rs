//! What stands beside a turn for actors that were made with more than a mailbox.

pub(crate) mod pipes;
pub(crate) mod shelf;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::failure::path::ActorPath;
use pipes::Pipes;
use shelf::Shelf;

/// What the wrappers around an actor lend to its context. An actor without wrappers has none of it, and pays
/// nothing for it.
pub(crate) struct Beside<'a, M> {
    /// The stash. The context writes, the wrapper reads once the turn's end is known.
    pub(crate) stash: Option<&'a RefCell<Shelf<M>>>,
    /// What this turn wants of the receive timeout. The context writes, the wrapper reads.
    pub(crate) patience: Option<&'a Cell<Option<Patience>>>,
    /// Its path. The context reads it.
    pub(crate) path: Option<&'a ActorPath>,
    /// What it has under way, if it has a limit of its own. The context enters more.
    pub(crate) pipes: Option<&'a Arc<Pipes>>,
}

impl<M> Clone for Beside<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Beside<'_, M> {}

impl<M> Beside<'_, M> {
    /// Nothing.
    pub(crate) const NONE: Self = Self {
        stash: None,
        patience: None,
        path: None,
        pipes: None,
    };
}

/// How long an actor waits for a message before it is told that none has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// For so many nanoseconds, from this turn on.
    For(u64),
    /// For ever.
    Endless,
}
