//! Orders: instructions that a task follows before it handles its waiting messages.
//!
//! A message waits behind earlier messages. An order is seen by the task's next turn, whatever that
//! turn is for: a flag shows that there is an order, and the task reads the flag with each message.
//! The nudge that goes with an order wakes a task that gets no message.
//!
//! ```text
//!   the giver of an order               the task
//!   1. the order into the list          with each message, one relaxed load: is there any?
//!   2. the flag                         if so, or nudged: the oldest order out of the list
//!   3. a nudge, staged
//! ```

use std::collections::VecDeque;
use std::fmt;
use std::sync::PoisonError;

use garrick_core::prim::{
    Mutex, MutexGuard,
    unmodelled::{AtomicBool, Relaxed},
};

use crate::runtime::address::Address;
use crate::runtime::turn::Turn;

/// Orders for one task, oldest first.
#[doc(hidden)]
pub struct Orders<T> {
    /// True while there is an order. Written under the lock, read by the task.
    are_any: AtomicBool,
    list: Mutex<VecDeque<T>>,
}

impl<T> Orders<T> {
    fn list(&self) -> MutexGuard<'_, VecDeque<T>> {
        // No code that holds the lock can panic halfway.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, list: &VecDeque<T>) {
        // Relaxed: a task that sees the flag takes the lock. A task that does not see it yet is
        // nudged, after the order was put into the list.
        self.are_any.store(!list.is_empty(), Relaxed);
    }

    /// Returns true if there is an order. A false may be out of date; then a nudge is on its way.
    #[inline]
    pub fn are_any(&self) -> bool {
        // Relaxed: see `note`.
        self.are_any.load(Relaxed)
    }

    /// Gives `order` to the task that owns these orders, and nudges the task. The order is given at
    /// once, and stays given if the turn is undone. The nudge is staged.
    pub fn give<M: 'static, N: 'static>(&self, turn: &Turn<'_, M>, task: &Address<N>, order: T) {
        let mut list = self.list();
        list.push_back(order);
        self.note(&list);
        drop(list);
        turn.nudge(task);
    }

    /// Removes and returns the oldest order.
    pub fn take(&self) -> Option<T> {
        let mut list = self.list();
        let order = list.pop_front();
        self.note(&list);
        order
    }
}

impl<T> Default for Orders<T> {
    fn default() -> Self {
        Self {
            are_any: AtomicBool::new(false),
            list: Mutex::new(VecDeque::new()),
        }
    }
}

impl<T> fmt::Debug for Orders<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Orders")
            .field("are_any", &self.are_any())
            .finish_non_exhaustive()
    }
}
