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

use crate::quiet::{self, Several};

/// See the module. It is touched by the turns of one actor only.
pub(crate) struct Shelf<M> {
    kept: Several<VecDeque<M>>,
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
            kept: Several::default(),
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

    /// The turn has not: the messages are those from before it.
    pub(crate) fn undo(&mut self) {
        self.released = 0;
        let added = mem::take(&mut self.added);
        let before = self.kept.len() - added;
        quiet::drop_each(self.kept.split_off(before));
    }

    /// Takes everything.
    pub(crate) fn take_all(&mut self) -> VecDeque<M> {
        self.undo();
        mem::take(&mut *self.kept)
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

    /// What a turn may do, and how it may end.
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

    /// A shelf as two plain lists.
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
            // The model at the beginning of the turn.
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
                        let released: Vec<_> = shelf.commit().collect();
                        prop_assert_eq!(released, mem::take(&mut model.released));
                        before = model.clone();
                    }
                    Step::Undo => {
                        shelf.undo();
                        model = before.clone();
                    }
                }
                prop_assert_eq!(shelf.len(), model.kept.len());
            }
            prop_assert_eq!(Vec::from(shelf.take_all()), before.kept);
        }
    }
}
