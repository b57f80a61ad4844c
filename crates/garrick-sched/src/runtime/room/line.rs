//! The queue of senders that are waiting for a free place in a mailbox.
//!
//! Wakers are cloned, called and dropped outside of the lock of the queue, because all three
//! operations run foreign code.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, PoisonError};
use std::task::Waker;

use garrick_core::prim::{
    self, Mutex, MutexGuard,
    atomic::{
        AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
};

use crate::quiet;
use crate::runtime::current::Entered;

/// Queue of waiting senders, which are woken in the order of arrival.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Length of the queue. Written only under the lock, but read without the lock by threads that
    /// give places back.
    waiting: AtomicUsize,
    queue: Mutex<Queue>,
}

/// The waiting senders. Each sender has a number, under which its waker is stored.
#[derive(Debug, Default)]
struct Queue {
    /// Wakers of the waiting senders. Each waker is in an `Arc`, so that it is not cloned under the
    /// lock: cloning a waker runs foreign code.
    wakers: BTreeMap<u64, Arc<Waker>>,
    next: u64,
}

impl Line {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No code that holds the lock can panic halfway.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a waker to the end of the queue. Returns the ticket (the position) of its sender.
    pub(super) fn stand(&self, waker: Waker) -> Ticket<'_> {
        let waker = Arc::new(waker);
        let mut queue = self.lock();
        let number = queue.next;
        queue.next += 1;
        queue.wakers.insert(number, waker);
        self.note_waiting(&queue);
        drop(queue);
        prim::fence_for_loom();
        Ticket { line: self, number }
    }

    /// Records the length of the queue, under the lock.
    fn note_waiting(&self, queue: &Queue) {
        // SeqCst: against the load in `any_after_write`, see the module above.
        self.waiting.store(queue.wakers.len(), SeqCst);
    }

    /// Returns true if a sender is waiting. Just before the call, the caller must have freed a
    /// place by a sequentially consistent write.
    pub(super) fn any_after_write(&self) -> bool {
        prim::fence_for_loom();
        // SeqCst: against the store in `note_waiting`, see the module above.
        self.waiting.load(SeqCst) > 0
    }

    /// Returns true if a sender is waiting. A sender that has just joined the queue may be missed,
    /// because the load is relaxed.
    #[inline]
    pub(super) fn any(&self) -> bool {
        // Relaxed: a sender that is missed here nudges, see the module above.
        self.waiting.load(Relaxed) > 0
    }

    /// Removes the first sender from the queue and wakes it.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_first(&self) {
        let first = {
            let mut queue = self.lock();
            let first = queue.wakers.pop_first();
            self.note_waiting(&queue);
            first
        };
        if let Some((_, waker)) = first {
            wake(waker);
        }
    }

    /// Removes all senders from the queue and wakes them.
    pub(super) fn wake_all(&self) {
        let all = {
            let mut queue = self.lock();
            let all = mem::take(&mut queue.wakers);
            self.note_waiting(&queue);
            all
        };
        all.into_values().for_each(wake);
    }
}

fn wake(waker: Arc<Waker>) {
    // A panic of a waker must not reach the thread that gives a place back, perhaps while a turn
    // unwinds.
    let _ = quiet::call(|| {
        // Messages that the waker sends must not be undone with the turn, because the place stays
        // free.
        let _nobody = Entered::nobody();
        waker.wake_by_ref();
    });
    quiet::drop(waker);
}

/// Position of a sender in the queue. Dropping the ticket removes the sender from the queue. If the
/// sender was already woken, dropping its ticket wakes the next sender instead.
#[derive(Debug)]
pub(super) struct Ticket<'a> {
    line: &'a Line,
    number: u64,
}

impl Ticket<'_> {
    /// Returns true if the sender that holds this ticket is still in the queue.
    pub(super) fn is_in_line(&self) -> bool {
        self.line.lock().wakers.contains_key(&self.number)
    }

    /// Replaces the waker of this ticket's sender by `waker`, if the sender is still in the queue.
    /// Returns false if the sender is not in the queue any more.
    pub(super) fn waits_with(&self, waker: &Waker) -> bool {
        // Cloned before, and dropped after, because both operations are foreign code.
        let mut spare = None;
        loop {
            let mut queue = self.line.lock();
            let Some(known) = queue.wakers.get_mut(&self.number) else {
                return false;
            };
            if known.will_wake(waker) {
                return true;
            }
            if let Some(new) = spare.take() {
                let old = mem::replace(known, new);
                drop(queue);
                quiet::drop(old);
                return true;
            }
            drop(queue);
            spare = Some(Arc::new(waker.clone()));
        }
    }

    /// Consumes the ticket of a sender that was removed from the queue. No other sender is woken,
    /// because this sender tries to take a place now.
    pub(super) fn used(self) {
        mem::forget(self);
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let waker = {
            let mut queue = self.line.lock();
            let waker = queue.wakers.remove(&self.number);
            self.line.note_waiting(&queue);
            waker
        };
        if waker.is_none() {
            // The sender was woken for a place, but no longer wants it.
            self.line.wake_first();
        }
        quiet::drop(waker);
    }
}
