//! The current activity of a worker, which other threads can read.

use std::fmt;

use super::kinds::OTHERS;

/// Number of a worker's activations so far, and kind of the current activation. Both are in one
/// word, so that a reader gets them together.
///
/// ```text
///   63 ...... 10   9 ........ 0
///   activations    place of the current kind plus 1, or 0 for none
/// ```
///
/// Each activation of a worker has a different word, and so has each pause between two activations.
/// So if a thread reads the same word twice, nothing else happened in between.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Activity(u64);

impl Activity {
    const KIND_BITS: u32 = 10;
    const KIND: u64 = (1 << Self::KIND_BITS) - 1;

    const _ROOM: () = assert!((OTHERS as u64) < Self::KIND);

    /// Returns the activity that a word encodes.
    pub(super) fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// Returns the word that encodes the activity.
    pub(super) fn word(self) -> u64 {
        self.0
    }

    /// Returns the word's next value when an activation of the kind at `place` begins.
    #[must_use]
    pub(super) fn begins(self, place: usize) -> Self {
        debug_assert!(place <= OTHERS, "a kind has one of the places");
        Self(self.0 & !Self::KIND | (place as u64 + 1))
    }

    /// Returns the word's next value when the current activation ends, if there is one.
    #[must_use]
    pub(super) fn ends(self) -> Self {
        Self((self.0 & !Self::KIND).wrapping_add(Self::KIND + 1))
    }

    /// Returns the number of activations that have ended.
    pub(super) fn activations(self) -> u64 {
        self.0 >> Self::KIND_BITS
    }

    /// Returns the place of the current kind, or `None` if there is no current activation.
    pub(super) fn place(self) -> Option<usize> {
        (self.0 & Self::KIND)
            .checked_sub(1)
            .map(|place| place as usize)
    }
}

impl fmt::Debug for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activity")
            .field("activations", &self.activations())
            .field("place", &self.place())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_activations_have_one_word() {
        let idle = Activity::default();
        assert_eq!((idle.activations(), idle.place()), (0, None));
        let first = idle.begins(OTHERS);
        assert_eq!((first.activations(), first.place()), (0, Some(OTHERS)));
        let between = first.ends();
        assert_eq!((between.activations(), between.place()), (1, None));
        let second = between.begins(OTHERS);
        let all = [idle, first, between, second];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{one:?}");
        }
    }
}
