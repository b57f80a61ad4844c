//! A work-stealing deque whose owner pays no atomic read-modify-write and no hardware fence.
//!
//! The THE protocol of Cilk-5 (Frigo, Leiserson, Randall: *The Implementation of the Cilk-5
//! Multithreaded Language*, 1998), with three changes. The thief's half of the fence is a
//! `membarrier(2)` ([`garrick_core::fence`]). A thief claims up to half of the deque at a time. A
//! third count, `done`, records how far the thieves have finished copying. `README.md` in this
//! folder has the vocabulary, the steps, the race and the proof sketch.
//!
//! | operation | who | progress |
//! | --- | --- | --- |
//! | [`Worker::push`] | owner | wait-free; amortized, and waits for one thief, when a growing deque grows |
//! | [`Worker::pop`] | owner | wait-free; waits for one thief when that thief's claim reaches the last values |
//! | [`Worker::pop_oldest`] | owner | waits for one thief |
//! | [`Stealer::steal`] and its kin | anyone | never waits: [`Steal::Busy`] while another thief is at work |
//!
//! ```text
//!         done: thieves         head: thieves          tail: owner
//!           |                     |                      |
//!  ... free [ claimed by a thief ][ full ][ full ][ full ][ free ] ...
//!             it is copying them    steal ->      <- pop   push ->
//!
//!      done <= head <= tail <= done + capacity; for a moment, head may stand too far right
//!      (a claim not yet confirmed) and tail too far left (a pop not yet confirmed).
//! ```
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

/// Creates a deque of exactly `capacity` values, whose [`Worker::push`] returns the value when
/// full.
///
/// Values that a thief is still copying out count as present.
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
/// Panics if `capacity` is 0, or too large to allocate.
#[track_caller]
pub fn bounded<T>(capacity: usize) -> Worker<T> {
    bounded_with_fence(capacity, Asymmetric::detect())
}

/// Creates a [`bounded`] deque with a given pair of fences, to measure or to test a pair that this
/// system would not choose.
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
/// Panics if `capacity` is 0, or too large to allocate.
#[track_caller]
pub fn bounded_with_fence<T>(capacity: usize, fence: Asymmetric) -> Worker<T> {
    assert!(capacity > 0, "a deque must have room for one value");
    Worker::new(capacity, worker::Growth::Never, fence)
}

/// Creates a deque that grows: its [`Worker::push`] never fails.
///
/// The deque starts with room for `capacity_min` values, doubles when that does not suffice, and
/// never shrinks.
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
/// Panics if `capacity_min` is too large to allocate.
#[track_caller]
pub fn growing<T>(capacity_min: usize) -> Worker<T> {
    growing_with_fence(capacity_min, Asymmetric::detect())
}

#[track_caller]
fn growing_with_fence<T>(capacity_min: usize, fence: Asymmetric) -> Worker<T> {
    let capacity = shared::slot_count(capacity_min.max(1));
    Worker::new(capacity, worker::Growth::Doubles, fence)
}

/// Result of an attempt to steal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a stolen value is in here"]
pub enum Steal<T> {
    /// There was nothing to steal.
    Empty,
    /// Another thief was at the deque, or the owner in its slow path. Another try may succeed.
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

/// Error of a push: the deque was full. The value is returned.
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
