//! Delivery of several messages (flights) from one sender to one receiver in one step.
//!
//! A turn can take several messages out of the mailbox of its task (`Turn::next_message`). So
//! several flights are delivered together to a task with such turns. Messages that the turn does
//! not take become flights again.

use super::{Air, NONE, Taken};
use crate::cell::{Envelope, Kind};

/// Maximum number of further messages that are delivered together with the chosen message.
const MORE_MAX: u32 = 3;

impl Air {
    /// Takes further messages that the sender of the chosen message has sent to the same task,
    /// oldest first. Takes none if each turn of the task takes only one message.
    pub(in super::super) fn take_more(&mut self, taken: &Taken) -> Vec<*mut Envelope> {
        let mut more = Vec::new();
        let entry = &mut self.tasks[taken.task as usize];
        if taken.pair == NONE || !entry.takes_more {
            return more;
        }
        self.more = (self.more + 1) % (MORE_MAX + 1);
        let flights = &mut self.pairs[taken.pair as usize].flights;
        for _ in 0..self.more {
            let oldest = flights.0;
            // SAFETY: the envelopes of a pair are ours. The pair has one at least.
            unsafe {
                let next = (*oldest).next();
                if next.is_null() || (*oldest).kind() != Kind::Messages {
                    break;
                }
                (*oldest).set_next(std::ptr::null_mut());
                flights.0 = next;
            }
            more.push(oldest);
            entry.in_air -= 1;
        }
        more
    }

    /// Moves the messages that a step has left in the mailbox back to the undelivered messages.
    /// `taken` is the choice that was taken in this step. `left` contains the messages, oldest
    /// first.
    pub(in super::super) fn put_back(&mut self, taken: &Taken, left: &[*mut Envelope]) {
        for &envelope in left.iter().rev() {
            let flights = &mut self.pairs[taken.pair as usize].flights;
            // SAFETY: the envelope was just taken out of the mailbox.
            unsafe { (*envelope).set_next(flights.0) };
            flights.0 = envelope;
            self.tasks[taken.task as usize].in_air += 1;
        }
    }

    /// Records that turns of a task take several messages out of the mailbox.
    pub(in super::super) fn note_taking(&mut self, taken: &Taken) {
        self.tasks[taken.task as usize].takes_more = true;
    }
}
