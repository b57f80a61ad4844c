//! Options of an actor besides its mailbox: a name, a stash, a receive timeout, and a limit for its
//! futures.

pub(crate) mod named;

pub(crate) mod receive_timeout;
pub(crate) mod stash;

pub(crate) mod with;
