//! Going round in more slots than may be full.
//!
//! A line that one core has read and another writes again must first be taken away from the reader, and where both cores
//! have it in a cache of their own, that takes longer than a line from the memory's side of the caches: 7 ns a line instead of
//! 3.5 on Zen 4, and it does not help to ask for it early. A ring that goes round in more slots than the two second-level
//! caches keep meets only lines that both have given up. Between two stages on one core the opposite holds, and the fewer
//! slots the better. So a ring that was made with slots to spare begins in the first `capacity` of them, and takes to
//! all when its producer says so ([`Producer::spread`](super::Producer::spread)).
//!
//! Value number `n` lies in slot `n % capacity` before that, and in slot `n % slots` from some number on, which is a multiple
//! of `capacity`. No two values in the ring share a slot: their numbers differ by less than the capacity, so they
//! differ modulo the capacity, and so do the slots, which are a multiple of it. Values before and after that number
//! lie in two runs, as where values wrap.
use crate::prim::atomic::{AtomicUsize, Ordering::Relaxed};

/// From which count on a ring goes round in all its slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// Not yet.
    No,
    /// From this count on, which is even.
    From(usize),
    /// For all counts that are in the ring.
    Whole,
}

/// Half of all counts: further ahead than any that are asked for.
pub(super) const FAR: usize = 1 << (usize::BITS - 1);

/// Whether `count` comes before `other`, where they are less than half of all numbers apart.
#[inline]
pub(super) fn is_before(count: usize, other: usize) -> bool {
    count.wrapping_sub(other) >= FAR
}

/// The producer's word to the consumer.
pub(super) struct Word(AtomicUsize);

const NO: usize = 0;
const WHOLE: usize = 2;
/// Set in a count, which is even.
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
        // Relaxed: asked after the Acquire by which the consumer has seen the values that it concerns. What concerns none
        // of them may be seen or not.
        match self.0.load(Relaxed) {
            NO => Spread::No,
            WHOLE => Spread::Whole,
            count => Spread::From(count & !COUNT),
        }
    }
}
