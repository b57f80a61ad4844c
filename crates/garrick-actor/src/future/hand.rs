//! The hand: state that the task of an async actor (its body) lends to the actor's handlers during
//! a poll.
//!
//! The handlers of an [`AsyncActor`](super::AsyncActor) run in one future, which only the body
//! polls. So the state that the body and the future share needs no lock. The body lends this state
//! to the future during a poll, and the future takes its message from there.

use std::collections::VecDeque;
use std::task::Poll;

use garrick_core::lend::Borrower;

use super::queue::Queue;
use super::shared::Shared;

/// Messages that are waiting for the handlers of an actor, and the state of the current poll.
pub(super) struct Hand<M> {
    /// Messages that have arrived.
    queue: Queue<M>,
    /// True once the current poll has received a message.
    has_received: bool,
    /// True if the future is waiting for a message.
    pub(super) wants: bool,
    /// True once the last address has been dropped. This field stays true if the mailbox is opened
    /// again, so [`Shared`] has the current state.
    pub(super) was_closed: bool,
}

impl<M: Send + 'static> Hand<M> {
    pub(super) fn of(messages: VecDeque<M>) -> Self {
        Self {
            queue: Queue::of(messages),
            has_received: false,
            wants: true,
            was_closed: false,
        }
    }

    /// Adds a message to the end of the queue.
    #[inline]
    pub(super) fn push(&mut self, message: M) {
        self.queue.push(message);
    }

    /// Begins a poll, which can receive one message. If there is a `message`, adds it to the end of
    /// the queue.
    #[inline]
    pub(super) fn begin_poll(&mut self, message: Option<M>) {
        (self.has_received, self.wants) = (false, false);
        if let Some(message) = message {
            self.queue.push(message);
        }
    }

    /// Returns true if the future is waiting for a message although the queue is not empty. The
    /// reason is that the future has already received a message in this poll.
    #[inline]
    pub(super) fn is_hungry(&self) -> bool {
        self.wants && !self.queue.is_empty()
    }

    /// Takes the message that arrived while the queue was empty, if the current poll has not
    /// received a message.
    #[inline]
    fn take_lone(&mut self) -> Option<M> {
        if self.has_received {
            return None;
        }
        let lone = self.queue.take_lone();
        self.has_received = lone.is_some();
        lone
    }

    /// Removes and returns all messages.
    pub(super) fn take_all(&mut self) -> VecDeque<M> {
        let mut all = VecDeque::new();
        self.queue.drain_behind(&mut all);
        all
    }
}

/// Returns true if the future has already received a message in this poll. If so, also records that
/// the future is waiting for its next message, which it can receive in the next poll.
#[inline]
pub(super) fn waits_for_next_poll<M: Send + 'static>(from: &Borrower<Hand<M>>) -> bool {
    let waits = from.with(|hand| {
        hand.wants |= hand.has_received;
        hand.has_received
    });
    waits.unwrap_or(false)
}

/// Receives a message, at most one in each poll. Returns `None` once all addresses have been
/// dropped and all messages have been received.
#[inline]
pub(super) fn receive<M: Send + 'static>(
    from: &Borrower<Hand<M>>,
    shared: &Shared<M>,
) -> Poll<Option<M>> {
    match from.with(Hand::take_lone).flatten() {
        None => receive_other(from, shared),
        lone => Poll::Ready(lone),
    }
}

/// Receives a message that did not arrive in an empty queue, or waits for a message.
#[inline(never)]
fn receive_other<M: Send + 'static>(
    from: &Borrower<Hand<M>>,
    shared: &Shared<M>,
) -> Poll<Option<M>> {
    let received = from.with(|hand| {
        if !hand.has_received {
            let message = hand.queue.take_one();
            if message.is_some() {
                hand.has_received = true;
                return Poll::Ready(message);
            }
            if hand.was_closed && shared.inner().closed {
                return Poll::Ready(None);
            }
        }
        hand.wants = true;
        Poll::Pending
    });
    // Only the body polls the future.
    received.unwrap_or(Poll::Pending)
}
