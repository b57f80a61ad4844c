//! The stashed messages of an actor, and the changes that the current turn makes to them.
//!
//! ```text
//!    kept:  [ oldest ............................ newest ]
//!             \__ released __/            \__ added __/
//!               removed if the             removed if the
//!               turn commits               turn is undone
//! ```

use std::collections::VecDeque;
use std::{fmt, mem};

use crate::quiet::Several;

/// The stash of an actor. Only turns of this actor access it.
pub(crate) struct Shelf<M> {
    kept: Several<VecDeque<M>>,
    capacity: usize,
    /// Number of messages that the current turn has stashed. These are the newest messages of the
    /// stash.
    added: usize,
    /// Number of messages that the current turn has unstashed. These are the oldest messages of the
    /// stash.
    released: usize,
}

impl<M> Shelf<M> {
    /// Creates an empty stash without allocating memory.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            kept: Several::default(),
            capacity,
            added: 0,
            released: 0,
        }
    }

    /// Returns the number of stashed messages, not including those that the current turn has
    /// unstashed.
    pub(crate) fn len(&self) -> usize {
        self.kept.len() - self.released
    }

    /// Stashes a message, or returns it if there is no room.
    pub(crate) fn add(&mut self, msg: M) -> Result<(), M> {
        if self.len() >= self.capacity {
            return Err(msg);
        }
        self.kept.push_back(msg);
        self.added += 1;
        Ok(())
    }

    /// Marks the oldest messages, at most `count` of them, to be unstashed if the turn commits.
    /// Returns the number of messages that were marked.
    pub(crate) fn release(&mut self, count: usize) -> usize {
        let count = count.min(self.len());
        self.released += count;
        count
    }

    /// Commits the changes of the turn. Returns the messages that the turn has unstashed, oldest
    /// first.
    #[must_use = "the messages must be sent to the actor"]
    pub(crate) fn commit(&mut self) -> Several<VecDeque<M>> {
        self.added = 0;
        let released = mem::take(&mut self.released);
        if released == self.kept.len() {
            return mem::take(&mut self.kept);
        }
        // The messages that stay are not moved, because there can be many of them.
        self.kept.drain(..released).collect::<VecDeque<_>>().into()
    }

    /// Undoes the changes of the turn. Returns the messages that the turn has stashed.
    #[must_use = "the destructors of the messages are foreign code, so no lock may be held"]
    pub(crate) fn undo(&mut self) -> Several<VecDeque<M>> {
        self.released = 0;
        let added = mem::take(&mut self.added);
        let before = self.kept.len() - added;
        self.kept.split_off(before).into()
    }

    /// Takes all messages, including those that the current turn has stashed.
    pub(crate) fn take_all(&mut self) -> Several<VecDeque<M>> {
        (self.added, self.released) = (0, 0);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One step of a random test: an operation on a stash (a shelf) during a turn, or the end of
    /// the turn.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Add,
        Release(usize),
        Commit,
        Undo,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => Just(Step::Add),
            2 => (0..6_usize).prop_map(Step::Release),
            1 => Just(Step::Commit),
            1 => Just(Step::Undo),
        ];
        prop::collection::vec(step, 0..60)
    }

    /// A simple model of a stash (a shelf). The model consists of two lists. The test compares the
    /// real stash with this model.
    #[derive(Clone, Default)]
    struct Model {
        kept: Vec<u32>,
        released: Vec<u32>,
    }

    impl Model {
        fn release(&mut self, count: usize) -> usize {
            let count = count.min(self.kept.len());
            self.released.extend(self.kept.drain(..count));
            count
        }
    }

    proptest! {
        #[test]
        fn a_shelf_does_what_plain_lists_do(steps in steps(), capacity in 0..8_usize) {
            let (mut shelf, mut model) = (Shelf::new(capacity), Model::default());
            // State of the model at the beginning of the turn.
            let mut before = model.clone();
            for (n, step) in (0..).zip(steps) {
                match step {
                    Step::Add => {
                        let added = shelf.add(n);
                        prop_assert_eq!(added.is_ok(), model.kept.len() < capacity);
                        model.kept.extend(added.is_ok().then_some(n));
                    }
                    Step::Release(count) => {
                        prop_assert_eq!(shelf.release(count), model.release(count));
                    }
                    Step::Commit => {
                        let released = Vec::from(mem::take(&mut *shelf.commit()));
                        prop_assert_eq!(released, mem::take(&mut model.released));
                        before = model.clone();
                    }
                    Step::Undo => {
                        drop(shelf.undo());
                        model = before.clone();
                    }
                }
                prop_assert_eq!(shelf.len(), model.kept.len());
            }
            drop(shelf.undo());
            prop_assert_eq!(Vec::from(mem::take(&mut *shelf.take_all())), before.kept);
        }
    }
}
