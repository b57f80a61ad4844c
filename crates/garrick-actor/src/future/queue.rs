//! A queue of messages that have arrived and that a future has not received yet.

use std::collections::VecDeque;
use std::mem;

/// A queue of messages. A single message is stored inline, without access to other memory. So an
/// actor that rarely receives a message needs no buffer.
pub(super) struct Queue<M> {
    /// Oldest message, if it arrived while the queue was empty.
    lone: Option<M>,
    /// Messages that arrived after the one in `lone`.
    rest: VecDeque<M>,
}

impl<M> Queue<M> {
    pub(super) fn of(messages: VecDeque<M>) -> Self {
        Self {
            lone: None,
            rest: messages,
        }
    }

    pub(super) fn push(&mut self, message: M) {
        if self.is_empty() {
            self.lone = Some(message);
        } else {
            self.rest.push_back(message);
        }
    }

    /// Moves all of `messages` to the end of this queue.
    pub(super) fn append(&mut self, messages: &mut VecDeque<M>) {
        if messages.is_empty() {
            // In the usual case, each of the two queues keeps its buffer.
        } else if self.rest.is_empty() {
            mem::swap(&mut self.rest, messages);
        } else {
            self.rest.append(messages);
        }
    }

    /// Takes the first message. May move the other messages to `batch`, which must be empty.
    pub(super) fn take_first(&mut self, batch: &mut VecDeque<M>) -> Option<M> {
        let first = self.lone.take();
        if first.is_some() || self.rest.is_empty() {
            return first;
        }
        if self.rest.len() > 1 {
            mem::swap(batch, &mut self.rest);
            return batch.pop_front();
        }
        self.rest.pop_front()
    }

    /// Takes the first message, if it arrived while the queue was empty.
    #[inline]
    pub(super) fn take_lone(&mut self) -> Option<M> {
        self.lone.take()
    }

    /// Takes the first message.
    pub(super) fn take_one(&mut self) -> Option<M> {
        self.lone.take().or_else(|| self.rest.pop_front())
    }

    /// Moves all messages of this queue to the end of `messages`.
    pub(super) fn drain_behind(&mut self, messages: &mut VecDeque<M>) {
        messages.extend(self.lone.take());
        messages.append(&mut self.rest);
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.lone.is_some()) + self.rest.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lone.is_none() && self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receives all messages of a queue and returns them in order.
    fn received(queue: &mut Queue<u32>) -> Vec<u32> {
        let mut batch = VecDeque::new();
        let mut received = Vec::new();
        while let Some(next) = batch.pop_front().or_else(|| queue.take_first(&mut batch)) {
            received.push(next);
        }
        received
    }

    #[test]
    fn all_come_out_in_order_however_they_came() {
        for before in 0..4_u32 {
            for appended in 0..4 {
                for after in 0..4 {
                    let mut queue = Queue::of(VecDeque::new());
                    (0..before).for_each(|n| queue.push(n));
                    let behind = before + appended;
                    queue.append(&mut (before..behind).collect());
                    (behind..behind + after).for_each(|n| queue.push(n));
                    let len = behind + after;
                    assert_eq!((queue.len(), queue.is_empty()), (len as usize, len == 0));
                    assert_eq!(received(&mut queue), (0..len).collect::<Vec<_>>());
                    assert!(queue.is_empty());
                }
            }
        }
    }

    #[test]
    fn what_nobody_has_received_goes_behind_what_somebody_has_taken() {
        let mut queue = Queue::of(VecDeque::from([0, 1]));
        let mut batch = VecDeque::new();
        assert_eq!(queue.take_first(&mut batch), Some(0));
        queue.push(2);
        queue.push(3);
        queue.drain_behind(&mut batch);
        assert_eq!((batch, queue.len()), (VecDeque::from([1, 2, 3]), 0));
    }
}
