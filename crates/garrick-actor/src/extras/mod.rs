//! Wrappers that give an actor more than a mailbox: a name, a stash, a limit for its futures.

pub(crate) mod named;
pub(crate) mod pipe_limit;
pub(crate) mod stash;
