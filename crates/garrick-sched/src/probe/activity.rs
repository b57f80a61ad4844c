//! The current activity of a worker, which other threads can read.

use std::fmt;

use super::kinds::OTHERS;
use crate::world::Nanos;

/// Number of a worker's activations that have ended, and the kind of the current activation. Both
/// are in one word, so that a reader gets them together.
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

/// Time at which an activation began, and the number of this activation. Both are in one word, so
/// that a reader gets them together.
///
/// ```text
///   63 ...... 16   15 ........ 0
///   microseconds   activations, modulo 65,536
/// ```
///
/// The shortened number is unambiguous: at least one of 256 activations is timed, so the last timed
/// activation is never 65,536 activations old.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Beginning(u64);

impl Beginning {
    const NUMBER_BITS: u32 = 16;
    const NUMBER: u64 = (1 << Self::NUMBER_BITS) - 1;

    /// Returns the beginning of the current activation.
    pub(super) fn of(activity: Activity, began: Nanos) -> Self {
        let micros = began.div_ceil(1_000) << Self::NUMBER_BITS;
        Self(micros | activity.activations() & Self::NUMBER)
    }

    /// Returns the beginning that a word encodes.
    pub(super) fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// Returns the word that encodes the beginning.
    pub(super) fn word(self) -> u64 {
        self.0
    }

    /// Returns the time at which the current activation of `activity` began. Returns `None` if
    /// `self` is the beginning of another activation. The time may be up to a microsecond late.
    pub(super) fn time_of(self, activity: Activity) -> Option<Nanos> {
        let is_its = self.0 & Self::NUMBER == activity.activations() & Self::NUMBER;
        is_its.then_some((self.0 >> Self::NUMBER_BITS).saturating_mul(1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_that_of_its_activation_only() {
        let first = Activity::default().begins(3);
        let beginning = Beginning::of(first, 1_234_567);
        assert_eq!(Beginning::from_word(beginning.word()), beginning);
        assert_eq!(beginning.time_of(first), Some(1_235_000));
        let second = first.ends().begins(3);
        assert_eq!(beginning.time_of(second), None);
    }

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
