//! Three queues with many senders and one receiver, behind one pair of traits.
//!
//! | queue | algorithm | push | pop | best for |
//! | --- | --- | --- | --- | --- |
//! | [`Banker`] | stack taken whole and reversed | lock-free, one CAS | wait-free, mostly private | bursts, small mailboxes |
//! | [`Chunked`] | linked arrays, slots claimed by one add | wait-free but at a chunk's end | wait-free | steady streams |
//! | [`Locked`] | a ring under a mutex | blocks on the lock | blocks on the lock | bounds, and comparison |
//!
//! ```text
//!     Sender --push--+
//!     Sender --push--+--> [ one of three ] --pop--> Receiver        each sender's values in its order
//!     Sender --push--+
//! ```
//!
//! All queues are unbounded, except [`locked::bounded`]. Dropping the receiver closes the queue:
//! pushes return the value, and the values that are left are dropped. After the last sender is
//! dropped, the receiver can still empty the queue and then learns that it is closed. A waiting
//! receiver is parked and uses no core.
//!
//! The traits are static: code generic over [`Queue`] compiles to the chosen queue.

mod error;
pub mod locked;
mod wait;

pub mod banker;
pub mod chunked;

#[cfg(all(test, garrick_loom))]
mod loom_tests;

#[cfg(all(test, not(garrick_loom)))]
mod tests;

use std::time::Duration;

pub use banker::Banker;
pub use chunked::Chunked;
pub use error::{PopTimeoutError, SendError, TrySendError};
pub use locked::Locked;

/// A kind of queue, as a type to be generic over.
///
/// Values are `'static`, so that handles can go to other threads.
///
/// # Examples
///
/// ```
/// use garrick_steal::queue::{Banker, Chunked, Locked, Queue, Receiver, Sender};
///
/// fn relay<Q: Queue>() -> Vec<u32> {
///     let (sender, mut receiver) = Q::channel();
///     let producer = std::thread::spawn(move || {
///         sender.push(1).unwrap();
///         sender.push_many([2, 3]).unwrap();
///     });
///     let received = std::iter::from_fn(|| receiver.blocking_pop()).collect();
///     producer.join().unwrap();
///     received
/// }
///
/// assert_eq!(relay::<Banker>(), [1, 2, 3]);
/// assert_eq!(relay::<Chunked>(), [1, 2, 3]);
/// assert_eq!(relay::<Locked>(), [1, 2, 3]);
/// ```
pub trait Queue {
    /// Handle that pushes.
    type Sender<T: Send + 'static>: Sender<T> + 'static;

    /// Handle that pops.
    type Receiver<T: Send + 'static>: Receiver<T> + 'static;

    /// Creates an empty unbounded queue.
    fn channel<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>);
}

/// The pushing side of a queue. Clones push into the same queue.
pub trait Sender<T>: Clone + Send {
    /// Appends a value. Does not wait, unless the queue is bounded and full.
    ///
    /// If the receiver is dropped during a push, the push may succeed. The value is then dropped
    /// with the queue.
    ///
    /// # Errors
    ///
    /// Returns the value if the receiver is gone.
    fn push(&self, value: T) -> Result<(), SendError<T>>;

    /// Appends all values in their order, at less cost each than [`push`](Self::push).
    ///
    /// The iterator is run to its end before the first value is pushed.
    ///
    /// # Errors
    ///
    /// Returns the values that were not pushed if the receiver is gone.
    fn push_many(&self, values: impl IntoIterator<Item = T>) -> Result<(), SendError<Vec<T>>>;

    /// Returns true if the receiver is gone.
    fn is_closed(&self) -> bool;
}

/// The popping side of a queue.
pub trait Receiver<T>: Send {
    /// Takes the oldest value, if there is one.
    fn try_pop(&mut self) -> Option<T>;

    /// Moves up to `count_max` values to the end of `into`. Returns the number of values moved.
    fn pop_many(&mut self, into: &mut Vec<T>, count_max: usize) -> usize {
        let len_before = into.len();
        into.extend(std::iter::from_fn(|| self.try_pop()).take(count_max));
        into.len() - len_before
    }

    /// Takes the oldest value, parked until there is one. Returns `None` once the queue is empty
    /// and no sender is left.
    fn blocking_pop(&mut self) -> Option<T>;

    /// Takes the oldest value, parked for at most `timeout`.
    ///
    /// # Errors
    ///
    /// Returns [`Timeout`](PopTimeoutError::Timeout) if no value came in time, or
    /// [`Closed`](PopTimeoutError::Closed) if no value can come any more.
    fn pop_timeout(&mut self, timeout: Duration) -> Result<T, PopTimeoutError>;

    /// Returns roughly how many values wait. May count a value whose push is in progress.
    fn len(&self) -> usize;

    /// Returns true if no value seems to wait.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if no sender is left. Values may still wait.
    fn is_closed(&self) -> bool;
}
