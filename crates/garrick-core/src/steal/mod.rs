//! A work-stealing channel.
use std::{error, fmt};

use crossbeam_utils::CachePadded;

use crate::deque;
use crate::fence::Asymmetric;
use crate::prim::Arc;

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

/// Creates a channel.
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
