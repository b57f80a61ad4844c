//! A worker's handle: sends to its own deque, and receives from there first.
use std::{cell::Cell, fmt, marker::PhantomData, time::Duration};

use super::{
    Stats, TryRecvError,
    hand::Hand,
    outside::{Receiver, Sender, send_waiting},
    wait::{Hunter, Recv, Waiter},
};
use crate::queue::{PopTimeoutError, SendError, TrySendError};

/// One thread's handle to a work-stealing channel: sends to its own deque, and receives from there
/// first.
///
/// Dropping it leaves its values to the other handles.
///
/// A worker may move to another thread but cannot be shared:
///
/// ```compile_fail,E0277
/// fn shared(_: impl Sync) {}
/// let channel = garrick_steal::steal::channel::<u8>(1, 8, garrick_steal::steal::Capacity::Unbounded);
/// shared(channel.workers);
/// ```
pub struct Worker<T> {
    hand: Hand<T>,
    waiter: Waiter,
    /// Makes the worker `Send` but not `Sync`: it has one owner.
    not_sync: PhantomData<Cell<T>>,
}

impl<T> Worker<T> {
    pub(super) fn new(hand: Hand<T>) -> Self {
        Self {
            hand,
            waiter: Waiter::new(),
            not_sync: PhantomData,
        }
    }

    /// Sends `value` to the worker's own deque. If the deque is full, half of it goes to the global
    /// queue.
    ///
    /// Does not wait, except for a thief at work when the deque is full.
    ///
    /// # Errors
    ///
    /// Returns the value if the deque and a bounded global queue are full, or the channel is
    /// closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_steal::steal::{self, Capacity, TrySendError};
    ///
    /// let mut channel = steal::channel(1, 2, Capacity::Bounded(1));
    /// let worker = &mut channel.workers[0];
    /// (0..3).for_each(|value| worker.try_send(value).unwrap());
    /// assert_eq!(worker.try_send(3), Err(TrySendError::Full(3)));
    /// assert_eq!(worker.try_recv(), Ok(2));
    /// ```
    #[inline]
    pub fn try_send(&mut self, value: T) -> Result<(), TrySendError<T>> {
        self.hand.try_send(value)
    }

    /// Sends `value`, parked until there is room; see [`try_send`](Self::try_send).
    ///
    /// If all workers only wait for room, no worker makes any. A worker of a bounded channel
    /// without other receivers should receive when [`try_send`](Self::try_send) returns
    /// [`Full`](TrySendError::Full).
    ///
    /// # Errors
    ///
    /// Returns the value if the channel is closed.
    #[inline]
    pub fn send(&mut self, value: T) -> Result<(), SendError<T>> {
        match self.hand.try_send(value) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(value)) => Err(SendError(value)),
            Err(TrySendError::Full(value)) => self.send_waiting(value),
        }
    }

    #[cold]
    fn send_waiting(&mut self, value: T) -> Result<(), SendError<T>> {
        let shared = self.hand.shared.clone();
        let hand = &mut self.hand;
        send_waiting(&shared, &mut self.waiter, value, |value| {
            hand.try_send(value)
        })
    }

    /// Sends all values, each with [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// Returns the values that were not sent if the channel is closed in the meantime.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_steal::steal::{self, Capacity};
    ///
    /// let mut channel = steal::channel(2, 4, Capacity::Unbounded);
    /// channel.workers[0].send_many(0..10).unwrap();
    /// let all: u32 = std::iter::from_fn(|| channel.workers[1].try_recv().ok()).sum();
    /// assert_eq!(all, 45);
    /// ```
    pub fn send_many(
        &mut self,
        values: impl IntoIterator<Item = T>,
    ) -> Result<(), SendError<Vec<T>>> {
        let mut values = values.into_iter();
        while let Some(value) = values.next() {
            if let Err(SendError(value)) = self.send(value) {
                return Err(SendError(std::iter::once(value).chain(values).collect()));
            }
        }
        Ok(())
    }

    /// Receives a value if there is one: the newest of the worker's own values, else the oldest of
    /// the global queue, else the oldest that can be stolen.
    ///
    /// Every 64th receive takes the oldest value of the global queue or of the worker's own deque,
    /// by turns.
    ///
    /// # Errors
    ///
    /// Returns [`Empty`](TryRecvError::Empty) if there was no value anywhere at one moment, or
    /// [`Closed`](TryRecvError::Closed) if there was no value and none can come.
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match self.hand.pop() {
            Some(value) => Ok(value),
            None => self.hand.try_take(),
        }
    }

    /// Receives a value, parked until there is one. Returns `None` once the channel is closed and
    /// empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_steal::steal::{self, Capacity};
    ///
    /// let mut channel = steal::channel(1, 8, Capacity::Unbounded);
    /// let mut worker = channel.workers.pop().unwrap();
    /// let thread = std::thread::spawn(move || worker.recv());
    /// channel.sender.send("hello").unwrap();
    /// assert_eq!(thread.join().unwrap(), Some("hello"));
    /// ```
    #[inline]
    pub fn recv(&mut self) -> Option<T> {
        match self.hand.pop() {
            Some(value) => Some(value),
            None => self.waiter.recv(&mut self.hand, None).ok(),
        }
    }

    /// Receives a value, parked for at most `timeout`.
    ///
    /// # Errors
    ///
    /// Returns [`Timeout`](PopTimeoutError::Timeout) if no value came in time, or
    /// [`Closed`](PopTimeoutError::Closed) once the channel is closed and empty.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, PopTimeoutError> {
        match self.hand.pop() {
            Some(value) => Ok(value),
            None => self.waiter.recv(&mut self.hand, Some(timeout)),
        }
    }

    /// Receives a value as a future that any executor can run.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no value and no wake-up.
    pub fn recv_async(&mut self) -> Recv<'_, T>
    where
        T: Send,
    {
        Recv::new(&mut self.hand)
    }

    /// Closes the channel for all handles. No more values can be sent. The values in the channel
    /// can still be received.
    ///
    /// Returns true if the channel was open.
    pub fn close(&self) -> bool {
        self.hand.shared.close()
    }

    /// Returns true if the channel is closed. It may still hold values.
    pub fn is_closed(&self) -> bool {
        self.hand.shared.bell.is_closed()
    }

    /// Returns roughly how many values are in the whole channel.
    pub fn len(&self) -> usize {
        self.hand.shared.len()
    }

    /// Returns true if the whole channel seems to be empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns roughly how many values are in the worker's own deque.
    pub fn local_len(&self) -> usize {
        self.hand.len()
    }

    /// Returns the worker's number, from 0: the index of its counts in [`Receiver::stats`].
    pub fn id(&self) -> usize {
        self.hand.id
    }

    /// Returns the worker's counts so far.
    pub fn stats(&self) -> Stats {
        self.hand.shared.places[self.hand.id].stats()
    }

    /// Creates an outside sender.
    pub fn sender(&self) -> Sender<T> {
        self.hand.shared.add_sender();
        Sender::new(self.hand.shared.clone())
    }

    /// Creates an outside receiver.
    pub fn receiver(&self) -> Receiver<T> {
        self.hand.shared.add_receiver();
        Receiver::new(self.hand.shared.clone())
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.hand.shared.remove_sender();
        self.hand.shared.remove_receiver();
    }
}

impl<T> fmt::Debug for Worker<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("id", &self.id())
            .field("local_len", &self.local_len())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
