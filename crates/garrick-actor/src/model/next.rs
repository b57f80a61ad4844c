//! The next step of an actor after a turn.

use garrick_sched::Flow;

use crate::failure::fault::fail_alone;

/// The next step of an actor after it has handled a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Next {
    /// Commits the turn's effects. The actor continues.
    Continue,
    /// Commits the turn's effects and drops the actor. Messages that are still in its mailbox
    /// become dead letters.
    Stop,
    /// Discards the turn's effects. The actor continues. Changes to the actor's own fields, or to
    /// variables that a closure has captured, are not reverted.
    Undo,
    /// Discards the turn's effects and fails the actor, as if it had panicked.
    /// [`Context::fail`](crate::Context::fail) creates this value with a reason.
    ///
    /// The actor's [`Supervisor`](crate::supervise::Supervisor) decides what happens to the actor.
    /// Without a supervisor, the actor is dropped.
    Fail,
}

impl From<Next> for Flow {
    #[inline]
    fn from(next: Next) -> Self {
        match next {
            Next::Continue => Self::Continue,
            Next::Stop => Self::Stop,
            Next::Undo => Self::Undo,
            Next::Fail => fail_alone(),
        }
    }
}
