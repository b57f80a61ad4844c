//! The handle of a worker. A worker sends to its own deque, and receives first from its own deque.
use std::{cell::Cell, fmt, marker::PhantomData, time::Duration};

use super::{
    Stats, TryRecvError,
    hand::Hand,
    outside::{Receiver, Sender},
    wait::{Hunter, Recv, Waiter},
};
use crate::queue::{PopTimeoutError, SendError, TrySendError};

/// A worker thread's handle to a work-stealing channel. A worker sends to its own deque, and
/// receives first from its own deque.
///
/// After a worker has been dropped, the other handles can still receive its values.
///
/// A worker can be sent to another thread, but it cannot be shared between threads:
///
/// ```compile_fail,E0277
/// fn shared(_: impl Sync) {}
/// let channel = garrick_steal::steal::channel::<u8>(1, 8, garrick_steal::steal::Capacity::Unbounded);
/// shared(channel.workers);
/// ```
pub struct Worker<T> {
    pub(super) hand: Hand<T>,
    waiter: Waiter,
    /// Makes the worker `Send` but not `Sync`, because only one thread at a time may use it.
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

    /// Sends `value` to the worker's own deque. If the deque is full, half of its values first move
    /// to the global queue.
    ///
    /// Waits only if the deque is full. In this case, the call may wait for one thief and for the
    /// lock of the global queue.
    ///
    /// # Errors
    ///
    /// Returns the value if the deque and the global queue are full, or if the channel is closed.
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

    /// Waits until there is room, and sends `value` as [`try_send`](Self::try_send) does.
    ///
    /// If all threads that receive from a bounded channel wait for room at the same time, they wait
    /// forever. So if the workers are the only receivers, a worker should use
    /// [`try_send`](Self::try_send) instead. If `try_send` returns [`Full`](TrySendError::Full),
    /// the worker should first receive a value, and then try again.
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
        let sent = self.waiter.send(&shared, &mut self.hand, value);
        shared.places[self.hand.id].shown.hide();
        sent
    }

    /// Sends all values, each with [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// If the channel is closed, returns all values that were not sent, including the remaining
    /// items of `values`.
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

    /// Receives a value if there is one. Takes the newest value of the worker's own deque. If the
    /// deque is empty, takes the oldest value of the global queue. If the global queue is also
    /// empty, steals the oldest value of another worker.
    ///
    /// Every 64th receive takes an old value instead: alternately the oldest value of the global
    /// queue and the oldest value of the worker's own deque.
    ///
    /// # Errors
    ///
    /// Returns an error if the whole channel was empty at one moment during the call. The error is
    /// [`Closed`](TryRecvError::Closed) if the channel is closed, and
    /// [`Empty`](TryRecvError::Empty) otherwise.
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match self.hand.pop() {
            Some(value) => Ok(value),
            None => self.hand.try_take(),
        }
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

    /// Waits until there is a value, but for at most `timeout`, and receives it.
    ///
    /// # Errors
    ///
    /// Returns [`Timeout`](PopTimeoutError::Timeout) if no value arrived before the timeout.
    /// Returns [`Closed`](PopTimeoutError::Closed) once the channel is closed and empty.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, PopTimeoutError> {
        match self.hand.pop() {
            Some(value) => Ok(value),
            None => self.waiter.recv(&mut self.hand, Some(timeout)),
        }
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
        Recv::new(&mut self.hand)
    }

    /// Closes the channel for all handles. After the call, no more values can be sent, but the
    /// values in the channel can still be received.
    ///
    /// Returns true if the channel was open.
    pub fn close(&self) -> bool {
        self.hand.shared.close()
    }

    /// Returns true if the channel is closed. A closed channel may still contain values.
    pub fn is_closed(&self) -> bool {
        self.hand.shared.bell.is_closed()
    }

    /// Returns the approximate number of values in the whole channel.
    pub fn len(&self) -> usize {
        self.hand.shared.len()
    }

    /// Returns true if the whole channel seems to be empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the approximate number of values in the worker's own deque.
    pub fn local_len(&self) -> usize {
        self.hand.len()
    }

    /// Returns the index of the worker, counted from 0. The result of [`Receiver::stats`] uses the
    /// same indices.
    pub fn id(&self) -> usize {
        self.hand.id
    }

    /// Returns the current [`Stats`] of this worker.
    pub fn stats(&self) -> Stats {
        self.hand.shared.places[self.hand.id].stats()
    }

    /// Creates a sender for a thread that is not a worker.
    pub fn sender(&self) -> Sender<T> {
        self.hand.shared.add_sender();
        Sender::new(self.hand.shared.clone())
    }

    /// Creates a receiver for a thread that is not a worker.
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
