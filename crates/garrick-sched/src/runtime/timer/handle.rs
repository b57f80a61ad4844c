//! A timer that can be cancelled, from any thread and at any time.
//!
//! A timer that is set once has a place in the wheel of its worker from the beginning, before the
//! turn commits that sets it. Its handle is that place. The lock of the wheel decides between the
//! timer's end and its message.
//!
//! A repeating timer lies in the wheel of another worker each time, if its task moves. So its
//! handles and its message share a small state with a separate lock.
//!
//! Locks are taken in this order: first the state of a repeating timer, then the register of owners
//! or the wheel. Foreign code runs under none of them.

use std::fmt;
use std::sync::PoisonError;

use garrick_core::prim::{Arc, Mutex, MutexGuard};
use garrick_core::wheel::Key;

use super::owners::{self, Membership};
use super::{SharedWheel, Timed};
use crate::runtime::address::TaskId;
use crate::runtime::current;
use crate::world::Nanos;

/// A timer: sends one message at its time, or repeated messages, until it is cancelled.
///
/// Dropping a handle changes nothing.
#[derive(Clone)]
pub struct Timer(Kind);

#[derive(Clone)]
enum Kind {
    Once(Once),
    Repeating(Repeating),
}

impl Timer {
    /// Makes a timer that is set once, by the current turn on the worker of that wheel.
    pub(crate) fn once(wheel: &'static SharedWheel) -> Self {
        Self(Kind::Once(Once {
            key: wheel.with(|wheel| wheel.reserve()),
            wheel,
        }))
    }

    /// Makes a timer that is set again after each message. It belongs to its owner until it is
    /// cancelled.
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

    /// Ends the timer for good, and drops its message. In a turn the cancellation is staged: it
    /// happens when the turn commits, and not at all if the turn is undone.
    ///
    /// A message that the timer has already sent still arrives. No other message arrives after the
    /// cancellation. Does nothing for a timer that is over.
    pub fn cancel(&self) {
        match current::worker() {
            Some(worker) => worker.stage.cancel(self.clone()),
            None => self.cancel_now(),
        }
    }

    /// Returns true if a repeating timer was cancelled. False may be out of date at once, true
    /// never is.
    #[doc(hidden)]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match &self.0 {
            Kind::Once(_) => false,
            Kind::Repeating(shared) => shared.state().is_cancelled,
        }
    }

    /// Ends the timer at once.
    pub(super) fn cancel_now(&self) {
        if let Some(timed) = self.take_out() {
            timed.drop_unsent();
        }
    }

    /// Ends the timer. Returns its message, if it was not sent.
    pub(crate) fn take_out(&self) -> Option<Timed> {
        match &self.0 {
            Kind::Once(once) => once.take_out(),
            Kind::Repeating(shared) => shared.take_out(),
        }
    }

    /// Puts the timer's message into a wheel. The timer ends with the task `owner`, if there is
    /// one. Returns a message that must not be sent: the new one if the timer was cancelled, or the
    /// previous one.
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

    /// Frees the timer's place after the turn that was to set it is undone.
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

/// A place in a wheel.
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

/// The state of a repeating timer.
#[derive(Clone)]
struct Repeating(Arc<Mutex<State>>);

struct State {
    /// Place of the last message. The message may have been sent since.
    at: Option<Once>,
    is_cancelled: bool,
    /// Entry among the owner's timers. Set when the timer is set for the first time, if it has an
    /// owner.
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
