//! Three queues with many senders and one receiver. All three implement the same pair of traits.
//!
//! | queue | algorithm | push | pop | best for |
//! | --- | --- | --- | --- | --- |
//! | [`Banker`] | stack that the receiver takes whole and reverses | lock-free, one CAS | wait-free, mostly private memory | bursts, small mailboxes |
//! | [`Chunked`] | linked arrays, slots claimed by one add | wait-free, lock-free at the end of a chunk | wait-free | steady streams |
//! | [`Locked`] | ring under a mutex | blocks on the lock | blocks on the lock | bounded queues, and comparison |
//!
//! ```text
//!     Sender --push--+
//!     Sender --push--+--> [ one of three ] --pop--> Receiver        the values of a sender stay in order
//!     Sender --push--+
//! ```
//!
//! All queues are unbounded, except [`locked::bounded`]. Dropping the receiver closes the queue:
//! the remaining values are dropped, and each later push returns its value as an error. After the
//! last sender has been dropped, the receiver can still take the remaining values. If the queue is
//! then empty, [`Receiver::pop_timeout`] returns the error [`Closed`](PopTimeoutError::Closed), and
//! all other pops return no value. A waiting receiver is parked and uses no CPU time.
//!
//! If the destructor of a remaining value panics, the other values are dropped all the same, at the
//! latest with the last handle. If a second destructor panics while this panic unwinds, the process
//! aborts, as it does for a [`Vec`].
//!
//! The traits use static dispatch. Code that is generic over [`Queue`] is compiled for each chosen
//! queue.

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

/// A trait for code that can use different queues. [`Banker`], [`Chunked`] and [`Locked`] implement
/// it.
///
/// Values must be `'static`, so that the sender and the receiver can be moved to other threads.
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
    /// The sending half of the queue.
    type Sender<T: Send + 'static>: Sender<T> + 'static;

    /// The receiving half of the queue.
    type Receiver<T: Send + 'static>: Receiver<T> + 'static;

    /// Creates an empty unbounded queue.
    fn channel<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>);
}

/// The operations of the sending half of a queue. All clones push into the same queue.
pub trait Sender<T>: Clone + Send {
    /// Appends a value to the queue. Waits only if the queue is bounded and full.
    ///
    /// If the receiver is dropped during a push, the push can succeed. The value is then dropped
    /// with the queue.
    ///
    /// # Errors
    ///
    /// Returns the value if the receiver was dropped.
    fn push(&self, value: T) -> Result<(), SendError<T>>;

    /// Appends all values to the queue, in order. A batch costs less per value than single calls of
    /// [`push`](Self::push).
    ///
    /// All items are taken from the iterator before the first value is pushed.
    ///
    /// # Errors
    ///
    /// If the receiver was dropped, returns the values that were not pushed.
    fn push_many(&self, values: impl IntoIterator<Item = T>) -> Result<(), SendError<Vec<T>>>;

    /// Returns true if the receiver was dropped.
    fn is_closed(&self) -> bool;
}

/// The operations of the receiving half of a queue.
pub trait Receiver<T>: Send {
    /// Takes the oldest value. Returns `None` if there is none.
    fn try_pop(&mut self) -> Option<T>;

    /// Moves up to `count_max` values to the end of `into`, oldest first. Returns the number of
    /// moved values.
    fn pop_many(&mut self, into: &mut Vec<T>, count_max: usize) -> usize {
        let len_before = into.len();
        into.extend(std::iter::from_fn(|| self.try_pop()).take(count_max));
        into.len() - len_before
    }

    /// Waits until there is a value, and takes the oldest one. Returns `None` if the queue is empty
    /// and all senders were dropped.
    fn blocking_pop(&mut self) -> Option<T>;

    /// Waits at most `timeout` for a value, and takes the oldest one.
    ///
    /// # Errors
    ///
    /// Returns [`Timeout`](PopTimeoutError::Timeout) if no value arrived before the timeout.
    /// Returns [`Closed`](PopTimeoutError::Closed) if the queue is empty and all senders were
    /// dropped.
    fn pop_timeout(&mut self, timeout: Duration) -> Result<T, PopTimeoutError>;

    /// Returns the approximate number of values in the queue. The number may include values whose
    /// push is in progress.
    fn len(&self) -> usize;

    /// Returns true if the queue seems to be empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if all senders were dropped. There may still be values in the queue.
    fn is_closed(&self) -> bool;
}
