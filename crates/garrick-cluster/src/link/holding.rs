//! Messages that wait for room in mailboxes of this node.
//!
//! The other node stops sending to a mailbox when it learns that the mailbox is full. The link
//! holds only the messages that the other node has sent before it learned this. So the amount of
//! held data is limited.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use garrick_sched::TaskId;
use hashbrown::HashMap;

use crate::frame::Owned;
use crate::line::{Exported, Held};

/// Time until the first check for room in full mailboxes. The time doubles after each check that
/// finds no room.
const FIRST: Duration = Duration::from_millis(1);

/// Maximum time between two checks for room in mailboxes.
const LAST: Duration = Duration::from_millis(64);

/// A receiver: the target of its messages, and the actor to which the target led when the messages
/// arrived. The name of a service may lead to another actor later.
pub(super) type Receiver = (Owned, Option<TaskId>);

/// Returns the identity of the actor to which an address leads. Returns `None` if the code of the
/// program, which the address may call, panics.
pub(super) fn task_of(found: &dyn Exported) -> Option<TaskId> {
    catch_unwind(AssertUnwindSafe(|| found.task())).ok()
}

/// The messages to one receiver.
struct Queue {
    messages: VecDeque<Box<dyn Held>>,
    /// True if the target counts as full because of this queue.
    is_full: bool,
}

/// Messages that wait for room in mailboxes, by receiver.
#[derive(Default)]
pub(super) struct Holding {
    held: HashMap<Receiver, Queue>,
    /// Receivers with waiting messages, in the order in which their mailboxes became full.
    receivers: Vec<Receiver>,
    /// For each target that the other node counts as full: the number of queues because of which it
    /// is full.
    full: HashMap<Owned, usize>,
    /// Number of successive checks that have found no room in any mailbox.
    looks: u32,
}

impl Holding {
    /// Returns true if messages to a receiver wait for room in its mailbox. `task` returns the
    /// actor to which the target leads now.
    pub(super) fn waits(&self, target: &Owned, task: impl FnOnce() -> Option<TaskId>) -> bool {
        !self.held.is_empty() && self.held.contains_key(&(target.clone(), task()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Adds a message that must wait for room. Returns true if the target has become full.
    pub(super) fn hold(&mut self, receiver: Receiver, message: Box<dyn Held>) -> bool {
        if let Some(queue) = self.held.get_mut(&receiver) {
            queue.messages.push_back(message);
            return false;
        }
        self.receivers.push(receiver.clone());
        let count = self.full.entry(receiver.0.clone()).or_default();
        *count += 1;
        let is_first = *count == 1;
        let queue = Queue {
            messages: VecDeque::from([message]),
            is_full: true,
        };
        self.held.insert(receiver, queue);
        is_first
    }

    /// Sends all messages for which there is room. Returns the targets that are no longer full:
    /// none of their messages waits, or the messages wait for actors to which the target leads no
    /// longer. `current` returns the actor to which a target leads now.
    pub(super) fn retry(&mut self, current: impl Fn(&Owned) -> Option<TaskId>) -> Vec<Owned> {
        let (mut done, mut has_moved) = (Vec::new(), false);
        for receiver in std::mem::take(&mut self.receivers) {
            let Some(mut queue) = self.held.remove(&receiver) else {
                continue;
            };
            while let Some(message) = queue.messages.pop_front() {
                // The address may call code of the program. If it panics, the message is lost.
                let retried = catch_unwind(AssertUnwindSafe(|| message.retry()));
                if let Ok(Err(message)) = retried {
                    queue.messages.push_front(message);
                    break;
                }
                has_moved = true;
            }
            let (target, task) = &receiver;
            let is_over = queue.messages.is_empty();
            let is_replaced = || matches!(target, Owned::Service(_)) && current(target) != *task;
            if queue.is_full && (is_over || is_replaced()) {
                queue.is_full = false;
                done.extend(self.has_room(target));
            }
            if !is_over {
                self.held.insert(receiver.clone(), queue);
                self.receivers.push(receiver);
            }
        }
        self.looks = if has_moved { 0 } else { self.looks + 1 };
        done
    }

    /// Records that a queue is no longer a reason for which its target is full. Returns the target
    /// if there is no other reason.
    fn has_room(&mut self, target: &Owned) -> Option<Owned> {
        let count = self.full.get_mut(target)?;
        *count -= 1;
        if *count > 0 {
            return None;
        }
        self.full.remove(target);
        Some(target.clone())
    }

    /// Returns the time until the next check for room in mailboxes, if messages wait.
    pub(super) fn pause(&self) -> Option<Duration> {
        let pause = LAST.min(FIRST * (1 << self.looks.min(10)));
        (!self.is_empty()).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use garrick_testkit::silence_panics;

    use super::*;

    /// A message that is accepted when the flag is true.
    struct Message(Arc<AtomicBool>);

    impl Held for Message {
        fn retry(self: Box<Self>) -> Result<(), Box<dyn Held>> {
            match self.0.load(Relaxed) {
                true => Ok(()),
                false => Err(self),
            }
        }
    }

    /// A message to an address that panics.
    struct Panics;

    impl Held for Panics {
        fn retry(self: Box<Self>) -> Result<(), Box<dyn Held>> {
            panic!("a bug of the program")
        }
    }

    #[test]
    fn a_panic_loses_only_its_message() {
        silence_panics();
        let has_room = Arc::new(AtomicBool::new(false));
        let receiver = (Owned::Service("name".into()), None);
        let mut holding = Holding::default();
        holding.hold(receiver.clone(), Box::new(Panics));
        holding.hold(receiver.clone(), Box::new(Message(has_room.clone())));
        assert!(holding.retry(|_| None).is_empty());
        has_room.store(true, Relaxed);
        assert_eq!(holding.retry(|_| None), [receiver.0]);
    }

    #[test]
    fn a_name_that_leads_to_another_actor_is_full_only_because_of_that_actor() {
        let name = Owned::Service("name".into());
        let [old, new] = [1, 2].map(|number| Some(TaskId::far(number)));
        let [old_has_room, new_has_room] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let hold = |holding: &mut Holding, task, room: &Arc<AtomicBool>| {
            holding.hold((name.clone(), task), Box::new(Message(room.clone())))
        };
        let mut holding = Holding::default();
        assert!(hold(&mut holding, old, &old_has_room));
        assert!(!hold(&mut holding, old, &old_has_room));
        assert!(holding.retry(|_| old).is_empty());
        // Another actor gets the name, and is full before this is noticed.
        assert!(holding.waits(&name, || old) && !holding.waits(&name, || new));
        assert!(!hold(&mut holding, new, &new_has_room));
        assert!(holding.retry(|_| new).is_empty());
        // The end of the old one changes nothing.
        old_has_room.store(true, Relaxed);
        assert!(holding.retry(|_| new).is_empty());
        assert!(!holding.waits(&name, || old) && holding.waits(&name, || new));
        new_has_room.store(true, Relaxed);
        assert_eq!(holding.retry(|_| new), std::slice::from_ref(&name));
        assert!(holding.is_empty());
        // This time, the new one has room.
        old_has_room.store(false, Relaxed);
        assert!(hold(&mut holding, old, &old_has_room));
        assert_eq!(holding.retry(|_| new), std::slice::from_ref(&name));
        assert!(holding.retry(|_| new).is_empty() && !holding.is_empty());
        new_has_room.store(false, Relaxed);
        assert!(hold(&mut holding, new, &new_has_room));
        // The name is withdrawn.
        assert_eq!(holding.retry(|_| None), std::slice::from_ref(&name));
        old_has_room.store(true, Relaxed);
        new_has_room.store(true, Relaxed);
        assert!(holding.retry(|_| None).is_empty() && holding.is_empty());
        assert!(holding.full.is_empty());
    }
}
