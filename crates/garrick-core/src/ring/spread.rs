//! Spreading: a ring uses more slots than its capacity, one after another.
//!
//! Before a core can write a cache line that another core has read, the line must be removed from
//! the reader's cache. If both cores have the line in their own caches, the removal takes longer
//! than getting a line from a shared cache or from memory. On Zen 4, the removal takes 7 ns per
//! line instead of 3.5 ns. Requesting the line early does not help. If a ring uses more slots than
//! the two second-level caches can hold, both cores have evicted each cache line before it is used
//! again. For two stages on one core, the opposite holds: fewer slots are better. So even a ring
//! that was created with spare slots first uses only `capacity` slots. It uses all its slots after
//! its producer has called [`Producer::spread`](super::Producer::spread).
//!
//! Before the spread, value number `n` is in slot `n % capacity`. The spread takes effect at a
//! value whose number is a multiple of `capacity`. From this value on, value number `n` is in slot
//! `n % slots`. Two values that are in the ring at the same time never share a slot. Their numbers
//! differ by less than the capacity, so they differ modulo the capacity. The number of slots is a
//! multiple of the capacity, so the number of a slot equals the number of its value modulo the
//! capacity. So the slots of the two values differ, too. The values before the spread and the
//! values after it form two separate slices, as if the ring wrapped at the spread.
use crate::prim::atomic::{AtomicUsize, Ordering::Relaxed};

/// Determines from which value on a ring uses all its slots instead of only the first `capacity`
/// slots. A count is the sequence number of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// The ring uses only the first `capacity` slots.
    No,
    /// The ring uses all its slots for this count and all later counts. The count is even.
    From(usize),
    /// The ring uses all its slots for every count that is still in use.
    Whole,
}

/// Half of the range of a count. The distance between any two counts in use is less than this.
pub(super) const FAR: usize = 1 << (usize::BITS - 1);

/// Returns true if `count` comes before `other`. The two counts must be less than [`FAR`] apart.
#[inline]
pub(super) fn is_before(count: usize, other: usize) -> bool {
    count.wrapping_sub(other) >= FAR
}

/// The word by which the producer publishes its [`Spread`] to the consumer.
pub(super) struct Word(AtomicUsize);

const NO: usize = 0;
const WHOLE: usize = 2;
/// Bit that is set if the word contains a count. A count in the word is even, so the count itself
/// does not set this bit.
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
