//! Failures, supervision trees and dead letters as plain data, with the same structure in Rust and
//! in JSON.

use serde::{Deserialize, Serialize};

/// The effect of a failure on the actor that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The actor was dropped. It had no supervisor, or was about to stop anyway.
    #[default]
    Stopped,
    /// The code that failed continues to be used. This code is either an actor that survives
    /// panics, such as a router, or a function that senders call, such as a
    /// [door](garrick_actor::door).
    Continued,
    /// The supervisor let the actor continue.
    Resumed,
    /// The supervisor replaced the actor with a new one.
    Restarted,
    /// The supervisor did not restart the actor.
    GivenUp,
}

/// A failure of an actor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecentFailure {
    /// Sequence number of the failure, counted from 1 since the start of the telemetry.
    pub number: u64,
    /// Time of the failure: milliseconds since 1970-01-01, UTC.
    pub unix_ms: u64,
    /// Short name of the actor's type.
    pub name: String,
    /// Path of the actor. `None` if the actor has neither a name nor a supervisor.
    pub path: Option<String>,
    /// Name of the sponsor (thread pool or thread) of the actor.
    pub place: String,
    /// Reason: the message of the panic, or the text of the error with its causes.
    pub reason: String,
    /// Effect of the failure on the actor.
    pub effect: Effect,
    /// Number of restarts of the actor so far, including the restart after this failure. 0 if
    /// [`effect`](Self::effect) is not [`Effect::Restarted`].
    pub restarts: u64,
}

/// The failures that telemetry remembers: the content of `/failures.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FailureReport {
    /// The latest failures, at most 256. The newest failure comes first.
    pub failures: Vec<RecentFailure>,
}

/// The number of dead letters for one type of receiver and one reason.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeadLetters {
    /// Label of the sponsor (thread pool or thread) that counted the messages: its name, and a
    /// number such as `#2` if another sponsor has the same name.
    pub place: String,
    /// Short name of the receiver's type. For messages that were lost before they reached a
    /// receiver, the short name of their type.
    pub name: String,
    /// Reason why the messages were not handled: `stopped`, `failed`, `shut_down`, `full` or
    /// `discarded`.
    pub reason: String,
    /// Total number of dead letters for the type `name` and the reason `reason`.
    pub count: u64,
}

/// A summary of all supervision trees.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Supervision {
    /// Number of supervisors in all supervision trees.
    pub supervisors: u64,
    /// Number of children, including children that are supervisors.
    pub children: u64,
    /// Number of children that are not running now.
    pub down: u64,
    /// Total number of restarts of all children that exist now.
    pub restarts: u64,
    /// Number that grows whenever a supervision tree changes. While the number stays the same,
    /// `/tree.json` has the same content.
    pub changes: u64,
    /// The children with the most restarts, at most 100. The child with the most restarts comes
    /// first.
    pub restarted: Vec<RestartedChild>,
}

/// A child that was restarted at least once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RestartedChild {
    /// Path of the child.
    pub path: String,
    /// Number of restarts of the child.
    pub restarts: u64,
}

/// The state of a child or of a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildStatus {
    /// The child handles messages.
    #[default]
    Running,
    /// The child is being started for the first time.
    Starting,
    /// The child or one of its siblings has failed, and the child has not been restarted yet.
    Restarting,
    /// The child is being stopped.
    Stopping,
    /// The child has stopped together with its supervisor.
    Stopped,
    /// The child has failed and will not be restarted.
    GivenUp,
}

/// The latest failure of a supervisor or child.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LastFailure {
    /// Time of the failure: milliseconds since 1970-01-01, UTC.
    pub unix_ms: u64,
    /// Reason of the failure.
    pub reason: String,
}

/// A supervisor, or a child of a supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SupervisorStatus {
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
    /// Latest failure of the supervisor or child. `None` if it has not failed.
    pub last_failure: Option<LastFailure>,
    /// Restart strategy of a supervisor, such as `one for one`. `None` for an actor that is not a
    /// supervisor.
    pub strategy: Option<String>,
    /// Children of a supervisor, in the order in which they are started.
    pub children: Vec<Self>,
    /// Number of children of the supervisor that are not listed in `children`.
    pub omitted: u64,
    /// Children that the supervisor has given up and removed, each with its last state. The child
    /// that was removed last comes last.
    pub given_up: Vec<Self>,
}

/// All supervision trees: the content of `/tree.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TreeReport {
    /// The value of [`Supervision::changes`] when the trees were read.
    pub changes: u64,
    /// Roots of the trees. All trees of one system together list at most 10,000 children.
    pub trees: Vec<SupervisorStatus>,
}
