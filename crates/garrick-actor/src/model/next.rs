//! What follows a turn.

use garrick_sched::Flow;

use crate::failure::fault::fail_alone;

/// What a handled message leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Next {
    /// What the turn staged happens, and the actor goes on.
    Continue,
    /// What the turn staged happens, and the actor is dropped; messages still waiting become dead letters.
    Stop,
    /// What the turn staged vanishes, and the actor goes on. The fields that the actor changed itself
    /// stay changed; a [`behavior`](crate::behavior()) has none, and is as it was.
    Undo,
    /// What the turn staged vanishes, and the actor has failed, as if it had panicked: its
    /// [`Supervisor`](crate::Supervisor) decides what becomes of it, and without one it is dropped.
    /// [`Context::fail`](crate::Context::fail) says why.
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
