//! The receiving side of an async actor's mailbox.

use std::any::type_name;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use futures_core::Stream;
use garrick_core::lend::Borrower;
use garrick_sched::{LetterReason, count_dead_letters};

use super::context::AsyncContext;
use super::hand::Hand;
use super::queue::Queue;
use super::shared::Shared;
use crate::beside::pipes::Cancel;
use crate::quiet;

/// The receiving side of an async actor's mailbox. Implements [`Stream`].
///
/// A function that takes an `Incoming` and returns a future can be spawned as an actor. The actor
/// consists of this future. The actor stops when the future completes, when the actor is stopped,
/// for example by [`Address::stop`](crate::Address::stop), or when the actor's system shuts down.
/// The future is then dropped on the actor's worker, even if the future has not completed. Dropping
/// the last address does not stop the actor. Instead, [`Incoming::recv`] returns `None`.
///
/// Each poll of the future is a [turn](crate::Context). Messages that the future sends during a
/// poll are delivered when the poll returns. If a poll panics, its staged effects are discarded,
/// and the actor fails. If an actor is spawned in a turn that is undone, the function is not
/// called.
///
/// # Examples
/// The parameter of a closure needs a type annotation:
/// ```
/// use garrick_actor::{Incoming, Reply, System};
///
/// let system = System::new()?;
/// let sum = system.spawn(|mut mailbox: Incoming<(u64, Reply<u64>)>| async move {
///     let mut sum = 0;
///     while let Some((n, reply)) = mailbox.recv().await {
///         sum += n;
///         reply.send(sum);
///     }
/// })?;
/// assert_eq!(sum.ask(|reply| (2, reply)).wait(), Ok(2));
/// assert_eq!(sum.ask(|reply| (3, reply)).wait(), Ok(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// On a [`Local`](crate::Local), neither the function nor the future needs to be `Send`. Only the
/// messages must be `Send`:
/// ```
/// use std::{cell::Cell, rc::Rc};
/// use garrick_actor::{Incoming, Local};
///
/// let local = Local::new()?;
/// let sum = Rc::new(Cell::new(0));
/// let seen = sum.clone();
/// let add = local.spawn(|mut mailbox: Incoming<u32>| async move {
///     while let Some(n) = mailbox.recv().await {
///         sum.set(sum.get() + n);
///     }
/// });
/// add.send(2)?;
/// add.send(3)?;
/// local.run();
/// assert_eq!(seen.get(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Incoming<M: Send + 'static> {
    shared: Arc<Shared<M>>,
    /// Messages taken from the queue in [`Shared`] all at once, so that most messages need no lock.
    batch: VecDeque<M>,
    /// Maximum number of messages that a poll can receive.
    share: usize,
    /// The messages for async handlers (a [`Hand`]). `None` if the actor is an async function,
    /// which receives messages from the queue in [`Shared`].
    hand: Option<Borrower<Hand<M>>>,
    /// Sequence number of the actor's poll to which the limit in `left` applies.
    poll: u64,
    /// Number of messages that the actor can still receive in the poll with the number `poll`.
    left: usize,
}

impl<M: Send + 'static> Incoming<M> {
    pub(super) fn new(shared: Arc<Shared<M>>, hand: Option<Borrower<Hand<M>>>) -> Self {
        Self {
            hand,
            share: shared.receives.share(),
            shared,
            batch: VecDeque::new(),
            poll: 0,
            left: 0,
        }
    }

    /// Returns the actor's context, which provides all operations except receiving.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use garrick_actor::{Incoming, Reply, System};
    ///
    /// let system = System::new()?;
    /// let slow = system.spawn(|mut mailbox: Incoming<(u32, Reply<u32>)>| async move {
    ///     let cx = mailbox.context();
    ///     while let Some((n, reply)) = mailbox.recv().await {
    ///         cx.sleep(Duration::from_micros(10)).await;
    ///         reply.send(n + 1);
    ///     }
    /// })?;
    /// assert_eq!(slow.ask(|reply| (1, reply)).wait(), Ok(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn context(&self) -> AsyncContext<M> {
        AsyncContext::new(self.shared.clone())
    }

    /// Splits this `Incoming` into the actor's context and the messages for its async handlers (its
    /// [`Hand`]). The second part is `None` if the actor is an async function.
    pub(super) fn into_parts(mut self) -> (AsyncContext<M>, Option<Borrower<Hand<M>>>) {
        (self.context(), self.hand.take())
    }

    /// Waits for the next message. Returns `None` once all addresses of the actor have been dropped
    /// and all messages have been received.
    ///
    /// One poll of the actor can receive at most 64 messages. After that, this future returns
    /// `Pending` once, so that other actors can run. The limit does not affect other futures that
    /// the actor awaits.
    ///
    /// # Cancel safety
    /// This method is cancel safe. A message is removed from the mailbox only when the future
    /// completes.
    pub async fn recv(&mut self) -> Option<M> {
        let waiting = Waiting(self);
        let received = poll_fn(|context| waiting.0.poll_recv(context)).await;
        mem::forget(waiting);
        received
    }

    /// Polls for the next message, like [`Incoming::recv`].
    pub fn poll_recv(&mut self, context: &mut task::Context<'_>) -> Poll<Option<M>> {
        let poll = self.shared.bell.polls();
        if self.poll != poll {
            self.poll = poll;
            self.left = self.share;
        }
        if self.left > 0
            && let Some(message) = self.batch.pop_front()
        {
            self.left -= 1;
            return Poll::Ready(Some(message));
        }
        self.poll_queue(context)
    }

    /// Returns the next message if one is available, without waiting. Unlike [`Incoming::recv`],
    /// this method can receive any number of messages in one poll of the actor.
    pub fn try_recv(&mut self) -> Option<M> {
        let known = self.batch.pop_front();
        known.or_else(|| self.shared.inner().queue.take_first(&mut self.batch))
    }

    /// Returns the number of messages that can be received without waiting.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batch.len() + self.shared.inner().queue.len()
    }

    /// Returns true if no message can be received without waiting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the actor as a [`Cancel`], through which the actor can be stopped.
    pub(super) fn as_cancel(&self) -> Arc<dyn Cancel> {
        self.shared.clone()
    }

    /// Records that no receiver is waiting for a message.
    fn stop_waiting(&self) {
        let mut inner = self.shared.inner();
        inner.is_awaited = false;
        let receiver = inner.receiver.take();
        drop(inner);
        quiet::drop(receiver);
    }

    /// Polls the shared queue. Called if `batch` is empty, or if the current poll has already
    /// received the maximum number of messages.
    fn poll_queue(&mut self, context: &task::Context<'_>) -> Poll<Option<M>> {
        let mut inner = self.shared.inner();
        if self.left > 0
            && let Some(message) = inner.queue.take_first(&mut self.batch)
        {
            inner.is_awaited = false;
            self.left -= 1;
            return Poll::Ready(Some(message));
        }
        let waits = !self.batch.is_empty() || !inner.queue.is_empty();
        if inner.closed && !waits {
            inner.is_awaited = false;
            return Poll::Ready(None);
        }
        inner.hungry |= waits;
        inner.is_awaited = true;
        let known = inner.receiver.as_ref();
        if known.is_some_and(|known| known.will_wake(context.waker())) {
            return Poll::Pending;
        }
        drop(inner);
        // Wakers are cloned and dropped while nothing is locked, because they may run arbitrary
        // code. No message can arrive in the meantime, because the queue is only filled between two
        // polls.
        let waker = context.waker().clone();
        let before = self.shared.inner().receiver.replace(waker);
        drop(before);
        Poll::Pending
    }
}

/// A guard that exists while a future waits for a message. If the future is dropped, the actor need
/// not be polled when the next message arrives.
struct Waiting<'a, M: Send + 'static>(&'a mut Incoming<M>);

impl<M: Send + 'static> Drop for Waiting<'_, M> {
    fn drop(&mut self) {
        self.0.stop_waiting();
    }
}

impl<M: Send + 'static> Stream for Incoming<M> {
    type Item = M;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Option<M>> {
        self.poll_recv(context)
    }
}

impl<M: Send + 'static> Unpin for Incoming<M> {}

impl<M: Send + 'static> Drop for Incoming<M> {
    fn drop(&mut self) {
        let mut inner = self.shared.inner();
        // No receiver is waiting any more.
        inner.is_awaited = false;
        let receiver = inner.receiver.take();
        if inner.is_over {
            drop(inner);
            quiet::drop(receiver);
            let count = self.batch.len() as u64;
            count_dead_letters(type_name::<M>, LetterReason::Stopped, count);
            return quiet::drop_each(mem::take(&mut self.batch));
        }
        // The code that ends the actor takes care of unreceived messages.
        inner.queue.drain_behind(&mut self.batch);
        inner.queue = Queue::of(mem::take(&mut self.batch));
        drop(inner);
        quiet::drop(receiver);
    }
}

impl<M: Send + 'static> fmt::Debug for Incoming<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
