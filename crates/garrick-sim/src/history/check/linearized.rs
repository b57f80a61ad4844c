//! The set of the operations that the search has put into its order.
//!
//! The search remembers many such sets. Operations that were invoked early are usually also put
//! into the order early. So only a window of a bitset is remembered, from the first operation
//! outside the set to the last operation in the set. If few operations overlap, the window is one
//! word, regardless of the length of the history.

/// The set of the operations that are already in the order of the search.
pub(super) struct Linearized {
    /// The number of all operations in the history's part that have returned, even if they are not
    /// in the set.
    split: usize,
    /// The operations in the set that have returned.
    returned: Bits,
    /// The operations in the set that are pending. They have a separate window, because pending
    /// operations without an effect never get into the order.
    pending: Bits,
}

impl Linearized {
    /// Returns the empty set for a part with `len` operations, of which `returned` have returned.
    pub(super) fn new(returned: usize, len: usize) -> Self {
        Self {
            split: returned,
            returned: Bits::new(returned),
            pending: Bits::new(len - returned),
        }
    }

    pub(super) fn insert(&mut self, number: usize) {
        match number.checked_sub(self.split) {
            Some(pending) => self.pending.insert(pending),
            None => self.returned.insert(number),
        }
    }

    pub(super) fn remove(&mut self, number: usize) {
        match number.checked_sub(self.split) {
            Some(pending) => self.pending.remove(pending),
            None => self.returned.remove(number),
        }
    }

    /// Returns a compact copy of the operations in the set that have returned.
    pub(super) fn returned(&self) -> Window {
        self.returned.window()
    }

    /// Returns a compact copy of the pending operations in the set.
    pub(super) fn pending(&self) -> Window {
        self.pending.window()
    }
}

/// A bitset that knows its window. The window begins at the first word in which not all bits are
/// set, and ends at the last word in which a bit is set.
struct Bits {
    words: Vec<u64>,
    /// The index of the first word in which not all bits are set.
    start: usize,
    /// The index after the last word in which a bit is set.
    end: usize,
}

/// A compact copy of the window of a [`Bits`], which a search keeps. The window begins at the first
/// word in which not all bits are set, and ends at the last word in which a bit is set.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(super) struct Window {
    /// The number of words before the window. In all of these, every bit is set.
    start: usize,
    /// The first word of the window. In most cases, it is the only one.
    first: u64,
    rest: Box<[u64]>,
}

impl Bits {
    fn new(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(64)],
            start: 0,
            end: 0,
        }
    }

    fn insert(&mut self, bit: usize) {
        let index = bit / 64;
        self.words[index] |= 1 << (bit % 64);
        self.end = self.end.max(index + 1);
        while self.words.get(self.start) == Some(&u64::MAX) {
            self.start += 1;
        }
    }

    fn remove(&mut self, bit: usize) {
        let index = bit / 64;
        self.words[index] &= !(1 << (bit % 64));
        self.start = self.start.min(index);
        while self.end > 0 && self.words[self.end - 1] == 0 {
            self.end -= 1;
        }
    }

    fn window(&self) -> Window {
        let words = &self.words[self.start..self.end];
        let (first, rest) = words.split_first().unwrap_or((&0, &[]));
        Window {
            start: self.start,
            first: *first,
            rest: rest.into(),
        }
    }
}

impl Window {
    /// Returns true if `other` contains all operations of this set.
    pub(super) fn is_subset(&self, other: &Self) -> bool {
        let end = self.start + 1 + self.rest.len();
        (other.start..end).all(|index| self.word(index) & !other.word(index) == 0)
    }

    fn word(&self, index: usize) -> u64 {
        match index.checked_sub(self.start) {
            None => u64::MAX,
            Some(0) => self.first,
            Some(after) => self.rest.get(after - 1).copied().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Adds the elements of `set` to a new bitset, and returns the window of the bitset.
    fn window_of(set: &BTreeSet<usize>) -> Window {
        let mut bits = Bits::new(300);
        set.iter().for_each(|bit| bits.insert(*bit));
        bits.window()
    }

    #[test]
    fn a_window_is_small_however_long_the_set() {
        let window = window_of(&(0..250).collect());
        assert_eq!((window.start, window.rest.len()), (3, 0));
    }

    proptest! {
        #[test]
        fn a_window_depends_only_on_the_set(toggled in prop::collection::vec(0..300_usize, 0..600)) {
            let (mut bits, mut set) = (Bits::new(300), BTreeSet::new());
            for bit in toggled {
                if set.insert(bit) {
                    bits.insert(bit);
                } else {
                    set.remove(&bit);
                    bits.remove(bit);
                }
                prop_assert_eq!(bits.window(), window_of(&set));
            }
        }

        #[test]
        fn windows_of_two_sets_differ(
            one in prop::collection::btree_set(0..300_usize, 0..300),
            changed in 0..300_usize,
        ) {
            let mut other = one.clone();
            if !other.remove(&changed) {
                other.insert(changed);
            }
            prop_assert_ne!(window_of(&one), window_of(&other));
            prop_assert_eq!(window_of(&one).is_subset(&window_of(&other)), one.is_subset(&other));
            prop_assert_eq!(window_of(&other).is_subset(&window_of(&one)), other.is_subset(&one));
        }

        #[test]
        fn subsets_are_found(
            one in prop::collection::btree_set(0..300_usize, 0..300),
            other in prop::collection::btree_set(0..300_usize, 0..300),
        ) {
            let both = one.union(&other).copied().collect();
            prop_assert!(window_of(&one).is_subset(&window_of(&both)));
            prop_assert_eq!(window_of(&one).is_subset(&window_of(&other)), one.is_subset(&other));
        }
    }
}
