//! Messages that wait for room in mailboxes of this node.
//!
//! The other node stops sending to a mailbox when it learns that the mailbox is full. The link
//! holds only the messages that the other node has sent before it learned this. So the amount of
//! held data is limited.

use std::collections::VecDeque;
use std::time::Duration;

use hashbrown::HashMap;

use crate::frame::Owned;
use crate::line::Held;

/// Time until the first check for room in full mailboxes. The time doubles after each check that
/// finds no room.
const FIRST: Duration = Duration::from_millis(1);

/// Maximum time between two checks for room in mailboxes.
const LAST: Duration = Duration::from_millis(64);

/// Messages that wait for room in mailboxes, by receiver.
#[derive(Default)]
pub(super) struct Holding {
    held: HashMap<Owned, VecDeque<Box<dyn Held>>>,
    /// Receivers with waiting messages, in the order in which their mailboxes became full.
    targets: Vec<Owned>,
    /// Number of successive checks that have found no room in any mailbox.
    looks: u32,
}

impl Holding {
    /// Returns true if messages to a receiver wait for room in its mailbox.
    pub(super) fn waits(&self, target: &Owned) -> bool {
        !self.held.is_empty() && self.held.contains_key(target)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Adds a message that must wait for room. Returns true if no other message to the same
    /// receiver was waiting before.
    pub(super) fn hold(&mut self, target: &Owned, message: Box<dyn Held>) -> bool {
        let is_first = !self.held.contains_key(target);
        if is_first {
            self.targets.push(target.clone());
        }
        let waiting = self.held.entry(target.clone()).or_default();
        waiting.push_back(message);
        is_first
    }

    /// Sends all messages for which there is room. Returns the receivers for which no message waits
    /// any more.
    pub(super) fn retry(&mut self) -> Vec<Owned> {
        let (mut done, mut has_moved) = (Vec::new(), false);
        for target in std::mem::take(&mut self.targets) {
            let Some(mut waiting) = self.held.remove(&target) else {
                continue;
            };
            while let Some(message) = waiting.pop_front() {
                match message.retry() {
                    Ok(()) => has_moved = true,
                    Err(message) => {
                        waiting.push_front(message);
                        break;
                    }
                }
            }
            if waiting.is_empty() {
                done.push(target);
            } else {
                self.held.insert(target.clone(), waiting);
                self.targets.push(target);
            }
        }
        self.looks = if has_moved { 0 } else { self.looks + 1 };
        done
    }

    /// Returns the time until the next check for room in mailboxes, if messages wait.
    pub(super) fn pause(&self) -> Option<Duration> {
        let pause = LAST.min(FIRST * (1 << self.looks.min(10)));
        (!self.is_empty()).then_some(pause)
    }
}
