//! Orders: instructions that a task follows before it handles its waiting messages.
//!
//! A message waits behind earlier messages. An order does not wait: the task finds it at the
//! beginning of its next turn, whether or not this turn handles a message. Before each message, the
//! task reads a flag that shows if there is an order. Each order is sent together with a nudge,
//! which wakes a task that has no messages.
//!
//! ```text
//!   the giver of an order               the task
//!   1. append the order to the list     before each message, one relaxed load: is there an order?
//!   2. set the flag                     if so, or after a nudge: take the oldest order
//!   3. stage a nudge
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

/// A queue of orders for one task. An order is an instruction that the task follows before it
/// handles its waiting messages.
#[doc(hidden)]
pub struct Orders<T> {
    /// True while the queue contains an order (an instruction for the task). Written under the
    /// lock, read by the task.
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

    /// Returns true if the queue contains an order. A false result may be outdated. In this case, a
    /// [nudge](Turn::nudge) (a request for a turn) wakes the task later.
    #[inline]
    pub fn are_any(&self) -> bool {
        // Relaxed: see `note`.
        self.are_any.load(Relaxed)
    }

    /// Appends `order` to this queue, and sends a [nudge](Turn::nudge) (a request for a turn) to
    /// `task`. `task` must be the task that takes its orders from this queue.
    ///
    /// The order is appended immediately, and stays even if `turn` is undone. The nudge is staged:
    /// it is sent when `turn` commits.
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
