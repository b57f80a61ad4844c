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
use indexmap::IndexSet;

use crate::frame::Owned;
use crate::line::{Exported, Held};

/// Time until the first check for room in full mailboxes. The time doubles after each check that
/// finds no room.
const FIRST: Duration = Duration::from_millis(1);

/// Maximum time between two checks for room in mailboxes.
const LAST: Duration = Duration::from_millis(64);

/// The receiver of a message: the actor to which the target of the message led when the message
/// arrived. All addresses of one actor lead to one receiver, so its messages stay in order even if
/// their senders use several of its addresses. The name of a service may lead to another receiver
/// later.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Receiver {
    Task(TaskId),
    /// The code of the program, which the address calls, has panicked.
    Unknown(Owned),
}

impl Receiver {
    /// Creates the receiver for a target. `task` is the actor to which the target leads, or `None`
    /// if the code of the program, which the address calls, has panicked.
    pub(super) fn new(target: &Owned, task: Option<TaskId>) -> Self {
        task.map_or_else(|| Self::Unknown(target.clone()), Self::Task)
    }
}

/// Returns the identity of the actor to which an address leads. Returns `None` if the code of the
/// program, which the address may call, panics.
pub(super) fn task_of(found: &dyn Exported) -> Option<TaskId> {
    catch_unwind(AssertUnwindSafe(|| found.task())).ok()
}

/// The messages to one receiver.
struct Queue {
    messages: VecDeque<Box<dyn Held>>,
    /// Targets that count as full because of this queue, in the order in which they became full.
    targets: IndexSet<Owned>,
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
    /// Returns true if messages to a receiver wait for room in its mailbox. Messages to all targets
    /// that lead to this receiver count. `task` returns the actor to which the target leads now.
    pub(super) fn waits(&self, target: &Owned, task: impl FnOnce() -> Option<TaskId>) -> bool {
        !self.held.is_empty() && self.held.contains_key(&Receiver::new(target, task()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Adds a message that must wait for room. `task` is the actor to which the target leads.
    /// Returns true if the target has become full.
    pub(super) fn hold(
        &mut self,
        target: &Owned,
        task: Option<TaskId>,
        message: Box<dyn Held>,
    ) -> bool {
        let receiver = Receiver::new(target, task);
        let queue = self.held.entry(receiver).or_insert_with_key(|receiver| {
            self.receivers.push(receiver.clone());
            Queue {
                messages: VecDeque::new(),
                targets: IndexSet::new(),
            }
        });
        queue.messages.push_back(message);
        if !queue.targets.insert(target.clone()) {
            return false;
        }
        let count = self.full.entry(target.clone()).or_default();
        *count += 1;
        *count == 1
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
            let is_over = queue.messages.is_empty();
            let is_replaced = |target: &Owned| {
                matches!(target, Owned::Service(_))
                    && Receiver::new(target, current(target)) != receiver
            };
            let no_longer_full = |target: &Owned| is_over || is_replaced(target);
            for target in queue.targets.extract_if(.., no_longer_full) {
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
    fn has_room(&mut self, target: Owned) -> Option<Owned> {
        let count = self.full.get_mut(&target)?;
        *count -= 1;
        if *count > 0 {
            return None;
        }
        self.full.remove(&target);
        Some(target)
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
    use crate::frame::Slot;

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
        let name = Owned::Service("name".into());
        let mut holding = Holding::default();
        holding.hold(&name, None, Box::new(Panics));
        holding.hold(&name, None, Box::new(Message(has_room.clone())));
        assert!(holding.retry(|_| None).is_empty());
        has_room.store(true, Relaxed);
        assert_eq!(holding.retry(|_| None), [name]);
    }

    #[test]
    fn a_name_that_leads_to_another_actor_is_full_only_because_of_that_actor() {
        let name = Owned::Service("name".into());
        let [old, new] = [1, 2].map(|number| Some(TaskId::far(number)));
        let [old_has_room, new_has_room] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let hold = |holding: &mut Holding, task, room: &Arc<AtomicBool>| {
            holding.hold(&name, task, Box::new(Message(room.clone())))
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

    #[test]
    fn all_addresses_of_an_actor_wait_behind_each_other() {
        let service = Owned::Service("name".into());
        let slot = |index| {
            Owned::Slot(Slot {
                index,
                generation: 0,
            })
        };
        let (one, other, task) = (slot(1), slot(2), Some(TaskId::far(7)));
        let has_room = Arc::new(AtomicBool::new(false));
        let hold = |holding: &mut Holding, target: &Owned| {
            holding.hold(target, task, Box::new(Message(has_room.clone())))
        };
        let mut holding = Holding::default();
        assert!(hold(&mut holding, &one));
        assert!(holding.waits(&other, || task) && holding.waits(&service, || task));
        assert!(!holding.waits(&other, || Some(TaskId::far(8))));
        // The other node must stop sending to each of them.
        assert!(hold(&mut holding, &other) && hold(&mut holding, &service));
        assert!(!hold(&mut holding, &other));
        // Another actor gets the name. Then the actor gets the name back, and is still full.
        assert_eq!(holding.retry(|_| None), std::slice::from_ref(&service));
        assert!(hold(&mut holding, &service));
        assert!(holding.retry(|_| task).is_empty());
        has_room.store(true, Relaxed);
        assert_eq!(holding.retry(|_| task), [one, other, service]);
        assert!(holding.is_empty() && holding.full.is_empty());
    }
}
