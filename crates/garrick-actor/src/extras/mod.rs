//! Options that give an actor more than a mailbox: a name, a stash, a receive timeout, a limit for
//! its futures.

pub(crate) mod named;

pub(crate) mod receive_timeout;
pub(crate) mod stash;

pub(crate) mod with;
