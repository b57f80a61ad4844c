//! The configurations that a search has visited (Lowe 2017).
//!
//! A configuration consists of the operations that the search has put into the order, and of the
//! state after them. An operation is *pending* if its call has not returned. The order may contain
//! pending operations, but need not.
//!
//! A search need not visit a configuration twice. Suppose that two configurations A and B have the
//! same state, and that B contains the same operations as A, except for some pending ones. If the
//! search has visited B, it need not visit A, because each sequence of steps that can follow A can
//! also follow B.
//!
//! The search may skip A even while it still explores B. Proof: suppose that a correct order
//! exists, but the search ends without an order. Then the search has explored all configurations
//! that it has visited, including the empty one. Some of them, for example the empty one, can be
//! extended to a complete order. Choose the configuration that needs the fewest further operations.
//! The search has tried the first of these operations. So it has visited the configuration after
//! this operation, or another one that can be extended by the same further operations. But that
//! configuration needs fewer further operations than the chosen one, which is a contradiction.

use std::hash::Hash;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::linearized::{Linearized, Window};

/// The configurations that a search has visited.
pub(super) struct Seen<S> {
    /// Maps a set of returned operations and a state to the sets of pending operations that were
    /// recorded together with them. The map is only used for lookups, so the order of its entries
    /// has no effect.
    pending: HashMap<(Window, S), Sets>,
    /// The number of visited configurations.
    len: usize,
}

/// One or more sets of pending operations. In most cases, there is only one set.
struct Sets {
    first: Window,
    others: Vec<Window>,
}

impl<S: Eq + Hash> Seen<S> {
    pub(super) fn new() -> Self {
        Self {
            pending: HashMap::new(),
            len: 0,
        }
    }

    /// Returns the number of visited configurations.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Records that a configuration is visited, unless the search can skip it. Returns false if the
    /// search can skip the configuration.
    pub(super) fn insert(&mut self, linearized: &Linearized, state: S) -> bool {
        let pending = linearized.pending();
        match self.pending.entry((linearized.returned(), state)) {
            Entry::Occupied(sets) if sets.get().any_is_subset(&pending) => return false,
            Entry::Occupied(mut sets) => sets.get_mut().others.push(pending),
            Entry::Vacant(entry) => {
                entry.insert(Sets {
                    first: pending,
                    others: Vec::new(),
                });
            }
        }
        self.len += 1;
        true
    }
}

impl Sets {
    /// Returns true if one of the recorded sets is a subset of `set`.
    fn any_is_subset(&self, set: &Window) -> bool {
        self.first.is_subset(set) || self.others.iter().any(|other| other.is_subset(set))
    }
}
