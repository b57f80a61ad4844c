//! Messages about duties that an entity has sent to itself, and that the next instance of the
//! entity finds in its mailbox.
//!
//! If a supervisor restarts an entity, the new instance has the mailbox of the old one. So the new
//! instance must know how many messages about its duties may still be there. Otherwise, each
//! restart would send all of them again.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

use garrick_actor::{Address, TaskId};
use hashbrown::HashMap;

use super::sample::lock;

/// The mailboxes that may contain messages about duties, by the names of their entities.
#[derive(Clone, Default)]
pub(super) struct Mailboxes(Arc<Mutex<HashMap<String, Weak<Told>>>>);

/// The mailbox of an entity that has sent itself messages about its duties. Exists until the task
/// with this mailbox has ended.
pub(super) struct Told {
    name: String,
    /// The task to which the mailbox belongs. Another task may get the same name before this value
    /// is dropped.
    task: TaskId,
    /// Number of messages to handle before the messages about all duties may be sent again. Written
    /// when an instance of the entity is dropped, and read by the next instance.
    left: AtomicUsize,
    mailboxes: Mailboxes,
}

impl Mailboxes {
    /// Returns the mailbox of the entity with the name `name`, if an earlier instance of this
    /// entity in the same task has sent itself messages about its duties.
    pub(super) fn find(&self, name: &str, task: TaskId) -> Option<Arc<Told>> {
        let told = lock(&self.0).get(name)?.upgrade()?;
        (told.task == task).then_some(told)
    }

    /// Adds the mailbox of the entity with the name `name` and the address `address`. The mailbox
    /// is removed when the task has ended, or if the current turn is undone.
    pub(super) fn add<M: 'static>(&self, name: &str, address: &Address<M>) -> Weak<Told> {
        let told = Arc::new(Told {
            name: name.to_owned(),
            task: address.id(),
            left: AtomicUsize::new(0),
            mailboxes: self.clone(),
        });
        let weak = Arc::downgrade(&told);
        lock(&self.0).insert(name.to_owned(), Weak::clone(&weak));
        // The function is dropped with the value if it is not registered.
        address.watch(move |_| drop(told));
        weak
    }
}

// Relaxed: one instance is dropped before the next one is created.
impl Told {
    pub(super) fn left(&self) -> usize {
        self.left.load(Relaxed)
    }

    pub(super) fn set_left(&self, left: usize) {
        self.left.store(left, Relaxed);
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let mut mailboxes = lock(&self.mailboxes.0);
        let of_name = mailboxes.get(&self.name);
        if of_name.is_some_and(|told| ptr::eq(told.as_ptr(), self)) {
            mailboxes.remove(&self.name);
        }
    }
}
