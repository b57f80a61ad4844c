//! Spreading: values go round in more slots than may be full.
//!
//! A cache line that one core has read and another core writes again must first be taken away from
//! the reader. Where both cores hold the line in a cache of their own, that takes longer than a
//! line from the memory's side of the caches: 7 ns per line instead of 3.5 on Zen 4. Requesting the
//! line early does not help. A ring that goes round in more slots than the two second-level caches
//! keep meets only lines that both have evicted. Between two stages on one core the opposite holds:
//! the fewer slots the better. So a ring that was created with spare slots begins in the first
//! `capacity` of them, and uses all of them once its producer requests it
//! ([`Producer::spread`](super::Producer::spread)).
//!
//! Before that, value number `n` lies in slot `n % capacity`. From some number on, which is a
//! multiple of `capacity`, it lies in slot `n % slots`. No two values in the ring share a slot.
//! Their numbers differ by less than the capacity, so they differ modulo the capacity. The number
//! of slots is a multiple of the capacity, so the slots differ too. Values before and after that
//! number lie in two runs, like values that wrap.
use crate::prim::atomic::{AtomicUsize, Ordering::Relaxed};

/// Count from which a ring goes round in all its slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// Not yet.
    No,
    /// From this count on, which is even.
    From(usize),
    /// For all counts that are in the ring.
    Whole,
}

/// Half of all counts: further ahead than any count in use.
pub(super) const FAR: usize = 1 << (usize::BITS - 1);

/// Returns true if `count` comes before `other`. Both must be less than half of all numbers apart.
#[inline]
pub(super) fn is_before(count: usize, other: usize) -> bool {
    count.wrapping_sub(other) >= FAR
}

/// The word by which the producer publishes its [`Spread`] to the consumer.
pub(super) struct Word(AtomicUsize);

const NO: usize = 0;
const WHOLE: usize = 2;
/// Bit that marks a count, which is even.
const COUNT: usize = 1;

impl Word {
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(NO))
    }

    pub(super) fn set(&self, spread: Spread) {
        let word = match spread {
            Spread::No => NO,
            Spread::From(count) => count | COUNT,
            Spread::Whole => WHOLE,
        };
        // Relaxed: the `publish` of the first value that it concerns comes later, and is a Release.
        self.0.store(word, Relaxed);
    }

    pub(super) fn get(&self) -> Spread {
        // Relaxed: read after the Acquire by which the consumer has seen the values that the word
        // concerns. A word that concerns none of them may be seen or not.
        match self.0.load(Relaxed) {
            NO => Spread::No,
            WHOLE => Spread::Whole,
            count => Spread::From(count & !COUNT),
        }
    }
}
