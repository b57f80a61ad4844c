//! The time at which a timed activation (run of a ready task) began, in a form that other threads
//! can read.

use crate::world::Nanos;

/// Time at which an activation began, and the sequence number of this activation. Both are in one
/// word, so that a reader always gets the time and the sequence number of the same activation.
///
/// ```text
///   63 ...... 16   15 ........ 0
///   microseconds   number of the activation, modulo 65,536
/// ```
///
/// The word contains only the low bits of the sequence number. They suffice: the last timed
/// activation is in the current gap or in the previous one. (A gap is a group of fewer than 65,536
/// activations of which one is timed.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Beginning(u64);

impl Beginning {
    const NUMBER_BITS: u32 = 16;
    const NUMBER: u64 = (1 << Self::NUMBER_BITS) - 1;

    const _SHORT: () = assert!(super::ledger::LONGEST * super::ledger::GAP_MAX < Self::NUMBER);

    /// Returns a value for the activation number `picks`, which begins at the given time.
    pub(super) fn of(picks: u32, began: Nanos) -> Self {
        let micros = began.div_ceil(1_000) << Self::NUMBER_BITS;
        Self(micros | u64::from(picks) & Self::NUMBER)
    }

    /// Decodes a `Beginning` (the time and the number of an activation) from an integer.
    pub(super) fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// Encodes this `Beginning` (the time and the number of an activation) as an integer.
    pub(super) fn word(self) -> u64 {
        self.0
    }

    /// Returns the time at which the activation number `picks` began. Returns `None` if `self` is
    /// the beginning of another activation. The time may be up to a microsecond late.
    pub(super) fn time_of(self, picks: u32) -> Option<Nanos> {
        let is_its = self.0 & Self::NUMBER == u64::from(picks) & Self::NUMBER;
        is_its.then_some((self.0 >> Self::NUMBER_BITS).saturating_mul(1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_that_of_its_activation_only() {
        let beginning = Beginning::of(70_000, 1_234_567);
        assert_eq!(Beginning::from_word(beginning.word()), beginning);
        assert_eq!(beginning.time_of(70_000), Some(1_235_000));
        assert_eq!(beginning.time_of(70_001), None);
    }
}
