//! What a body hands to the handlers of its actor, for the time of a poll.
//!
//! The handlers of an [`AsyncActor`](super::AsyncActor) are one future that only the body polls, so what lies between the two needs no
//! lock: the body lends it to the thread for the poll, and the future takes its message from there. A body that is polled within
//! another's poll lends its own meanwhile.

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::task::Poll;

use super::queue::Queue;
use super::shared::Shared;

thread_local! {
    /// What the innermost poll of this thread has lent.
    static LENT: Cell<Option<Box<dyn Any>>> = const { Cell::new(None) };
}

/// See the module.
pub(super) struct Hand<M> {
    /// Messages that have come.
    queue: Queue<M>,
    /// Whether the poll under way has received one.
    has_received: bool,
    /// Whether the future waited for a message when it was polled last.
    pub(super) wants: bool,
    /// Whether no address has led to the actor at some time; whether that is still so, the shared part tells.
    pub(super) closed: bool,
}

impl<M: Send + 'static> Hand<M> {
    pub(super) fn of(messages: VecDeque<M>) -> Box<Self> {
        Box::new(Self {
            queue: Queue::of(messages),
            has_received: false,
            wants: true,
            closed: false,
        })
    }

    /// Puts a message behind the others.
    pub(super) fn push(&mut self, message: M) {
        self.queue.push(message);
    }

    /// Returns whether the future waits for a message although there is one, because it has received one in this poll.
    pub(super) fn is_hungry(&self) -> bool {
        self.wants && !self.queue.is_empty()
    }

    /// Takes all messages out.
    pub(super) fn take_all(&mut self) -> VecDeque<M> {
        let mut all = VecDeque::new();
        self.queue.drain_behind(&mut all);
        all
    }

    /// Calls `poll`, in which the future may receive one message.
    pub(super) fn lend<R>(place: &mut Option<Box<Self>>, poll: impl FnOnce() -> R) -> R {
        if let Some(hand) = place {
            (hand.has_received, hand.wants) = (false, false);
        }
        let lent = place.take().map(|hand| hand as Box<dyn Any>);
        let outer = LENT.replace(lent);
        let _back = Back { place, outer };
        poll()
    }
}

/// Takes back what was lent, also from a poll that panics.
struct Back<'a, M: Send + 'static> {
    place: &'a mut Option<Box<Hand<M>>>,
    outer: Option<Box<dyn Any>>,
}

impl<M: Send + 'static> Drop for Back<'_, M> {
    fn drop(&mut self) {
        let lent = LENT.replace(self.outer.take());
        *self.place = lent.and_then(|hand| hand.downcast().ok());
    }
}

/// Receives a message from the body that polls, one a poll; none once no address leads to the actor, and everything is received.
pub(super) fn receive<M: Send + 'static>(shared: &Shared<M>) -> Poll<Option<M>> {
    let mut lent = LENT.take();
    let hand = lent
        .as_mut()
        .and_then(|hand| hand.downcast_mut::<Hand<M>>());
    let received = hand.map_or(Poll::Pending, |hand| {
        if !hand.has_received {
            // One by one, so that nothing is taken over into a batch.
            let message = hand.queue.take_one();
            if message.is_some() {
                hand.has_received = true;
                return Poll::Ready(message);
            }
            if hand.closed && shared.inner().closed {
                return Poll::Ready(None);
            }
        }
        hand.wants = true;
        Poll::Pending
    });
    LENT.set(lent);
    received
}
