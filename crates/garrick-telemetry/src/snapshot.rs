//! State of a process at one moment: plain data, with the same structure in Rust and in JSON.
//!
//! ```text
//!   Snapshot
//!     process     the process, and the resources that it uses
//!     nodes       stages and groups of actors (all of one type on one sponsor)
//!     edges       channels from node to node
//!     sponsors    the threads that run the actors
//!     alerts      values that are beyond a threshold now
//! ```
//!
//! Totals count from the creation of the node, edge or sponsor that they belong to. Rates are per
//! second. Rates and percentiles cover the last [`Snapshot::window`] seconds. Right after the start
//! they cover a shorter time, so rates are correct from the first second on. A value that the
//! source does not know is `null`.

use serde::{Deserialize, Serialize};

/// The state of a process at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Number of the snapshot. The first snapshot after the start of the telemetry has the number
    /// 0. A reader that has missed snapshots sees a gap in the numbers.
    pub sequence: u64,
    /// Time of the snapshot: milliseconds since 1970-01-01, UTC.
    pub unix_ms: u64,
    /// Seconds since the start of the telemetry.
    pub uptime: f64,
    /// Length of the time window over which rates and percentiles are computed, in seconds.
    pub window: f64,
    /// The process, and the resources that it uses.
    pub process: Process,
    /// Stages and groups of actors, ordered by source. Those of one source are in the order in
    /// which the source lists them.
    pub nodes: Vec<Node>,
    /// Channels, ordered by source. Those of one source are in the order in which the source lists
    /// them.
    pub edges: Vec<Edge>,
    /// Sponsors, ordered by source. A sponsor is the thread pool of a `System`, or the thread of a
    /// `Local`.
    pub sponsors: Vec<SponsorStatus>,
    /// Alerts for values that are beyond a threshold now, the most severe first.
    pub alerts: Vec<Alert>,
}

/// A process, and the resources that it uses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Process {
    /// Name of the process. The default is the name of the executable.
    pub name: String,
    /// Process identifier.
    pub pid: u32,
    /// Resident memory of the process in bytes. `None` if it is unknown.
    pub resident_bytes: Option<u64>,
    /// Average number of cores that the process used over the window: CPU seconds per second. For
    /// example, 1.5 means one and a half cores. `None` if it is unknown.
    pub cpu: Option<f64>,
    /// Number of threads of the process. `None` if it is unknown.
    pub threads: Option<u64>,
}

/// The kind of a [`Node`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A stage of a pipeline.
    #[default]
    Stage,
    /// A group of actors: all actors of one type that run on one sponsor. A sponsor is the thread
    /// pool of a `System`, or the thread of a `Local`.
    Actors,
}

/// The state of a [`Node`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The node is working or idle.
    #[default]
    Running,
    /// The node has ended without a failure.
    Ended,
    /// The node has ended because of a failure.
    Failed,
}

/// The severity of a value.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The value is not beyond any threshold.
    #[default]
    Ok,
    /// The value is beyond the warning limit of a threshold, but not beyond a critical limit.
    Warning,
    /// The value is beyond the critical limit of a threshold.
    Critical,
}

/// A stage of a pipeline, or a group of actors. A group contains all actors of one type that run on
/// one sponsor (the thread pool of a `System`, or the thread of a `Local`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Node {
    /// Identifier of the node. No other node, edge or sponsor of the process ever has the same
    /// identifier.
    pub id: String,
    /// Kind of the node.
    pub kind: NodeKind,
    /// Display name of the node: the stage's name, or the short name of the actors' type.
    pub name: String,
    /// Name of the team, thread or sponsor that runs the node.
    pub place: String,
    /// State of the node.
    pub state: State,
    /// Severity of the node's most severe alert, or [`Level::Ok`] if the node has no alert.
    pub level: Level,
    /// Total number of messages that the node has received. For a stage without input channels, the
    /// number of messages that it has sent.
    pub messages: u64,
    /// Average number of messages per second over the window. Messages are counted as in
    /// `messages`.
    pub rate: f64,
    /// Total number of turns or steps that the node has run.
    pub turns: u64,
    /// Average number of turns or steps per second over the window.
    pub turn_rate: f64,
    /// Share of one core that the node used over the window. For a stage, the share is between 0
    /// and 1. For a group of actors, it can exceed 1, since several actors can run at the same
    /// time. `None` if it is unknown.
    pub busy: Option<f64>,
    /// Number of actors of the group that are alive. `None` for a stage, or if it is unknown.
    pub alive: Option<u64>,
    /// Average number of messages in an actor's mailbox when the actor begins a turn. `None` for a
    /// stage, or if it is unknown.
    pub depth: Option<u64>,
    /// Total number of failures of the node: turns of actors that panicked or returned an error, or
    /// panics of a stage.
    #[serde(default)]
    pub failures: u64,
    /// Total number of restarts of the node.
    pub restarts: u64,
    /// Total number of slow turns or steps of the node.
    pub slow: u64,
    /// Time in seconds that the running turn has occupied its worker so far. If several turns of
    /// the group are running, this is the longest time. 0 if no turn is running. `None` for a
    /// stage, or if it is unknown.
    pub held_seconds: Option<f64>,
    /// Number of turns that are now blocked in `cx.blocking`, while their workers run other actors.
    /// `None` for a stage, or if it is unknown.
    pub away: Option<u64>,
    /// Time in seconds that a turn has been blocked in `cx.blocking` so far. If several turns of
    /// the group are blocked, this is the longest time. 0 if no turn is blocked. `None` for a
    /// stage, or if it is unknown.
    pub away_seconds: Option<f64>,
    /// Note about the node, for example the reason for its failure.
    pub note: Option<String>,
}

/// A histogram of the sizes of a channel's batches, grouped by powers of two.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Batches {
    /// Number of batches in each group. Entry `k` counts the batches of `2^k` to `2^(k+1) - 1`
    /// messages. Trailing zeros are omitted.
    pub counts: Vec<u64>,
}

/// A channel from one node to another, and its measured values.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Edge {
    /// Identifier of the channel. No other node, edge or sponsor of the process ever has the same
    /// identifier.
    pub id: String,
    /// The [`Node::id`] of the sender. `None` while the sender is unknown.
    pub from: Option<String>,
    /// The [`Node::id`] of the receiver. `None` while the receiver is unknown.
    pub to: Option<String>,
    /// Display name of the channel, if it has a name.
    pub name: Option<String>,
    /// Short name of the type of the channel's messages.
    pub message: String,
    /// Capacity of the channel in messages.
    pub capacity: u64,
    /// Number of messages in the channel now.
    pub fill: u64,
    /// Filled share of the channel's capacity, from 0 to 1: the 80th percentile over the window.
    pub fill_p80: f64,
    /// Filled share of the channel's capacity, from 0 to 1: the 95th percentile over the window.
    pub fill_p95: f64,
    /// Average number of messages per second that the receiver took over the window.
    pub rate: f64,
    /// Total number of messages that the receiver has taken.
    pub total: u64,
    /// Sizes of the batches that the sender sent.
    pub batches: Batches,
    /// Total number of times that the sender waited because the channel had too little free space.
    pub sender_stalls: u64,
    /// Total number of times that the receiver waited because the channel had too few messages.
    pub receiver_stalls: u64,
    /// Severity of the channel's most severe alert, or [`Level::Ok`] if the channel has no alert.
    pub level: Level,
    /// True if the channel is a feedback channel: it leads back to an earlier stage, so that the
    /// stages form a loop.
    #[serde(default)]
    pub feedback: bool,
    /// True once the channel is closed.
    pub closed: bool,
}

/// A sponsor, and its measured values. A sponsor is the thread pool of a `System`, or the thread of
/// a `Local`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SponsorStatus {
    /// Identifier of the sponsor. No other node, edge or sponsor of the process ever has the same
    /// identifier.
    pub id: String,
    /// Name of the sponsor.
    pub name: String,
    /// Number of worker threads of the sponsor.
    pub workers: u64,
    /// Share of the window that a worker thread slept, from 0 to 1, averaged over all worker
    /// threads. `None` if it is unknown.
    pub idle: Option<f64>,
    /// Total number of turns that the worker threads have run.
    pub turns: u64,
    /// Average number of turns per second over the window, for all worker threads together.
    pub turn_rate: f64,
    /// Total number of times that a worker gave an actor with waiting messages to another worker.
    pub published: u64,
    /// Total number of times that a worker took over an actor with waiting messages from another
    /// worker.
    pub claimed: u64,
    /// Total number of times that a worker thread went to sleep.
    pub parks: u64,
    /// Total number of dead letters: accepted messages that were not handled.
    #[serde(default)]
    pub dead_letters: u64,
    /// The workers that are known to be running a turn now.
    #[serde(default)]
    pub held: Vec<Held>,
}

/// A worker of a sponsor, and the turn that the worker is running.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Held {
    /// Index of the worker among all workers of its sponsor. The first index is 0.
    pub worker: u64,
    /// The [`Node::id`] of the group that the running actor belongs to.
    pub node: String,
    /// Display name of the group that the running actor belongs to.
    pub name: String,
    /// Time that the turn has been running so far, in seconds. The true time may be longer.
    pub seconds: f64,
}

/// A value that is beyond a threshold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Alert {
    /// Identifier of the node, edge or sponsor that has the value, or `process` if the process has
    /// the value.
    pub on: String,
    /// Name of the value, as returned by [`Probe::name`](crate::Probe::name).
    pub probe: String,
    /// Severity of the alert.
    pub level: Level,
    /// Limit of the threshold: the critical limit for a critical alert, and otherwise the warning
    /// limit.
    pub threshold: f64,
    /// The value at the time of the snapshot.
    pub value: f64,
    /// Time when the alert reached its current level, in milliseconds since 1970-01-01, UTC.
    pub since_unix_ms: u64,
    /// Summary of the alert in one sentence.
    pub text: String,
}
