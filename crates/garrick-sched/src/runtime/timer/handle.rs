//! Timers that any thread can cancel at any time.
//!
//! A one-shot timer sends a single message. Its place in the timing wheel of its worker is reserved
//! when the timer is created, and therefore before the commit of the turn that sets the timer. The
//! handle of the timer identifies this place. If the timer fires and is cancelled at the same time,
//! the lock of the wheel determines which comes first.
//!
//! A repeating timer may be in the wheel of a different worker each time, because its task may
//! move. So all handles of the timer share a small state, which has a lock.
//!
//! Locks are taken in this order: first the lock of a repeating timer's state, and then the lock of
//! a wheel, or of the register of timers by owner (`owners.rs`). No foreign code runs under these
//! locks.

use std::fmt;
use std::sync::PoisonError;

use garrick_core::prim::{Arc, Mutex, MutexGuard};
use garrick_core::wheel::Key;

use super::owners::{self, Membership};
use super::{SharedWheel, Timed};
use crate::cell::TaskId;
use crate::runtime::current;
use crate::world::Nanos;

/// A handle to a timer. A timer sends a message at its deadline, unless it is cancelled before
/// that. A repeating timer can be set again after each message, until it is cancelled.
///
/// Dropping a handle does not cancel the timer.
#[derive(Clone)]
pub struct Timer(Kind);

#[derive(Clone)]
enum Kind {
    Once(Once),
    Repeating(Repeating),
}

impl Timer {
    /// Creates a one-shot timer, which the current turn can set once. Reserves a place for the
    /// timer in `wheel`, the wheel of the turn's worker.
    pub(crate) fn once(wheel: &'static SharedWheel) -> Self {
        Self(Kind::Once(Once {
            key: wheel.with(|wheel| wheel.reserve()),
            wheel,
        }))
    }

    /// Creates a repeating timer. A repeating timer can be set again after each message. If a task
    /// owns the timer ([`Turn::set_own_timer`](crate::Turn::set_own_timer)), the timer stays
    /// registered for this task until it is cancelled.
    #[doc(hidden)]
    #[must_use]
    pub fn repeating() -> Self {
        let state = Mutex::new(State {
            at: None,
            is_cancelled: false,
            membership: None,
        });
        Self(Kind::Repeating(Repeating(Arc::new(state))))
    }

    /// Cancels the timer permanently, and drops its message. During a turn, the cancellation is
    /// staged: it happens when the turn commits, and not at all if the turn is undone.
    ///
    /// A message that the timer sent before its cancellation still arrives. After its cancellation,
    /// the timer sends no message. This method does nothing if the timer was already cancelled, or
    /// if it has already fired and is not a repeating timer.
    pub fn cancel(&self) {
        match current::worker() {
            Some(worker) => worker.stage.cancel(self.clone()),
            None => self.cancel_now(),
        }
    }

    /// Returns true if this is a repeating timer that was cancelled. Always returns false for other
    /// timers. A false result may be outdated immediately.
    #[doc(hidden)]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match &self.0 {
            Kind::Once(_) => false,
            Kind::Repeating(shared) => shared.state().is_cancelled,
        }
    }

    /// Cancels the timer immediately, without waiting for the commit of a turn, and drops its
    /// message if the message was not sent.
    pub(super) fn cancel_now(&self) {
        if let Some(timed) = self.take_out() {
            timed.drop_unsent();
        }
    }

    /// Cancels the timer. Returns its message if the message was not sent.
    pub(crate) fn take_out(&self) -> Option<Timed> {
        match &self.0 {
            Kind::Once(once) => once.take_out(),
            Kind::Repeating(shared) => shared.take_out(),
        }
    }

    /// Inserts the message of the timer into a wheel. If there is an `owner`, the timer is
    /// cancelled when the owner ends. Returns a message that must not be sent, if there is one. The
    /// returned message is the new message if the timer was cancelled, or if a one-shot timer was
    /// already set. Otherwise, it is the previous message of a repeating timer.
    pub(super) fn set(
        self,
        wheel: &'static SharedWheel,
        deadline: Nanos,
        timed: Timed,
        owner: Option<TaskId>,
    ) -> Option<Timed> {
        match self.0 {
            Kind::Once(once) => once.set(wheel, deadline, timed, owner),
            Kind::Repeating(shared) => shared.set(wheel, deadline, timed, owner),
        }
    }

    /// Frees the timer's place in the wheel, because the turn that has set the timer was undone.
    pub(super) fn undo(&self) {
        if let Kind::Once(once) = &self.0 {
            let unset = once.take_out();
            debug_assert!(unset.is_none(), "it has no message before its turn commits");
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Once(once) => f.debug_tuple("Once").field(&once.key).finish(),
            Kind::Repeating(_) => {
                let is_cancelled = self.is_cancelled();
                f.debug_tuple("Repeating").field(&is_cancelled).finish()
            }
        }
    }
}

/// Place in a worker's wheel, for a single message of a timer.
#[derive(Clone, Copy)]
struct Once {
    wheel: &'static SharedWheel,
    key: Key,
}

impl Once {
    fn set(
        self,
        wheel: &'static SharedWheel,
        deadline: Nanos,
        mut timed: Timed,
        owner: Option<TaskId>,
    ) -> Option<Timed> {
        debug_assert!(
            std::ptr::eq(wheel, self.wheel),
            "a timer is set where it was made"
        );
        timed.membership = owner.map(|owner| owners::enter(owner, Timer(Kind::Once(self))));
        let deadline = super::within_reach(deadline);
        let set = self
            .wheel
            .with(|wheel| wheel.set(self.key, deadline, timed));
        let mut refused = set.err()?;
        refused.leave_owner();
        Some(refused)
    }

    fn take_out(&self) -> Option<Timed> {
        let mut timed = self.wheel.with(|wheel| wheel.cancel(self.key))?;
        timed.leave_owner();
        Some(timed)
    }
}

/// State of a repeating timer.
#[derive(Clone)]
struct Repeating(Arc<Mutex<State>>);

struct State {
    /// Place of the timer's newest message in a wheel. The message may already have been sent.
    at: Option<Once>,
    is_cancelled: bool,
    /// Entry of the timer in the register of its owner's timers. If the timer has an owner, the
    /// entry is stored when the timer is set for the first time.
    membership: Option<Membership>,
}

impl Repeating {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(
        &self,
        wheel: &'static SharedWheel,
        deadline: Nanos,
        timed: Timed,
        owner: Option<TaskId>,
    ) -> Option<Timed> {
        let mut state = self.state();
        if state.is_cancelled {
            return Some(timed);
        }
        if let (Some(owner), None) = (owner, &state.membership) {
            let timer = Timer(Kind::Repeating(self.clone()));
            state.membership = Some(owners::enter(owner, timer));
        }
        let key = wheel.with(|wheel| wheel.insert(super::within_reach(deadline), timed));
        let before = state.at.replace(Once { wheel, key });
        before.and_then(|before| before.take_out())
    }

    fn take_out(&self) -> Option<Timed> {
        let mut state = self.state();
        state.is_cancelled = true;
        if let Some(membership) = state.membership.take() {
            membership.end();
        }
        let at = state.at.take();
        at.and_then(|at| at.take_out())
    }
}
