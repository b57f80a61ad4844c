//! A channel for threads that both send and receive. Each worker prefers its own values, and steals
//! from other workers if it has none.
//!
//! The design comes from `BeamDequeChannel` in the Zig library zig-beam: a bounded deque for each
//! worker, a global queue for the overflow, and stealing. The deque comes from [`crate::deque`].
//! This deque uses the THE protocol (Frigo, Leiserson, Randall, 1998), and its owner needs no
//! read-modify-write operation. Garrick adds three features:
//! - A receiver can detect that the whole channel is empty.
//! - Sleeping receivers are woken.
//! - Fair receives protect old values from starvation.
//!
//! Three modules document the details: `shared` describes how the channel is closed and known to be
//! empty, `bell` describes wake-ups, and `global` describes the global queue.
//!
//! ```text
//!     Sender --+                                      +--> Receiver
//!              v                                      |
//!        [ global queue, oldest first                 ]
//!           ^ half of a full deque      | a share     ^ half of a full deque
//!           |                           v             |
//!     send  |   newest first                          |   newest first
//!     ----> [ Worker 0's deque ] <--- recv      ----> [ Worker 1's deque ] <--- recv
//!               oldest ................ half, stolen ......................^
//! ```
//!
//! A worker receives the newest value of its own deque. If its deque is empty, it takes a share of
//! the global queue. If the global queue is empty too, the worker steals half of another worker's
//! deque, oldest first. Every 64th receive is *fair*: it takes the oldest value of the global queue
//! or of the worker's own deque. Fair receives alternate between these two values. There is no
//! order between values that different threads receive, and code should not rely on any order.
//!
//! | operation | progress |
//! | --- | --- |
//! | [`Worker::try_send`], own deque not full | wait-free, no read-modify-write |
//! | [`Worker::try_send`], own deque full | waits for at most one thief, and for the lock of the global queue |
//! | [`Worker::try_recv`], value in own deque | wait-free, unless a thief has claimed the value; no read-modify-write |
//! | [`Worker::try_recv`], otherwise | retries while values arrive or move |
//! | [`Sender::try_send`] | waits for the lock of the global queue |
//! | `send`, `recv`, `recv_timeout` | park until there is room or a value |
//!
//! **Guarantees**
//! - Each value is received once, or dropped once with the last handle, even if the destructor of
//!   another value panics. If a second destructor panics while this panic unwinds, the process
//!   aborts, as it does for a [`Vec`].
//! - The results "empty" and "closed" mean that all deques and the global queue were empty at one
//!   and the same moment. If values are being moved between two of these queues during a receive,
//!   the receive waits until the move has finished.
//! - Each sent value wakes one of the waiting receivers, unless a woken receiver is already
//!   searching. In that case, the searching receiver wakes the next receiver if there are more
//!   values.
//! - A sender that waits is woken if there is room. For a worker, this includes the room that a
//!   thief makes in the worker's deque.
//! - The values of a dropped worker can be stolen by the other handles.
//! - If a send and a close happen at the same time, the value is either returned to the sender or
//!   received.
//! - If the waker of a waiting future panics when it is woken or dropped, the panic is ignored. No
//!   sender, receiver or handle that is dropped notices it, and all others are woken.
//!
//! A worker that finds no value spins for a short time if there are spare cores, yields its core
//! twice, and then parks. If a receive finds no value although the channel is not empty, it tries
//! again. Before each new try, it backs off like the Zig library: with more than two workers, it
//! executes min(tries so far, workers / 2) pause instructions.
//!
//! # Examples
//!
//! ```
//! use std::thread;
//! use garrick_steal::steal::{self, Capacity};
//!
//! // An idle worker replaces each number n above 1 by two smaller numbers that add up to it.
//! let channel = steal::channel(2, 256, Capacity::Unbounded);
//! channel.sender.send(1000_u32).unwrap();
//! let workers = channel.workers.into_iter().map(|mut worker| {
//!     thread::spawn(move || {
//!         let mut ones = 0;
//!         while let Ok(n) = worker.try_recv() {
//!             if n == 1 {
//!                 ones += 1;
//!             } else {
//!                 worker.send(n / 2).unwrap();
//!                 worker.send(n - n / 2).unwrap();
//!             }
//!         }
//!         ones
//!     })
//! });
//! let ones: u32 = workers.collect::<Vec<_>>().into_iter().map(|worker| worker.join().unwrap()).sum();
//! // A worker that finds the channel empty ends. The other workers finish the work.
//! assert_eq!(ones, 1000);
//! ```
use std::{error, fmt};

use crossbeam_utils::CachePadded;
use garrick_core::fence::Asymmetric;
use garrick_core::prim::Arc;

use crate::deque;

mod bell;
mod global;
mod stats;

mod shared;

mod wait;

mod hand;
mod outside;
mod worker;

#[cfg(all(test, not(garrick_loom)))]
mod foreign_tests;
#[cfg(all(test, garrick_loom))]
mod loom_tests;
#[cfg(all(test, not(garrick_loom)))]
mod model_tests;
#[cfg(all(test, not(garrick_loom)))]
mod stress_tests;
#[cfg(all(test, not(garrick_loom)))]
mod tests;

pub use crate::queue::{PopTimeoutError, SendError, TrySendError};
pub use outside::{Receiver, Sender};
pub use stats::Stats;
pub use wait::Recv;
pub use worker::Worker;

use bell::Shown;
use hand::Hand;
use shared::{Mark, Place, Shared};
use stats::Tally;

/// The capacity of the global queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capacity {
    /// The global queue holds at most the contained number of values. This number must not be 0. A
    /// worker cannot send while its own deque and the global queue are both full.
    Bounded(usize),
    /// The global queue has no limit.
    Unbounded,
}

impl Capacity {
    fn count(self) -> usize {
        match self {
            Self::Bounded(count) => count,
            Self::Unbounded => usize::MAX,
        }
    }
}

/// The handles of a new channel.
#[derive(Debug)]
pub struct Channel<T> {
    /// One handle for each worker thread. A worker can send and receive.
    pub workers: Vec<Worker<T>>,
    /// Sender for threads that are not workers.
    pub sender: Sender<T>,
    /// Receiver for threads that are not workers.
    pub receiver: Receiver<T>,
}

/// Creates a channel with `workers` workers, each with a deque of `local_capacity` values.
///
/// `global` is the capacity of the global queue. A local capacity of 256 is a good choice. An
/// overflow or a theft moves up to half of the values in a deque. If `workers` is 0, the channel is
/// a single locked queue for any number of senders and receivers.
///
/// # Examples
///
/// ```
/// use garrick_steal::steal::{self, Capacity, TryRecvError};
///
/// let mut channel = steal::channel(4, 256, Capacity::Bounded(4096));
/// channel.workers[0].send("for anyone").unwrap();
/// assert_eq!(channel.workers[3].try_recv(), Ok("for anyone"));
/// assert_eq!(channel.workers[3].try_recv(), Err(TryRecvError::Empty));
/// ```
///
/// # Panics
///
/// Panics if `local_capacity` or the global queue's capacity is 0, or if the memory of a deque
/// cannot be allocated.
#[track_caller]
pub fn channel<T>(workers: usize, local_capacity: usize, global: Capacity) -> Channel<T> {
    channel_with_fence(workers, local_capacity, global, Asymmetric::detect())
}

#[track_caller]
fn channel_with_fence<T>(
    workers: usize,
    local_capacity: usize,
    global: Capacity,
    fence: Asymmetric,
) -> Channel<T> {
    assert!(local_capacity > 0, "the local capacity must be at least 1");
    assert!(
        global.count() > 0,
        "the capacity of the global queue must be at least 1"
    );
    let deques: Vec<_> = (0..workers)
        .map(|_| deque::bounded_with_fence(local_capacity, fence))
        .collect();
    let tallies: Vec<_> = (0..workers).map(|_| Tally::default()).collect();
    let places = deques.iter().zip(&tallies).map(|(deque, tally)| Place {
        stealer: deque.stealer(),
        mark: Arc::new(CachePadded::new(Mark::new())),
        stats: tally.reader(),
        shown: Shown::new(),
    });
    let shared = Arc::new(Shared::new(places.collect(), global, fence));
    let workers = (deques.into_iter().zip(tallies).enumerate())
        .map(|(id, (deque, tally))| Worker::new(Hand::new(id, deque, tally, shared.clone())))
        .collect();
    Channel {
        workers,
        sender: Sender::new(shared.clone()),
        receiver: Receiver::new(shared),
    }
}

/// The error returned by [`Worker::try_recv`] and [`Receiver::try_recv`] if there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryRecvError {
    /// The whole channel was empty at one moment during the call.
    Empty,
    /// The whole channel was empty at one moment during the call, and the channel is closed.
    Closed,
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the channel is empty",
            Self::Closed => "the channel is empty and closed",
        })
    }
}

impl error::Error for TryRecvError {}
