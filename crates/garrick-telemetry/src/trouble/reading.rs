//! Failures, supervision trees and dead letters, as sources provide them.

use crate::trouble::report::{ChildStatus, Effect};

/// A failure of an actor in a [`Reading`](crate::Reading).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FailureReading {
    /// Identifier of the group that the actor belongs to, as in
    /// [`ActorsReading::id`](crate::ActorsReading::id).
    pub actors: String,
    /// Short name of the actor's type.
    pub name: String,
    /// Path of the actor. `None` if the actor has neither a name nor a supervisor.
    pub path: Option<String>,
    /// Name of the sponsor (thread pool or thread) of the actor.
    pub place: String,
    /// Reason of the failure.
    pub reason: String,
    /// Effect of the failure on the actor.
    pub effect: Effect,
    /// Number of restarts of the actor so far, including the restart after this failure. 0 if
    /// [`effect`](Self::effect) is not [`Effect::Restarted`].
    pub restarts: u64,
    /// Time in nanoseconds between the failure and the reading.
    pub age_nanos: u64,
}

/// The number of dead letters for one type and one reason in a [`Reading`](crate::Reading).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LetterReading {
    /// Name of the sponsor (thread pool or thread) that counted the messages.
    pub place: String,
    /// Short name of the receiver's type. For messages that were lost before they reached a
    /// receiver, the short name of their type.
    pub name: String,
    /// Reason why the messages were not handled, for example `stopped`.
    pub reason: String,
    /// Total number of dead letters for the type `name` and the reason `reason`.
    pub count: u64,
}

/// A supervisor in a [`Reading`](crate::Reading), or a child of a supervisor. The fields have the
/// same meaning as those of [`SupervisorStatus`](crate::SupervisorStatus).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeReading {
    /// Path of the supervisor or child.
    pub path: String,
    /// Name of the supervisor or child.
    pub name: String,
    /// Short name of the actor's type. Empty for a supervisor.
    pub kind: String,
    /// State of the supervisor or child.
    pub state: ChildStatus,
    /// Number of restarts of the supervisor or child.
    pub restarts: u64,
    /// Reason of the latest failure, and the time in nanoseconds between this failure and the
    /// reading. `None` if there was no failure.
    pub last_failure: Option<(String, u64)>,
    /// Restart strategy of a supervisor. `None` for an actor that is not a supervisor.
    pub strategy: Option<String>,
    /// Children of a supervisor.
    pub children: Vec<Self>,
    /// Number of children of the supervisor that are not listed in `children`.
    pub omitted: u64,
    /// Children that the supervisor has given up and removed, each with its last state. The child
    /// that was removed last comes last.
    pub given_up: Vec<Self>,
}
