//! A channel for threads that both send and receive: each prefers what is its own, and steals when that runs out.
//!
//! The system is that of `BeamDequeChannel` of the Zig library zig-beam: a bounded deque for each worker, a global
//! queue for what is too much, and stealing. Its deque is [`crate::deque`], a THE deque (Frigo, Leiserson, Randall,
//! 1998) whose owner pays no read-modify-write; how one knows that everything is empty, how sleepers are woken, and
//! that the oldest value does not starve, are ours. The parts say more where they are: `shared` on emptiness and the
//! close, `bell` on wake-ups, `global` on the queue.
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
//! A worker receives the newest value of its own deque, else from the global queue, else it steals half of another
//! deque, oldest first. Every 64th receive is *fair*: it takes the oldest value of the global queue or of the
//! own deque, by turns. There is no order among values that different threads receive, and none to rely on in general.
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
//! **What is promised.** Each value is received once, or dropped once with the last handle. "Empty" and "closed" are
//! answers about one moment at which every place was empty; a look that meets a move waits for it to end. A value
//! sent wakes one of those who wait, unless one is up and searching already; that one wakes the next if there is
//! more. What a dropped worker held is there for the others to steal. A send that runs beside a close either gives
//! the value back or is received.
//!
//! A worker that finds nothing spins a little if there are cores to spare, yields its core twice, and parks.
//! Between looks at places that are not all empty it backs off as the Zig library does, for min(attempt, workers / 2)
//! pauses, with more than two workers.
//!
//! # Examples
//!
//! ```
//! use std::thread;
//! use garrick_steal::steal::{self, Capacity};
//!
//! // Each number n above 1 is replaced by two smaller ones that add up to it, by whoever is free.
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
//! // Whoever found nothing left, and the others did the rest.
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

/// How many values the global queue may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capacity {
    /// So many, at least one; when they are there and a worker's deque is full, it cannot send.
    Bounded(usize),
    /// Any number.
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
    /// One for each thread that both sends and receives, or does one of the two all the time.
    pub workers: Vec<Worker<T>>,
    /// For those who are no workers.
    pub sender: Sender<T>,
    /// For those who are no workers.
    pub receiver: Receiver<T>,
}

/// Creates a channel with so many workers, each with a deque of `local_capacity` values.
///
/// 256 is a good local capacity: half of it is what moves at a time, and a value is received from there at once.
/// With no workers this is a channel for any number of senders and receivers, by one locked queue.
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
/// If `local_capacity` or the global queue's capacity is 0, or a deque is too large to allocate.
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

/// There was nothing to receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryRecvError {
    /// There was no value anywhere at one moment.
    Empty,
    /// There was none, and the channel is closed.
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
