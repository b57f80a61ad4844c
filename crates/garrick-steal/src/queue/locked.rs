//! A locked queue: a ring under a mutex. The queue can be bounded.
//!
//! The locked queue is the simplest of the three queues, and the baseline for the other two. If a
//! locked queue is bounded, senders wait while the queue is full.
//!
//! ```text
//!     senders --lock--> [ VecDeque | who sleeps ] <--lock-- receiver
//!        ^                    |        |                       ^
//!        +----- not_full -----+        +------ not_empty ------+
//! ```
//!
//! Every operation takes the lock, and no user code runs while the lock is held. Sleeping threads
//! are counted under the lock, because notifying a condition variable makes a system call even if
//! no thread is waiting. There can be any number of [`Producer`]s, on any threads. There is one
//! [`Consumer`].

use std::{
    collections::VecDeque,
    fmt,
    sync::PoisonError,
    time::{Duration, Instant},
};

use garrick_core::prim::{Arc, Condvar, Mutex, MutexGuard};

use super::{PopTimeoutError, Queue, Receiver, SendError, Sender, TrySendError};

/// A type that selects the [locked queue](self) in code that is generic over [`Queue`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Locked;

impl Queue for Locked {
    type Sender<T: Send + 'static> = Producer<T>;
    type Receiver<T: Send + 'static> = Consumer<T>;

    fn channel<T: Send + 'static>() -> (Producer<T>, Consumer<T>) {
        channel()
    }
}

struct State<T> {
    values: VecDeque<T>,
    senders: usize,
    /// Number of senders that sleep on the condition variable `not_full`.
    senders_asleep: usize,
    /// True while the receiver sleeps on the condition variable `not_empty`.
    is_receiver_asleep: bool,
    /// True once the receiver was dropped.
    is_closed: bool,
}

struct Shared<T> {
    state: Mutex<State<T>>,

    /// Condition variable on which the receiver waits until there is a value or all senders were
    /// dropped.
    not_empty: Condvar,

    /// Condition variable on which senders wait until there is room or the receiver was dropped.
    not_full: Condvar,

    /// Maximum number of values in the queue. Never changes.
    capacity: usize,
}

/// The sending half of a locked queue. Created by [`channel`] or [`bounded`].
pub struct Producer<T> {
    shared: Arc<Shared<T>>,
}

/// The receiving half of a locked queue. Created by [`channel`] or [`bounded`].
pub struct Consumer<T> {
    shared: Arc<Shared<T>>,
}

/// Creates an unbounded locked queue.
///
/// # Examples
///
/// ```
/// use garrick_steal::queue::{Receiver, Sender, locked};
///
/// let (producer, mut consumer) = locked::channel();
/// producer.push(1).unwrap();
/// drop(producer);
/// assert_eq!(consumer.blocking_pop(), Some(1));
/// assert_eq!(consumer.blocking_pop(), None);
/// ```
pub fn channel<T>() -> (Producer<T>, Consumer<T>) {
    with_capacity(usize::MAX)
}

/// Creates a locked queue of at most `capacity` values. If the queue is full, `push` waits for
/// room.
///
/// # Examples
///
/// ```
/// use garrick_steal::queue::{TrySendError, locked};
///
/// let (producer, consumer) = locked::bounded(1);
/// assert_eq!(producer.try_push('a'), Ok(()));
/// assert_eq!(producer.try_push('b'), Err(TrySendError::Full('b')));
/// drop(consumer);
/// assert_eq!(producer.try_push('c'), Err(TrySendError::Closed('c')));
/// ```
///
/// # Panics
///
/// Panics if `capacity` is 0.
#[track_caller]
pub fn bounded<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    assert!(capacity > 0, "the capacity of a queue must be at least 1");
    with_capacity(capacity)
}

fn with_capacity<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            values: VecDeque::new(),
            senders: 1,
            senders_asleep: 0,
            is_receiver_asleep: false,
            is_closed: false,
        }),
        not_empty: Condvar::new(),
        not_full: Condvar::new(),
        capacity,
    });
    let producer = Producer {
        shared: shared.clone(),
    };
    (producer, Consumer { shared })
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code panics with the lock held, so a poisoned lock is still valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room or the queue is closed.
    fn wait_for_room<'a>(&self, mut state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        while state.values.len() >= self.capacity && !state.is_closed {
            state.senders_asleep += 1;
            state = (self.not_full.wait(state)).unwrap_or_else(PoisonError::into_inner);
            state.senders_asleep -= 1;
        }
        state
    }

    /// Unlocks after values were added, and wakes the receiver if it is asleep.
    fn added(&self, state: MutexGuard<'_, State<T>>) {
        let must_wake = state.is_receiver_asleep;
        drop(state);
        if must_wake {
            self.not_empty.notify_one();
        }
    }

    /// Unlocks after `count` values were removed, and wakes senders that are asleep.
    fn removed(&self, state: MutexGuard<'_, State<T>>, count: usize) {
        let asleep = state.senders_asleep;
        drop(state);
        match count.min(asleep) {
            0 => {}
            1 => self.not_full.notify_one(),
            _ => self.not_full.notify_all(),
        }
    }

    /// Sleeps until there is a value or all senders were dropped, but no longer than the time
    /// `left`.
    fn sleep<'a>(
        &self,
        mut state: MutexGuard<'a, State<T>>,
        left: Option<Duration>,
    ) -> MutexGuard<'a, State<T>> {
        state.is_receiver_asleep = true;
        state = match left {
            None => (self.not_empty.wait(state)).unwrap_or_else(PoisonError::into_inner),
            Some(left) => {
                let result = self.not_empty.wait_timeout(state, left);
                result.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        state.is_receiver_asleep = false;
        state
    }

    fn pop(&self, timeout: Option<Duration>) -> Result<T, PopTimeoutError> {
        // A timeout beyond the range of the clock counts as no timeout.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.lock();
        loop {
            if let Some(value) = state.values.pop_front() {
                self.removed(state, 1);
                return Ok(value);
            }
            if state.senders == 0 {
                return Err(PopTimeoutError::Closed);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(PopTimeoutError::Timeout);
            }
            state = self.sleep(state, left);
        }
    }
}

impl<T> Producer<T> {
    /// Appends a value if there is room.
    ///
    /// # Errors
    ///
    /// Returns the value if the queue is full or the receiver was dropped.
    pub fn try_push(&self, value: T) -> Result<(), TrySendError<T>> {
        let mut state = self.shared.lock();
        if state.is_closed {
            return Err(TrySendError::Closed(value));
        }
        if state.values.len() >= self.shared.capacity {
            return Err(TrySendError::Full(value));
        }
        state.values.push_back(value);
        self.shared.added(state);
        Ok(())
    }
}

impl<T: Send> Sender<T> for Producer<T> {
    #[inline]
    fn push(&self, value: T) -> Result<(), SendError<T>> {
        let mut state = self.shared.wait_for_room(self.shared.lock());
        if state.is_closed {
            return Err(SendError(value));
        }
        state.values.push_back(value);
        self.shared.added(state);
        Ok(())
    }

    fn push_many(&self, values: impl IntoIterator<Item = T>) -> Result<(), SendError<Vec<T>>> {
        // The iterator is foreign code, which must not run with the lock held.
        let values: Vec<T> = values.into_iter().collect();
        let mut values = values.into_iter();
        while values.len() > 0 {
            let mut state = self.shared.wait_for_room(self.shared.lock());
            if state.is_closed {
                return Err(SendError(values.collect()));
            }
            let room = self.shared.capacity - state.values.len();
            state.values.extend(values.by_ref().take(room));
            self.shared.added(state);
        }
        Ok(())
    }

    fn is_closed(&self) -> bool {
        self.shared.lock().is_closed
    }
}

impl<T: Send> Receiver<T> for Consumer<T> {
    #[inline]
    fn try_pop(&mut self) -> Option<T> {
        let mut state = self.shared.lock();
        let value = state.values.pop_front()?;
        self.shared.removed(state, 1);
        Some(value)
    }

    fn pop_many(&mut self, into: &mut Vec<T>, count_max: usize) -> usize {
        let mut state = self.shared.lock();
        let count = count_max.min(state.values.len());
        into.extend(state.values.drain(..count));
        self.shared.removed(state, count);
        count
    }

    fn blocking_pop(&mut self) -> Option<T> {
        self.shared.pop(None).ok()
    }

    fn pop_timeout(&mut self, timeout: Duration) -> Result<T, PopTimeoutError> {
        self.shared.pop(Some(timeout))
    }

    fn len(&self) -> usize {
        self.shared.lock().values.len()
    }

    fn is_closed(&self) -> bool {
        self.shared.lock().senders == 0
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        self.shared.lock().senders += 1;
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.senders -= 1;
        if state.senders == 0 {
            self.shared.added(state);
        }
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        // Values are dropped after unlocking: their drop is foreign code.
        let left = std::mem::take(&mut state.values);
        self.shared.removed(state, usize::MAX);
        drop(left);
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("len", &self.shared.lock().values.len())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("len", &self.shared.lock().values.len())
            .finish_non_exhaustive()
    }
}
