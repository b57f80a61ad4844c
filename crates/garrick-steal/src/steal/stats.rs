//! The counts of a worker, which only this worker writes.
use garrick_core::count::{Counter, CounterReader};

/// The counts of one worker since the channel was created.
///
/// # Examples
///
/// ```
/// use garrick_steal::steal::{self, Capacity};
///
/// let mut channel = steal::channel(1, 2, Capacity::Unbounded);
/// let worker = &mut channel.workers[0];
/// (0..4).for_each(|value| worker.send(value).unwrap());
/// assert_eq!(worker.try_recv(), Ok(3));
/// let stats = channel.receiver.stats()[0];
/// assert_eq!((stats.sent, stats.received, stats.overflowed, stats.stolen), (4, 1, 2, 0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Number of values that the worker has sent.
    pub sent: u64,
    /// Number of values that the worker has received.
    pub received: u64,
    /// Number of values that the worker has stolen from other workers, including stolen values that
    /// it has not received yet.
    pub stolen: u64,
    /// Number of values that the worker has moved from its own deque to the global queue.
    pub overflowed: u64,
}

/// The counters that a worker writes. There is no counter for sent values. Their number is computed
/// from the worker's `Mark`, which counts the values that arrive in the worker's deque and the
/// moves of batches.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) received: Counter,
    pub(super) stolen: Counter,
    pub(super) overflowed: Counter,
    /// Number of events that the worker's `Mark` has counted, but that are not sent values: moves
    /// of batches, and values that the worker took back because the channel was closed.
    pub(super) other_comings: Counter,
}

/// A handle that reads the counters of a worker (its [`Tally`]).
#[derive(Debug, Clone)]
pub(super) struct TallyReader {
    received: CounterReader,
    stolen: CounterReader,
    overflowed: CounterReader,
    other_comings: CounterReader,
}

impl Tally {
    pub(super) fn reader(&self) -> TallyReader {
        TallyReader {
            received: self.received.reader(),
            stolen: self.stolen.reader(),
            overflowed: self.overflowed.reader(),
            other_comings: self.other_comings.reader(),
        }
    }
}

impl TallyReader {
    /// Returns the counts of a worker. `came` is the value of the worker's `Mark`: the number of
    /// values that came to its deque, and of batches that it moved.
    pub(super) fn get(&self, came: u64) -> Stats {
        Stats {
            // Other comings are counted before the mark shows them, so `sent` is never too high.
            sent: came.saturating_sub(self.other_comings.get()),
            received: self.received.get(),
            stolen: self.stolen.get(),
            overflowed: self.overflowed.get(),
        }
    }
}
