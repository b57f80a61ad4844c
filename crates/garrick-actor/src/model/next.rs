//! The next step after a turn.

use garrick_sched::Flow;

use crate::failure::fault::fail_alone;

/// The next step after a handled message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Next {
    /// Commits the turn's effects, and the actor goes on.
    Continue,
    /// Commits the turn's effects, and the actor is dropped. Messages still waiting become dead
    /// letters.
    Stop,
    /// Discards the turn's effects, and the actor goes on. Fields that the actor changed itself
    /// stay changed, and so do variables that a closure has captured.
    Undo,
    /// Discards the turn's effects, and the actor fails, as if it had panicked. Its
    /// [`Supervisor`](crate::supervise::Supervisor) decides what happens to it. Without a
    /// supervisor it is dropped. [`Context::fail`](crate::Context::fail) adds the reason.
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
