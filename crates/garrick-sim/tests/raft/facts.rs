//! The facts that servers note.

use crate::log::{Entry, Log};

/// A fact: a server has become the leader of a term, with this log.
#[derive(Debug)]
pub(crate) struct Led {
    pub(crate) server: usize,
    pub(crate) term: u64,
    pub(crate) log: Log,
}

/// A fact: the log of a server has changed.
#[derive(Debug)]
pub(crate) struct LogIs {
    pub(crate) server: usize,
    /// The term in which the server is the leader, or `None` if it is not.
    pub(crate) leads: Option<u64>,
    pub(crate) log: Log,
}

/// A fact: the leader of a term has committed the entry at an index.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) term: u64,
    pub(crate) index: usize,
    pub(crate) entry: Entry,
}

/// A fact: the state machine of a server has applied the entry at an index.
#[derive(Debug)]
pub(crate) struct Applied {
    #[expect(dead_code, reason = "formatted")]
    pub(crate) server: usize,
    pub(crate) index: usize,
    pub(crate) entry: Entry,
}
