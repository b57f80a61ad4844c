//! A work-stealing deque whose owner needs no atomic read-modify-write and no hardware fence.
//!
//! The algorithm is the THE protocol of Cilk-5 (Frigo, Leiserson, Randall: *The Implementation of
//! the Cilk-5 Multithreaded Language*, 1998), with three changes:
//! - The thief's half of the fence is a `membarrier(2)` ([`garrick_core::fence`]).
//! - A thief claims up to half of the deque at a time.
//! - A third counter, `done`, records which values the thieves have finished copying.
//!
//! The `README.md` in this folder explains the terms, the steps and the race, and sketches the
//! proof.
//!
//! | operation | who | progress |
//! | --- | --- | --- |
//! | [`Worker::push`] | owner | wait-free, unless the deque grows: growing takes amortized O(1) and waits for at most one thief |
//! | [`Worker::pop`] | owner | wait-free, unless a thief has claimed the popped value: waits for this thief |
//! | [`Worker::pop_oldest`] | owner | waits for at most one thief |
//! | [`Stealer::steal`] and its variants | any thread | never waits: returns [`Steal::Busy`] while another thief is stealing |
//!
//! ```text
//!         done: thieves         head: thieves          tail: owner
//!           |                     |                      |
//!  ... free [ claimed by a thief ][ full ][ full ][ full ][ free ] ...
//!             being copied          steal ->      <- pop   push ->
//!
//!      done <= head <= tail <= done + capacity. For a moment, head may be too far to the right
//!      (a claim not yet confirmed), and tail too far to the left (a pop not yet confirmed).
//! ```
//!
//! If the destructor of a remaining value panics, the other values are dropped all the same. If a
//! second destructor panics while this panic unwinds, the process aborts, as it does for a [`Vec`].
//!
//! # Examples
//!
//! ```
//! use garrick_steal::deque::{self, Steal};
//!
//! let mut worker = deque::bounded(256);
//! let stealer = worker.stealer();
//! worker.push("old").unwrap();
//! worker.push("new").unwrap();
//!
//! let thief = std::thread::spawn(move || stealer.steal());
//! assert_eq!(thief.join().unwrap(), Steal::Success("old"));
//! assert_eq!(worker.pop(), Some("new"));
//! assert_eq!(worker.pop(), None);
//! ```
use std::{error, fmt};

use garrick_core::fence::Asymmetric;

mod shared;
mod stealer;
mod worker;

#[cfg(all(test, garrick_loom))]
mod loom_tests;
#[cfg(all(test, not(garrick_loom)))]
mod model_tests;
#[cfg(all(test, not(garrick_loom)))]
mod stress_tests;

pub use stealer::Stealer;
pub use worker::Worker;

/// Creates a deque for exactly `capacity` values. If the deque is full, [`Worker::push`] returns
/// the value as an error.
///
/// While a thief (a thread that steals) copies a value, the value still takes up room in the deque.
///
/// # Examples
///
/// ```
/// use garrick_steal::deque::{self, Full};
///
/// let mut worker = deque::bounded(1);
/// assert_eq!(worker.push(1), Ok(()));
/// assert_eq!(worker.push(2), Err(Full(2)));
/// ```
///
/// # Panics
///
/// Panics if `capacity` is 0, or if the memory cannot be allocated.
#[track_caller]
pub fn bounded<T>(capacity: usize) -> Worker<T> {
    bounded_with_fence(capacity, Asymmetric::detect())
}

/// Creates a [`bounded`] deque that uses `fence` as its pair of fences. Use this function to
/// measure or test a pair of fences that [`Asymmetric::detect`] does not return on this system.
///
/// # Examples
///
/// ```
/// use garrick_core::fence::Asymmetric;
/// use garrick_steal::deque;
///
/// let mut worker = deque::bounded_with_fence(8, Asymmetric::symmetric());
/// assert_eq!(worker.push(1), Ok(()));
/// ```
///
/// # Panics
///
/// Panics if `capacity` is 0, or if the memory cannot be allocated.
#[track_caller]
pub fn bounded_with_fence<T>(capacity: usize, fence: Asymmetric) -> Worker<T> {
    assert!(capacity > 0, "the capacity of a deque must be at least 1");
    Worker::new(capacity, worker::Growth::Never, fence)
}

/// Creates a deque that grows when it is full, so that [`Worker::push`] never fails.
///
/// The deque starts with room for at least `capacity_min` values. When the deque is full, it
/// doubles its capacity. It never shrinks.
///
/// # Examples
///
/// ```
/// use garrick_steal::deque;
///
/// let mut worker = deque::growing(2);
/// (0..100).for_each(|value| worker.push(value).unwrap());
/// assert_eq!(worker.len(), 100);
/// ```
///
/// # Panics
///
/// Panics if the memory cannot be allocated.
#[track_caller]
pub fn growing<T>(capacity_min: usize) -> Worker<T> {
    growing_with_fence(capacity_min, Asymmetric::detect())
}

#[track_caller]
fn growing_with_fence<T>(capacity_min: usize, fence: Asymmetric) -> Worker<T> {
    let capacity = shared::slot_count(capacity_min.max(1));
    Worker::new(capacity, worker::Growth::Doubles, fence)
}

/// The result of an attempt to steal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the result may contain a stolen value"]
pub enum Steal<T> {
    /// There was nothing to steal.
    Empty,
    /// Another thread held the lock of the deque: another thief, or the owner in a slow path. A new
    /// attempt may succeed.
    Busy,
    /// The stolen value or values.
    Success(T),
}

impl<T> Steal<T> {
    /// Returns the stolen value, if any.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_steal::deque::Steal;
    ///
    /// assert_eq!(Steal::Success(1).success(), Some(1));
    /// assert_eq!(Steal::<u8>::Busy.success(), None);
    /// ```
    #[inline]
    pub fn success(self) -> Option<T> {
        match self {
            Self::Success(value) => Some(value),
            Self::Empty | Self::Busy => None,
        }
    }

    #[inline]
    fn and_then<U>(self, f: impl FnOnce(T) -> Steal<U>) -> Steal<U> {
        match self {
            Self::Success(value) => f(value),
            Self::Empty => Steal::Empty,
            Self::Busy => Steal::Busy,
        }
    }
}

/// The error returned by a push into a full deque. Contains the value that was not pushed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Full(..)")
    }
}

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deque is full")
    }
}

impl<T> error::Error for Full<T> {}
