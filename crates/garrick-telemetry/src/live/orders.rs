//! The queue of orders for the sampling thread, and the condition variable on which this thread
//! waits.

use std::mem::take;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::quiet::Foreign;
use crate::reading::Source;
use crate::sampler::SourceId;

/// An order for the sampling thread.
pub(super) enum Order {
    /// An order to watch a source.
    Watch(SourceId, Foreign<Box<dyn Source>>),
    /// An order to stop watching a source.
    Forget(SourceId),
}

/// State shared by the sampling thread and its callers.
#[derive(Default)]
struct State {
    /// Orders that the sampling thread has not taken yet.
    orders: Vec<Order>,
    /// Number of samples that have been requested so far.
    asked: u64,
    /// Number of samples that had been requested before the newest finished sample began.
    answered: u64,
    /// True if the sampling thread must stop.
    stop: bool,
    /// True if the sampling thread has stopped.
    ended: bool,
}

/// Queue of orders for the sampling thread.
#[derive(Default)]
pub(super) struct Orders {
    state: Mutex<State>,
    /// Condition variable that is notified when there is work for the sampling thread.
    given: Condvar,
    /// Condition variable that is notified when a sample is finished.
    done: Condvar,
}

/// The orders that the sampling thread has taken from the queue.
pub(super) struct Taken {
    pub(super) orders: Vec<Order>,
    /// Number of samples that have been requested so far. The sampling thread passes this number to
    /// `Orders::answer` after the next sample.
    pub(super) asked: u64,
}

impl Orders {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an order, and wakes the sampling thread.
    pub(super) fn give(&self, order: Order) {
        self.lock().orders.push(order);
        self.given.notify_one();
    }

    /// Requests a sample, and waits until a sample that began after the request is finished.
    pub(super) fn look(&self) {
        let mut state = self.lock();
        state.asked += 1;
        let mine = state.asked;
        self.given.notify_one();
        while state.answered < mine && !state.ended {
            state = self
                .done
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Tells the sampling thread to stop after the current sample.
    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.given.notify_one();
    }

    /// Sleeps until `due`, or until an order or a request for a sample arrives. Returns the orders
    /// (to watch or forget sources), or `None` if the sampling thread must stop.
    pub(super) fn wait_until(&self, due: Instant) -> Option<Taken> {
        let mut state = self.lock();
        loop {
            if state.stop {
                return None;
            }
            let left = due.saturating_duration_since(Instant::now());
            let is_asked = !state.orders.is_empty() || state.asked > state.answered;
            if is_asked || left.is_zero() {
                return Some(Taken {
                    orders: take(&mut state.orders),
                    asked: state.asked,
                });
            }
            let waited = self.given.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Records that a sample is finished. `asked` is the number of samples that had been requested
    /// before this sample began.
    pub(super) fn answer(&self, asked: u64) {
        self.lock().answered = asked;
        self.done.notify_all();
    }

    /// Records that the sampling thread has stopped, and wakes all threads that wait for a sample.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.done.notify_all();
    }
}
