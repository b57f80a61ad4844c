//! Counts of a worker, which only this worker writes.
use garrick_core::count::{Counter, CounterReader};

/// Counts of one worker so far.
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
    /// Number of values sent.
    pub sent: u64,
    /// Number of values received.
    pub received: u64,
    /// Number of values stolen from other workers, even if they are not received yet.
    pub stolen: u64,
    /// Number of values moved from the worker's own deque to the global queue.
    pub overflowed: u64,
}

/// Counters that a worker writes. The number of values sent is not among them. It follows from the
/// worker's mark, which counts everything that has come to its deque.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) received: Counter,
    pub(super) stolen: Counter,
    pub(super) overflowed: Counter,
    /// Number to subtract from the count of the mark to get the values sent: the moves, and the
    /// values that were taken back.
    pub(super) other_comings: Counter,
}

/// Reads a [`Tally`].
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
    /// Returns the counts of a worker. `came` is the count of its mark.
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
