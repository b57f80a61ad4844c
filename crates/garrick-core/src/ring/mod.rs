//! A bounded ring buffer between one producer and one consumer. Both can access batches of values
//! in place, without a copy.
//!
//! The algorithm is Lamport's ring ("Proving the Correctness of Multiprocess Programs", 1977). A
//! ring has two halves, the producer and the consumer. Each half has an *end* of the ring: a count
//! that only this half writes. As in MCRingBuffer (Lee, Bu, Chandranmenon, 2010), each half also
//! keeps a copy of the other half's count. It reads the other half's count again only when,
//! according to the copy, there are no more values or no more free slots. So the two cores exchange
//! a cache line once per batch instead of once per value.
//!
//! ```text
//!         head: the consumer writes it      tail: the producer writes it
//!           |                                 |
//!   [free][ full ][ full ][ full ][ full ][ full ][free][free][free]     head <= tail <= head + capacity
//!           |<---------- peek ----------->|     |<---- poke ---->|
//!            two slices where they wrap          two slices where they wrap
//! ```
//!
//! # Which thread may call which method
//!
//! One thread at a time owns the [`Producer`], and one thread at a time owns the [`Consumer`]. Both
//! can be sent to other threads. All methods that write or take values require `&mut self`.
//!
//! | operation | progress |
//! | --- | --- |
//! | all methods of a [`Producer`], a [`Consumer`] or their guards | wait-free, except for closures and `Drop` of `T` |
//! | [`map_batch`], [`map_batch_owned`] | wait-free, with the same exceptions |
//!
//! Nothing in this module blocks or wakes a thread. `garrick-flow` adds waiting and wake-ups, once
//! per batch.
//!
//! # Order and loss
//!
//! The consumer gets each value once, in the order in which the values were pushed. Values that
//! were never taken are dropped after both halves have been dropped. On each half, `is_closed`
//! returns true once the other half has been dropped. From then on, reading the count of the other
//! half returns the final count. So if the consumer first sees that the ring is closed, and then
//! finds it empty, it has taken all values ([`Consumer::is_finished`]).
//!
//! # Panics in closures
//!
//! A panic in a closure stops the batch at that value. Values that were written before the panic
//! are published. Values that were consumed before the panic are gone, and the other values stay in
//! the ring. The only exception is a [`Poke`]: if it is dropped without [`commit`](Poke::commit),
//! the values written through it are dropped and not published.
//!
//! # Panics in destructors
//!
//! If the destructor of a value panics, the other values that are dropped with it are dropped all
//! the same, and their slots become free. If a destructor panics while another panic unwinds, the
//! process aborts, as it does for a [`Vec`]. This happens if the destructors of two values of a
//! batch panic, or if a closure of [`map_batch`] panics and then the destructor of an input.
mod spread;

mod slots;

mod shared;

mod consumer;
mod map;
mod peek;
mod poke;
mod producer;

#[cfg(all(test, garrick_loom))]
mod loom_tests;

#[cfg(all(test, not(garrick_loom)))]
mod model_tests;

#[cfg(all(test, not(garrick_loom)))]
mod tests;

pub use consumer::Consumer;
pub use map::{map_batch, map_batch_owned};
pub use peek::{Iter, Peek};
pub use poke::Poke;
pub use producer::Producer;

use std::{error::Error, fmt};

use self::{shared::Shared, slots::Storage};
use crate::prim::Arc;

/// The error returned by a push into a full ring. Contains the value that was not pushed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

/// The error returned when a ring of the requested capacity cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CapacityError {
    /// The requested capacity is 0, but a ring needs at least one slot.
    Zero,
    /// The requested capacity, or the requested number of slots, is above the largest power of two
    /// that fits into a `usize`.
    TooLarge {
        /// The number that is too large: the requested capacity or the requested number of slots.
        capacity_min: usize,
    },
    /// The memory for the slots could not be allocated.
    OutOfMemory {
        /// Number of slots that could not be allocated.
        capacity: usize,
    },
}

/// Creates a ring. Its capacity is `capacity_min`, rounded up to a power of two.
///
/// # Examples
///
/// ```
/// use garrick_core::ring;
///
/// let (mut producer, mut consumer) = ring::channel(3);
/// assert_eq!(producer.capacity(), 4);
///
/// producer.try_push("tea").unwrap();
/// assert_eq!(consumer.try_pop(), Some("tea"));
/// assert_eq!(consumer.try_pop(), None);
/// ```
///
/// # Panics
///
/// Panics if the ring cannot be created. Use [`try_channel`] to get an error instead of a panic.
#[track_caller]
pub fn channel<T>(capacity_min: usize) -> (Producer<T>, Consumer<T>) {
    match try_channel(capacity_min) {
        Ok(halves) => halves,
        Err(error) => panic!("ring::channel({capacity_min}): {error}"),
    }
}

/// Creates a ring. Its capacity is `capacity_min`, rounded up to a power of two. Returns an error
/// if the ring cannot be created.
///
/// # Examples
///
/// ```
/// use garrick_core::ring::{self, CapacityError};
///
/// assert!(ring::try_channel::<u64>(1000).is_ok());
/// assert_eq!(ring::try_channel::<u64>(0).err(), Some(CapacityError::Zero));
/// ```
///
/// # Errors
///
/// Returns a [`CapacityError`] if `capacity_min` is 0, if `capacity_min` cannot be rounded up to a
/// power of two, or if the memory cannot be allocated.
pub fn try_channel<T>(capacity_min: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    halves(capacity_min, 0)
}

/// Creates a ring with a capacity of at least `capacity_min` values and with at least `slots_min`
/// slots. Both numbers are rounded up to powers of two.
///
/// The ring can have more slots than its capacity, but it never holds more values than its
/// capacity.
///
/// The ring works like a ring of [`try_channel`] until [`Producer::spread`] is called. From then
/// on, it uses all slots one after another. Using all slots makes a ring between two cores up to
/// twice as fast under two conditions. First, the memory of all slots must be larger than the
/// second-level caches of both cores together. Second, the memory of `capacity_min` values must be
/// larger than the first-level cache of a core.
///
/// # Examples
///
/// ```
/// use garrick_core::ring;
///
/// let (mut producer, mut consumer) = ring::try_roomy_channel(2, 8)?;
/// producer.spread();
/// for round in 0..8 {
///     assert_eq!(producer.push_slice(&[round, round, round]), 2);
///     assert_eq!(consumer.pop_each(2, |value| assert_eq!(value, round)), 2);
/// }
/// # Ok::<(), ring::CapacityError>(())
/// ```
///
/// # Errors
///
/// Returns a [`CapacityError`] if `capacity_min` is 0, if one of the two sizes cannot be rounded up
/// to a power of two, or if the memory cannot be allocated.
pub fn try_roomy_channel<T>(
    capacity_min: usize,
    slots_min: usize,
) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    roomy_halves(capacity_min, slots_min, 0)
}

/// Creates the producer and the consumer of a ring, with counts that begin at `start`. Tests use a
/// `start` just before the counts wrap.
fn halves<T>(
    capacity_min: usize,
    start: usize,
) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    roomy_halves(capacity_min, capacity_min, start)
}

/// Creates the producer and the consumer of a ring with at least `slots_min` slots, and with counts
/// that begin at `start`.
fn roomy_halves<T>(
    capacity_min: usize,
    slots_min: usize,
    start: usize,
) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    if capacity_min == 0 {
        return Err(CapacityError::Zero);
    }
    let power = |capacity_min: usize| {
        let power = capacity_min.checked_next_power_of_two();
        power.ok_or(CapacityError::TooLarge { capacity_min })
    };
    let capacity = power(capacity_min)?;
    let count = power(slots_min)?.max(capacity);
    let mut storage = Storage::try_new(count)?;
    let slots = storage.slots(capacity, count, start);
    let shared = Arc::new(Shared::new(storage, slots.clone(), start));
    Ok((
        Producer::new(Arc::clone(&shared), slots.clone(), start),
        Consumer::new(shared, slots, start),
    ))
}

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Full(..)")
    }
}

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ring is full")
    }
}

impl<T> Error for Full<T> {}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("a ring needs at least one slot"),
            Self::TooLarge { capacity_min } => {
                write!(
                    f,
                    "{capacity_min} is too large to round up to a power of two"
                )
            }
            Self::OutOfMemory { capacity } => {
                write!(f, "cannot allocate the memory for {capacity} slots")
            }
        }
    }
}

impl Error for CapacityError {}
