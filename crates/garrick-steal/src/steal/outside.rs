//! Handles for threads that are not workers. These handles have no deque.
use std::{collections::VecDeque, fmt, time::Duration};

use garrick_core::prim::Arc;

use super::{
    Stats, TryRecvError,
    bell::Ticket,
    global::Refusal,
    shared::{Shared, Verdict},
    wait::{Hunter, Recv, Supplier, Waiter},
};
use crate::deque::Steal;
use crate::queue::{PopTimeoutError, SendError, TrySendError};

/// Maximum number of values that [`Sender::send_many`] moves to the global queue at a time.
const BATCH_MAX: usize = 256;

/// A handle that sends to a work-stealing channel, for threads that are not workers.
///
/// The values go to the global queue. All clones send to the same channel.
pub struct Sender<T> {
    pub(super) shared: Arc<Shared<T>>,
}

/// A handle that receives from a work-stealing channel, for threads that are not workers.
///
/// Each receive takes a single value from the channel. All clones receive from the same channel.
///
/// A [`Worker`](super::Worker) takes many values from the channel in one step. So prefer a worker,
/// even for a thread that only receives.
pub struct Receiver<T> {
    prowler: Prowler<T>,
    waiter: Waiter,
}

/// The part of a [`Receiver`] that takes values without waiting.
struct Prowler<T> {
    shared: Arc<Shared<T>>,
    /// Index of the worker from which this receiver stole a value most recently. At first, 0.
    victim: usize,
    /// Buffer for the counters that [`Shared::verdict`] compares to check that the channel is
    /// empty.
    marks: Vec<u64>,
}

impl<T> Sender<T> {
    pub(super) fn new(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    /// Sends `value` to the global queue.
    ///
    /// # Errors
    ///
    /// Returns the value if the global queue is bounded and full, or if the channel is closed.
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match self.shared.global.push_one(value) {
            Ok(()) => {
                self.shared.announce();
                Ok(())
            }
            Err((value, Refusal::Full)) => Err(TrySendError::Full(value)),
            Err((value, Refusal::Closed)) => Err(TrySendError::Closed(value)),
        }
    }

    /// Waits until the global queue has room, and sends `value` to it.
    ///
    /// # Errors
    ///
    /// Returns the value if the channel is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_steal::steal::{self, Capacity, SendError};
    ///
    /// let mut channel = steal::channel(1, 8, Capacity::Unbounded);
    /// channel.sender.send(1).unwrap();
    /// channel.sender.close();
    /// assert_eq!(channel.sender.send(2), Err(SendError(2)));
    /// assert_eq!(channel.workers[0].recv(), Some(1));
    /// assert_eq!(channel.workers[0].recv(), None);
    /// ```
    #[inline]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match self.try_send(value) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(value)) => Err(SendError(value)),
            Err(TrySendError::Full(value)) => Waiter::new().send(&self.shared, &mut &*self, value),
        }
    }

    /// Sends all values in order. A batch costs less per value than single calls of
    /// [`send`](Self::send).
    ///
    /// Takes the items from `values` in batches of up to 256, and sends each batch before it takes
    /// the next one.
    ///
    /// # Errors
    ///
    /// If the channel is closed, returns all values that were not sent, including the remaining
    /// items of `values`.
    pub fn send_many(&self, values: impl IntoIterator<Item = T>) -> Result<(), SendError<Vec<T>>> {
        let mut values = values.into_iter();
        // The iterator is foreign code, which must not run under the lock.
        let mut batch: VecDeque<T> = VecDeque::new();
        loop {
            batch.extend(values.by_ref().take(BATCH_MAX - batch.len()));
            if batch.is_empty() {
                return Ok(());
            }
            let pushed = self.shared.global.push_outside(&mut batch);
            self.shared.announce();
            let sent = match (pushed, batch.pop_front()) {
                // The queue is full: wait with the first of the values left.
                (Err(Refusal::Full), Some(value)) => self.send(value),
                (Err(Refusal::Closed), Some(value)) => Err(SendError(value)),
                _ => Ok(()),
            };
            if let Err(SendError(value)) = sent {
                let rest = batch.into_iter().chain(values);
                return Err(SendError(std::iter::once(value).chain(rest).collect()));
            }
        }
    }

    /// Closes the channel for all handles. After the call, no more values can be sent, but the
    /// values in the channel can still be received.
    ///
    /// Returns true if the channel was open.
    pub fn close(&self) -> bool {
        self.shared.close()
    }

    /// Returns true if the channel is closed. A closed channel may still contain values.
    pub fn is_closed(&self) -> bool {
        self.shared.bell.is_closed()
    }

    /// Returns the approximate number of values in the whole channel.
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Returns true if the whole channel seems to be empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the [`Stats`] of all workers, in a vector that is indexed by
    /// [`Worker::id`](super::Worker::id).
    pub fn stats(&self) -> Vec<Stats> {
        self.shared.stats()
    }
}

impl<T> Receiver<T> {
    pub(super) fn new(shared: Arc<Shared<T>>) -> Self {
        let prowler = Prowler {
            marks: Vec::with_capacity(shared.places.len()),
            shared,
            victim: 0,
        };
        Self {
            prowler,
            waiter: Waiter::new(),
        }
    }

    /// Receives a value if there is one. Takes the oldest value of the global queue. If the global
    /// queue is empty, steals the oldest value of a worker.
    ///
    /// # Errors
    ///
    /// Returns an error if the whole channel was empty at one moment during the call. The error is
    /// [`Closed`](TryRecvError::Closed) if the channel is closed, and
    /// [`Empty`](TryRecvError::Empty) otherwise.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.prowler.try_take()
    }

    /// Waits until there is a value, and receives it. Returns `None` if the channel is closed and
    /// empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_steal::steal::{self, Capacity};
    ///
    /// let mut channel = steal::channel(1, 8, Capacity::Unbounded);
    /// channel.workers[0].send_many([1, 2]).unwrap();
    /// drop((channel.workers, channel.sender));
    /// assert_eq!(channel.receiver.recv(), Some(1));
    /// assert_eq!(channel.receiver.recv(), Some(2));
    /// assert_eq!(channel.receiver.recv(), None);
    /// ```
    pub fn recv(&mut self) -> Option<T> {
        self.waiter.recv(&mut self.prowler, None).ok()
    }

    /// Waits until there is a value, but for at most `timeout`, and receives it.
    ///
    /// # Errors
    ///
    /// Returns [`Timeout`](PopTimeoutError::Timeout) if no value arrived before the timeout.
    /// Returns [`Closed`](PopTimeoutError::Closed) once the channel is closed and empty.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, PopTimeoutError> {
        self.waiter.recv(&mut self.prowler, Some(timeout))
    }

    /// Returns a future that receives a value. Any executor can run it.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, no value and no wake-up is lost.
    pub fn recv_async(&mut self) -> Recv<'_, T>
    where
        T: Send,
    {
        Recv::new(&mut self.prowler)
    }

    /// Closes the channel for all handles. After the call, no more values can be sent, but the
    /// values in the channel can still be received.
    ///
    /// Returns true if the channel was open.
    pub fn close(&self) -> bool {
        self.prowler.shared.close()
    }

    /// Returns true if the channel is closed. A closed channel may still contain values.
    pub fn is_closed(&self) -> bool {
        self.prowler.shared.bell.is_closed()
    }

    /// Returns the approximate number of values in the whole channel.
    pub fn len(&self) -> usize {
        self.prowler.shared.len()
    }

    /// Returns true if the whole channel seems to be empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the [`Stats`] of all workers, in a vector that is indexed by
    /// [`Worker::id`](super::Worker::id).
    pub fn stats(&self) -> Vec<Stats> {
        self.prowler.shared.stats()
    }
}

impl<T> Prowler<T> {
    /// Steals one value. Starts with the worker from which this receiver stole a value most
    /// recently.
    fn steal(&mut self) -> Option<T> {
        let places = &self.shared.places;
        let first = self.victim;
        (0..places.len()).find_map(|step| {
            let victim = (first + step) % places.len();
            match places[victim].stealer.steal() {
                Steal::Success(value) => {
                    self.victim = victim;
                    self.shared.announce_room_of(victim);
                    Some(value)
                }
                Steal::Empty | Steal::Busy => None,
            }
        })
    }
}

impl<T> Hunter<T> for Prowler<T> {
    fn look(&mut self) -> Option<T> {
        let oldest = self.shared.global.pop();
        if oldest.is_some() {
            self.shared.announce_room();
        }
        oldest.or_else(|| self.steal())
    }

    fn verdict(&mut self) -> Verdict {
        self.shared.verdict(&mut self.marks)
    }

    fn shared(&self) -> &Shared<T> {
        &self.shared
    }
}

impl<T> Supplier<T> for &Sender<T> {
    fn try_send(&mut self, value: T) -> Result<(), TrySendError<T>> {
        Sender::try_send(self, value)
    }

    fn has_room(&mut self, _: Ticket) -> bool {
        self.shared.global.has_room()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.add_sender();
        Self::new(self.shared.clone())
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.prowler.shared.add_receiver();
        Self::new(self.prowler.shared.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.remove_sender();
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.prowler.shared.remove_receiver();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("len", &self.len())
            .field("waiting", &*self.shared.bell)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("len", &self.len())
            .field("waiting", &*self.prowler.shared.bell)
            .finish_non_exhaustive()
    }
}
