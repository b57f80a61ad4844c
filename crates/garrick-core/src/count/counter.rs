//! A single counter.
use std::fmt;

use crossbeam_utils::CachePadded;

use crate::prim::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// A counter that only its owner can write. Any thread can read it through a [`CounterReader`]. The
/// count wraps at 2^64.
///
/// # Examples
///
/// ```
/// use garrick_core::count::Counter;
///
/// let mut sent = Counter::new();
/// let reader = sent.reader();
/// sent.add(2);
/// assert_eq!(std::thread::spawn(move || reader.get()).join().unwrap(), 2);
/// ```
///
/// A counter has only one writer, because writing takes `&mut self` and a counter cannot be cloned:
///
/// ```compile_fail
/// let sent = garrick_core::count::Counter::new();
/// let second = sent.clone();
/// ```
pub struct Counter {
    /// The current count. Only this counter writes it, and all readers read it. It has its own
    /// cache line, so that the counters of two threads do not slow each other down.
    value: Arc<CachePadded<AtomicU64>>,
}

/// A handle that reads a [`Counter`]. Created by [`Counter::reader`].
#[derive(Clone)]
pub struct CounterReader {
    /// The current count, which the counter writes and this reader reads.
    value: Arc<CachePadded<AtomicU64>>,
}

impl Counter {
    /// Creates a counter with the value 0.
    pub fn new() -> Self {
        Self {
            value: Arc::new(CachePadded::new(AtomicU64::new(0))),
        }
    }

    /// Adds `count` to the counter.
    #[inline]
    pub fn add(&mut self, count: u64) {
        self.set(self.get().wrapping_add(count));
    }

    /// Sets the counter to `value`. Use this method for a quantity that can also decrease.
    #[inline]
    pub fn set(&mut self, value: u64) {
        self.value.store(value, Relaxed);
    }

    /// Returns the exact value of the counter.
    #[inline]
    pub fn get(&self) -> u64 {
        self.value.load(Relaxed)
    }

    /// Creates a reader of this counter.
    pub fn reader(&self) -> CounterReader {
        CounterReader {
            value: Arc::clone(&self.value),
        }
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl CounterReader {
    /// Returns a recent value of the counter. A later call on the same thread never returns an
    /// older value.
    ///
    /// Reading the counter does not synchronize with its writer. So the results of the counted work
    /// might not be visible to this thread yet. If this thread needs the results, it must
    /// synchronize with the writer in another way.
    #[inline]
    pub fn get(&self) -> u64 {
        self.value.load(Relaxed)
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Counter").field(&self.get()).finish()
    }
}

impl fmt::Debug for CounterReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CounterReader").field(&self.get()).finish()
    }
}
