//! A channel for threads that both send and receive: each worker prefers its own values, and steals
//! when they run out.
//!
//! The design is that of `BeamDequeChannel` of the Zig library zig-beam: a bounded deque for each
//! worker, a global queue for the overflow, and stealing. Its deque is [`crate::deque`], a THE
//! deque (Frigo, Leiserson, Randall, 1998) whose owner pays no read-modify-write. Garrick adds the
//! detection of emptiness, the wake-up of sleepers, and the fair receive that protects the oldest
//! value from starvation. Three modules document the details: `shared` emptiness and the close,
//! `bell` the wake-ups, `global` the queue.
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
//! A worker receives the newest value of its own deque, else from the global queue, else it steals
//! half of another deque, oldest first. Every 64th receive is *fair*: it takes the oldest value of
//! the global queue or of its own deque, by turns. Values that different threads receive have no
//! order, and code should not rely on an order in general.
//!
//! | operation | progress |
//! | --- | --- |
//! | [`Worker::try_send`], own deque not full | wait-free, no read-modify-write |
//! | [`Worker::try_send`], own deque full | waits for one thief at most, and for the global queue's lock |
//! | [`Worker::try_recv`], value in own deque | wait-free but for a thief's claim on it, no read-modify-write |
//! | [`Worker::try_recv`], otherwise | looks again as long as values come or move meanwhile |
//! | [`Sender::try_send`] | waits for the global queue's lock |
//! | `send`, `recv`, `recv_timeout` | park when there is nothing to do |
//!
//! **Guarantees.** Each value is received once, or dropped once with the last handle. "Empty" and
//! "closed" describe one moment at which every place was empty. A look that meets a move waits for
//! the move to end. A value sent wakes one of the waiting receivers, unless one receiver is awake
//! and searching already. That receiver wakes the next if there are more values. The others can
//! steal the values that a dropped worker held. A send that runs beside a close either returns the
//! value, or the value is received.
//!
//! A worker that finds nothing spins a little if there are cores to spare, yields its core twice,
//! and parks. Between looks at places that are not all empty it backs off like the Zig library, for
//! min(attempt, workers / 2) pauses, with more than two workers.
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
//! // A worker that finds the channel empty leaves. The other workers do the rest.
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

use hand::Hand;
use shared::{Mark, Place, Shared};
use stats::Tally;

/// Capacity of the global queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capacity {
    /// At least one value, and at most this many. When the queue and a worker's deque are full,
    /// that worker cannot send.
    Bounded(usize),
    /// No limit.
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

/// Handles of a new channel.
#[derive(Debug)]
pub struct Channel<T> {
    /// One handle for each thread that both sends and receives, or that only does one of the two.
    pub workers: Vec<Worker<T>>,
    /// Sender for threads that are not workers.
    pub sender: Sender<T>,
    /// Receiver for threads that are not workers.
    pub receiver: Receiver<T>,
}

/// Creates a channel with `workers` workers, each with a deque of `local_capacity` values.
///
/// 256 is a good local capacity. Half of it moves at a time, and a value in the deque is received
/// at once. With no workers this is a channel for any number of senders and receivers, by one
/// locked queue.
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
/// Panics if `local_capacity` or the global queue's capacity is 0, or if a deque is too large to
/// allocate.
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
    assert!(local_capacity > 0, "a worker must have room for one value");
    assert!(
        global.count() > 0,
        "a global queue must have room for one value"
    );
    let deques: Vec<_> = (0..workers)
        .map(|_| deque::bounded_with_fence(local_capacity, fence))
        .collect();
    let tallies: Vec<_> = (0..workers).map(|_| Tally::default()).collect();
    let places = deques.iter().zip(&tallies).map(|(deque, tally)| Place {
        stealer: deque.stealer(),
        mark: Arc::new(CachePadded::new(Mark::new())),
        stats: tally.reader(),
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

/// Error of a receive: there was no value to receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryRecvError {
    /// There was no value anywhere at one moment.
    Empty,
    /// There was no value anywhere at one moment, and the channel is closed.
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
