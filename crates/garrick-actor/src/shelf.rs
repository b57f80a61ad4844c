//! Messages that an actor has put aside, and what the turn under way wants to do with them.
//!
//! ```text
//!    kept:  [ oldest ............................ newest ]
//!             \__ released __/            \__ added __/
//!               leave when the turn         vanish if it
//!               ends well                   does not
//! ```

use std::collections::VecDeque;
use std::{fmt, mem};

/// See the module. It is touched by the turns of one actor only.
pub(crate) struct Shelf<M> {
    kept: VecDeque<M>,
    capacity: usize,
    /// How many of the newest ones the turn under way has put there.
    added: usize,
    /// How many of the oldest ones it has taken back.
    released: usize,
}

impl<M> Shelf<M> {
    /// An empty one; nothing is allocated yet.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            capacity,
            added: 0,
            released: 0,
        }
    }

    /// How many messages there are, without those taken back.
    pub(crate) fn len(&self) -> usize {
        self.kept.len() - self.released
    }

    /// Puts a message aside, or gives it back if there is no room.
    pub(crate) fn add(&mut self, msg: M) -> Result<(), M> {
        if self.len() >= self.capacity {
            return Err(msg);
        }
        self.kept.push_back(msg);
        self.added += 1;
        Ok(())
    }

    /// Takes back up to `count` of the oldest messages, when the turn ends; how many it will be.
    pub(crate) fn release(&mut self, count: usize) -> usize {
        let count = count.min(self.len());
        self.released += count;
        count
    }

    /// The turn has ended well: what it has taken back, oldest first.
    pub(crate) fn commit(&mut self) -> impl Iterator<Item = M> {
        self.added = 0;
        let released = mem::take(&mut self.released);
        self.kept.drain(..released)
    }

    /// The turn has not: the messages are those from before it. Gives what it has put aside, for the caller to drop.
    pub(crate) fn undo(&mut self) -> VecDeque<M> {
        self.released = 0;
        let added = mem::take(&mut self.added);
        self.kept.split_off(self.kept.len() - added)
    }

    /// Takes everything.
    pub(crate) fn take_all(&mut self) -> VecDeque<M> {
        drop(self.undo());
        mem::take(&mut self.kept)
    }
}

impl<M> fmt::Debug for Shelf<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("kept", &self.kept.len())
            .field("capacity", &self.capacity)
            .field("added", &self.added)
            .field("released", &self.released)
            .finish()
    }
}
