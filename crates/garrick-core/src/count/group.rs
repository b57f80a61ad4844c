//! A group of counters. A reader gets the values of all counters as one consistent snapshot.
use std::{array, error::Error, fmt};

use crossbeam_utils::CachePadded;

use crate::prim::{
    Arc,
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
    hint,
};

/// Maximum number of times that [`GroupReader::try_snapshot`] tries to read the values. Publishing
/// takes only a few nanoseconds. So all tries fail only if the writer publishes without a pause, or
/// if the writer's thread was preempted during a publish.
pub const TRIES_MAX: usize = if cfg!(garrick_loom) { 2 } else { 64 };

/// A group of `N` counters that are published together. Only the owner of the group can write them.
/// Each count wraps at 2^64.
///
/// [`add`](Self::add) writes only to memory that the readers do not see. [`publish`](Self::publish)
/// makes the new values of all `N` counters visible to the readers at the same moment. Call
/// `publish` when the numbers are consistent with each other, for example after a batch of work.
///
/// # Examples
///
/// ```
/// use garrick_core::count::Group;
///
/// const TAKEN: usize = 0;
/// const SENT: usize = 1;
///
/// let mut traffic = Group::<2>::new();
/// let reader = traffic.reader();
/// traffic.add(TAKEN, 3);
/// assert_eq!(reader.try_snapshot(), Ok([0, 0]));
///
/// traffic.add(SENT, 3);
/// traffic.publish();
/// assert_eq!(reader.try_snapshot(), Ok([3, 3]));
/// ```
pub struct Group<const N: usize> {
    /// Exact values, private to the writer.
    values: [u64; N],
    /// The writer's private copy of `Shared::version`. Always exact and even.
    version: u64,
    /// Values that the readers see.
    shared: Arc<CachePadded<Shared<N>>>,
}

/// A handle that reads a [`Group`]. Created by [`Group::reader`].
pub struct GroupReader<const N: usize> {
    /// The published values, which the group writes and this reader reads.
    shared: Arc<CachePadded<Shared<N>>>,
}

struct Shared<const N: usize> {
    /// Version of the values. It is odd while the values are being written, and each publish
    /// increases it by two. Written by the group, read by the readers.
    version: AtomicU64,
    /// Values as last published. Written by the group while `version` is odd, read by the readers.
    values: [AtomicU64; N],
}

/// The error returned by [`GroupReader::try_snapshot`] if the writer was publishing during each
/// try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

impl<const N: usize> Group<N> {
    /// Creates a group whose counters are all 0.
    pub fn new() -> Self {
        Self {
            values: [0; N],
            version: 0,
            shared: Arc::new(CachePadded::new(Shared {
                version: AtomicU64::new(0),
                values: array::from_fn(|_| AtomicU64::new(0)),
            })),
        }
    }

    /// Adds `count` to counter `index`. The readers see the new value after the next
    /// [`publish`](Self::publish).
    ///
    /// # Panics
    ///
    /// Panics if `index` is not below `N`.
    #[inline]
    #[track_caller]
    pub fn add(&mut self, index: usize, count: u64) {
        self.values[index] = self.values[index].wrapping_add(count);
    }

    /// Sets counter `index` to `value`. The readers see the new value after the next
    /// [`publish`](Self::publish).
    ///
    /// # Panics
    ///
    /// Panics if `index` is not below `N`.
    #[inline]
    #[track_caller]
    pub fn set(&mut self, index: usize, value: u64) {
        self.values[index] = value;
    }

    /// Returns the exact values of all counters, including changes that are not yet published.
    #[inline]
    pub fn values(&self) -> &[u64; N] {
        &self.values
    }

    /// Makes the new values of all counters visible to the readers at the same moment.
    #[inline]
    pub fn publish(&mut self) {
        self.begin();
        let shared = &**self.shared;
        for (shown, value) in shared.values.iter().zip(self.values) {
            shown.store(value, Relaxed);
        }
        self.version = self.version.wrapping_add(2);
        // Release: pairs with the Acquire in `GroupReader::try_once`; publishes the values above.
        shared.version.store(self.version, Release);
    }

    /// Makes the version odd, so that readers know that the values are being written.
    #[inline]
    pub(super) fn begin(&mut self) {
        let odd = self.version.wrapping_add(1);
        // Relaxed: the fence below orders it before the values.
        self.shared.version.store(odd, Relaxed);
        // Release: pairs with the Acquire fence in `GroupReader::try_once`; a reader that saw one
        // of the values stored after it then sees the odd version above.
        fence(Release);
    }

    /// Creates a reader of this group.
    pub fn reader(&self) -> GroupReader<N> {
        GroupReader {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<const N: usize> Default for Group<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> GroupReader<N> {
    /// Returns the values of all counters from one recent [`publish`](Group::publish), never a mix
    /// of two.
    ///
    /// # Errors
    ///
    /// Returns [`Busy`] if the writer was publishing during each of the [`TRIES_MAX`] tries.
    pub fn try_snapshot(&self) -> Result<[u64; N], Busy> {
        for _ in 0..TRIES_MAX {
            if let Some(values) = self.try_once() {
                return Ok(values);
            }
            hint::spin_loop();
        }
        Err(Busy)
    }

    #[inline]
    fn try_once(&self) -> Option<[u64; N]> {
        let shared = &**self.shared;
        // Acquire: pairs with the Release store in `Group::publish`; we see its values or later
        // ones.
        let before = shared.version.load(Acquire);
        if before % 2 == 1 {
            return None;
        }
        let values = array::from_fn(|index| shared.values[index].load(Relaxed));
        // Acquire: pairs with the Release fence in `Group::publish`; if one of the values above was
        // from a later publishing, the version below is too.
        fence(Acquire);
        // Relaxed: the fence above orders it after the values.
        let after = shared.version.load(Relaxed);
        (before == after).then_some(values)
    }
}

impl<const N: usize> Clone for GroupReader<N> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<const N: usize> fmt::Debug for Group<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Group").field(&self.values).finish()
    }
}

impl<const N: usize> fmt::Debug for GroupReader<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GroupReader")
            .field(&self.try_snapshot())
            .finish()
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the counters were being published during each try to read them")
    }
}

impl Error for Busy {}
