//! The hand: state that a body lends to the handlers of its actor for the time of a poll.
//!
//! The handlers of an [`AsyncActor`](super::AsyncActor) are one future that only the body polls, so
//! the state between the two needs no lock. The body lends it for the poll, and the future takes
//! its message from there.

use std::collections::VecDeque;
use std::task::Poll;

use garrick_core::lend::Borrower;

use super::queue::Queue;
use super::shared::Shared;

/// Messages on their way to handlers.
pub(super) struct Hand<M> {
    /// Messages that have come.
    queue: Queue<M>,
    /// True once the poll under way has received a message.
    has_received: bool,
    /// True if the future waits for a message.
    pub(super) wants: bool,
    /// True once no address has led to the actor. The shared part has the current state.
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

    /// Puts a message behind the others.
    #[inline]
    pub(super) fn push(&mut self, message: M) {
        self.queue.push(message);
    }

    /// Begins a poll, which may receive one message. Puts `message`, if any, behind all others.
    #[inline]
    pub(super) fn begin_poll(&mut self, message: Option<M>) {
        (self.has_received, self.wants) = (false, false);
        if let Some(message) = message {
            self.queue.push(message);
        }
    }

    /// Returns true if the future waits for a message although there is one, because it has
    /// received one in this poll.
    #[inline]
    pub(super) fn is_hungry(&self) -> bool {
        self.wants && !self.queue.is_empty()
    }

    /// Takes all messages out.
    pub(super) fn take_all(&mut self) -> VecDeque<M> {
        let mut all = VecDeque::new();
        self.queue.drain_behind(&mut all);
        all
    }
}

/// Makes the future wait for the next poll if it has received a message in this one. Returns true
/// if it has.
#[inline]
pub(super) fn waits_for_next_poll<M: Send + 'static>(from: &Borrower<Hand<M>>) -> bool {
    let waits = from.with(|hand| {
        hand.wants |= hand.has_received;
        hand.has_received
    });
    waits.unwrap_or(false)
}

/// Receives a message from the body that polls, one per poll. Returns `None` once no address leads
/// to the actor and every message is received.
#[inline]
pub(super) fn receive<M: Send + 'static>(
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
