//! What the sampling thread is told, and what it waits at.

use std::mem::take;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::quiet::Foreign;
use crate::reading::Source;
use crate::sampler::SourceId;

/// One order.
pub(super) enum Order {
    /// Watch this.
    Watch(SourceId, Foreign<Box<dyn Source>>),
    /// Watch that no longer.
    Forget(SourceId),
}

/// Orders that were given and not yet taken.
#[derive(Default)]
struct State {
    orders: Vec<Order>,
    /// Looks that were asked for.
    asked: u64,
    /// Looks that were asked for when the last one began. It is over.
    answered: u64,
    /// Whether the thread is to end.
    stop: bool,
    /// Whether the thread has ended.
    ended: bool,
}

/// The box that orders are put into.
#[derive(Default)]
pub(super) struct Orders {
    state: Mutex<State>,
    /// Notified when the thread has something to do.
    given: Condvar,
    /// Notified when a look is over.
    done: Condvar,
}

/// What the thread takes out of the box.
pub(super) struct Taken {
    pub(super) orders: Vec<Order>,
    /// To be given back after the look.
    pub(super) asked: u64,
}

impl Orders {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an order in, and wakes the thread.
    pub(super) fn give(&self, order: Order) {
        self.lock().orders.push(order);
        self.given.notify_one();
    }

    /// Asks for a look, and waits until one that began later is over.
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

    /// Ends the thread after the look under way.
    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.given.notify_one();
    }

    /// Sleeps until `due`, or until there is something to do. None means that the thread is to end.
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

    /// A look is over, which was taken when `asked` had been asked for.
    pub(super) fn answer(&self, asked: u64) {
        self.lock().answered = asked;
        self.done.notify_all();
    }

    /// The thread ends; nobody is to wait for it.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.done.notify_all();
    }
}
