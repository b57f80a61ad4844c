//! Orders for the sampling thread, and the condition variable on which it waits.

use std::mem::take;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::quiet::Foreign;
use crate::reading::Source;
use crate::sampler::SourceId;

/// An order for the sampling thread.
pub(super) enum Order {
    /// Watches a source.
    Watch(SourceId, Foreign<Box<dyn Source>>),
    /// Stops watching a source.
    Forget(SourceId),
}

/// Orders that the thread has not taken yet.
#[derive(Default)]
struct State {
    orders: Vec<Order>,
    /// Number of requested samples.
    asked: u64,
    /// Value of `asked` when the last finished sample began.
    answered: u64,
    /// True once the thread has to stop.
    stop: bool,
    /// True once the thread has stopped.
    ended: bool,
}

/// Queue of orders for the sampling thread.
#[derive(Default)]
pub(super) struct Orders {
    state: Mutex<State>,
    /// Notified when there is work for the thread.
    given: Condvar,
    /// Notified when a sample is finished.
    done: Condvar,
}

/// Orders that the thread takes from the queue.
pub(super) struct Taken {
    pub(super) orders: Vec<Order>,
    /// Value of `State::asked`, to be passed to `Orders::answer` after the sample.
    pub(super) asked: u64,
}

impl Orders {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an order, and wakes the thread.
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

    /// Stops the thread after the current sample.
    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.given.notify_one();
    }

    /// Sleeps until `due`, or until there is work. Returns `None` if the thread has to stop.
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

    /// Records that a sample is finished. `asked` is the number of requests when that sample began.
    pub(super) fn answer(&self, asked: u64) {
        self.lock().answered = asked;
        self.done.notify_all();
    }

    /// Records that the thread stops, and wakes all threads that wait for it.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.done.notify_all();
    }
}
