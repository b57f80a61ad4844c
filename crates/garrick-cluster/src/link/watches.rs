//! Watches that this node has requested, of actors on the other node.

use garrick_actor::door::Notice;
use hashbrown::HashMap;

/// Minimum number of watches before cancelled watches are removed.
const SWEEP_MIN: usize = 64;

/// Watches of actors on the other node. The key is the number of a watch. The value notifies the
/// code that watches the actor.
#[derive(Default)]
pub(super) struct Watches {
    all: HashMap<u64, Notice>,
    /// Number of watches at which cancelled watches are removed. Twice the number of watches after
    /// the last removal, so that adding a watch takes constant time on average.
    sweep_at: usize,
}

impl Watches {
    pub(super) fn add(&mut self, number: u64, notice: Notice) {
        self.all.insert(number, notice);
    }

    /// Removes a watch whose actor has ended.
    pub(super) fn take(&mut self, number: u64) -> Option<Notice> {
        self.all.remove(&number)
    }

    /// If there are many watches, removes the cancelled ones, and returns them. The caller must
    /// drop the notices at a point at which foreign code is allowed to run.
    #[must_use]
    pub(super) fn take_cancelled(&mut self) -> Vec<(u64, Notice)> {
        if self.all.len() < self.sweep_at.max(SWEEP_MIN) {
            return Vec::new();
        }
        let cancelled = self.all.extract_if(|_, notice| notice.is_cancelled());
        let cancelled = sorted(cancelled.collect());
        self.sweep_at = 2 * self.all.len();
        cancelled
    }

    /// Removes all watches, and returns them in the order in which they were requested.
    pub(super) fn take_all(&mut self) -> Vec<(u64, Notice)> {
        sorted(self.all.drain().collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

fn sorted(mut watches: Vec<(u64, Notice)>) -> Vec<(u64, Notice)> {
    watches.sort_unstable_by_key(|(number, _)| *number);
    watches
}
