//! Independent counters in adjacent memory.
use std::{array, fmt};

use crossbeam_utils::CachePadded;

use crate::prim::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// A set of `N` independent counters in adjacent memory. Only the owner of the tally can write
/// them. Each count wraps at 2^64.
///
/// Each new count is visible to the readers immediately, as with a [`Counter`](super::Counter). A
/// `Counter` has its own cache line, but the counters of a tally share cache lines. So counting
/// several things touches only one or two cache lines. If the numbers must be consistent with each
/// other, use a [`Group`](super::Group).
///
/// # Examples
///
/// ```
/// use garrick_core::count::Tally;
///
/// let mut sizes = Tally::<4>::new();
/// let reader = sizes.reader();
/// sizes.add(2, 1);
/// sizes.add(2, 1);
/// assert_eq!(reader.values(), [0, 0, 2, 0]);
/// ```
pub struct Tally<const N: usize> {
    /// The current counts. Only this tally writes them, and all readers read them.
    values: Arc<CachePadded<[AtomicU64; N]>>,
}

/// A handle that reads a [`Tally`]. Created by [`Tally::reader`].
pub struct TallyReader<const N: usize> {
    /// The current counts, which the tally writes and this reader reads.
    values: Arc<CachePadded<[AtomicU64; N]>>,
}

impl<const N: usize> Tally<N> {
    /// Creates a tally whose counters are all 0.
    pub fn new() -> Self {
        let values = array::from_fn(|_| AtomicU64::new(0));
        Self {
            values: Arc::new(CachePadded::new(values)),
        }
    }

    /// Adds `count` to counter `index`.
    ///
    /// # Panics
    ///
    /// Panics if `index` is not below `N`.
    #[inline]
    #[track_caller]
    pub fn add(&mut self, index: usize, count: u64) {
        let value = &self.values[index];
        // A load and a store suffice, since no other thread writes. They cost as much as a plain
        // addition.
        value.store(value.load(Relaxed).wrapping_add(count), Relaxed);
    }

    /// Returns the exact value of counter `index`.
    ///
    /// # Panics
    ///
    /// Panics if `index` is not below `N`.
    #[inline]
    #[track_caller]
    pub fn get(&self, index: usize) -> u64 {
        self.values[index].load(Relaxed)
    }

    /// Creates a reader of this tally.
    pub fn reader(&self) -> TallyReader<N> {
        TallyReader {
            values: Arc::clone(&self.values),
        }
    }
}

impl<const N: usize> Default for Tally<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> TallyReader<N> {
    /// Returns a recent value of each counter. A later call on the same thread never returns an
    /// older value.
    ///
    /// The counters are read one after another, so the values might not be consistent with each
    /// other.
    pub fn values(&self) -> [u64; N] {
        array::from_fn(|index| self.values[index].load(Relaxed))
    }
}

impl<const N: usize> Clone for TallyReader<N> {
    fn clone(&self) -> Self {
        Self {
            values: Arc::clone(&self.values),
        }
    }
}

impl<const N: usize> fmt::Debug for Tally<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tally")
            .field(&self.reader().values())
            .finish()
    }
}

impl<const N: usize> fmt::Debug for TallyReader<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TallyReader").field(&self.values()).finish()
    }
}
