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
//! Totals count from the creation of the thing that they belong to. Rates are per second. Rates and
//! percentiles cover the last [`Snapshot::window`] seconds. Right after the start they cover a
//! shorter time, so rates are correct from the first second on. A value that the source does not
//! know is `null`.

use serde::{Deserialize, Serialize};

/// The state of a process at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Number of the snapshot within the process, from 0. If snapshots are missed, there is a gap
    /// in the numbers.
    pub sequence: u64,
    /// Time of the snapshot: milliseconds since 1970-01-01, UTC.
    pub unix_ms: u64,
    /// Seconds since the start of the telemetry.
    pub uptime: f64,
    /// Length of the window of rates and percentiles, in seconds.
    pub window: f64,
    /// The process.
    pub process: Process,
    /// Stages and groups of actors, in the order of their creation.
    pub nodes: Vec<Node>,
    /// Channels, in the order of their creation.
    pub edges: Vec<Edge>,
    /// Sponsors, in the order of their creation.
    pub sponsors: Vec<SponsorStatus>,
    /// Values that are beyond a threshold now, the worst first.
    pub alerts: Vec<Alert>,
}

/// A process, and the resources that it uses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Process {
    /// Name of the process. The default is the name of the executable.
    pub name: String,
    /// Process identifier.
    pub pid: u32,
    /// Resident memory in bytes.
    pub resident_bytes: Option<u64>,
    /// Number of cores in use, as CPU seconds per second. For example, 1.5 means one and a half
    /// cores.
    pub cpu: Option<f64>,
    /// Number of threads.
    pub threads: Option<u64>,
}

/// Kind of a [`Node`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A stage of a pipeline.
    #[default]
    Stage,
    /// The actors of one type on one sponsor.
    Actors,
}

/// State of a [`Node`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Working or idle.
    #[default]
    Running,
    /// Ended normally.
    Ended,
    /// Ended by a failure.
    Failed,
}

/// Severity of a value.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Within all thresholds.
    #[default]
    Ok,
    /// Beyond the threshold for a warning.
    Warning,
    /// Beyond the threshold for critical values.
    Critical,
}

/// A stage, or the actors of one type on one sponsor.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Node {
    /// Identifier, unique for as long as the process lives.
    pub id: String,
    /// Kind of the node.
    pub kind: NodeKind,
    /// Display name: the stage's name, or the short name of the actors' type.
    pub name: String,
    /// Name of the node's team or sponsor.
    pub place: String,
    /// State of the node.
    pub state: State,
    /// Severity of the worst of the node's values.
    pub level: Level,
    /// Total number of messages taken. For a node without an input, the number of messages sent.
    pub messages: u64,
    /// Messages per second, counted like `messages`.
    pub rate: f64,
    /// Total number of turns or steps.
    pub turns: u64,
    /// Turns or steps per second.
    pub turn_rate: f64,
    /// Share of one core that the node used. It is between 0 and 1 for a stage. It can exceed 1 for
    /// a group of actors, since several actors can run at the same time.
    pub busy: Option<f64>,
    /// Number of living actors.
    pub alive: Option<u64>,
    /// Average number of messages in the mailbox of an actor when its turn begins.
    pub depth: Option<u64>,
    /// Number of restarts.
    pub restarts: u64,
    /// Number of slow turns or steps.
    pub slow: u64,
    /// Seconds that the longest running turn has held its worker. 0 if no turn is running.
    pub held_seconds: Option<f64>,
    /// Number of turns that block in `cx.blocking`, while their workers run other actors.
    pub away: Option<u64>,
    /// Seconds that the longest of these turns has blocked. 0 if there are none.
    pub away_seconds: Option<f64>,
    /// Note of the node: the reason for its failure, or for its veto against stopping the graph.
    pub note: Option<String>,
}

/// Sizes of a channel's batches, grouped by powers of two.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Batches {
    /// Entry `k` counts the batches of `2^k` to `2^(k+1) - 1` messages. Trailing zeros are omitted.
    pub counts: Vec<u64>,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Edge {
    /// Identifier, unique for as long as the process lives.
    pub id: String,
    /// The [`Node::id`] of the sender, once known.
    pub from: Option<String>,
    /// The [`Node::id`] of the receiver, once known.
    pub to: Option<String>,
    /// Display name, if the channel has a name.
    pub name: Option<String>,
    /// Short name of the message type.
    pub message: String,
    /// Capacity in messages.
    pub capacity: u64,
    /// Number of messages in the channel now.
    pub fill: u64,
    /// 80th percentile of the filled share of the capacity over the window, 0 to 1.
    pub fill_p80: f64,
    /// 95th percentile of the filled share of the capacity over the window, 0 to 1.
    pub fill_p95: f64,
    /// Messages taken per second.
    pub rate: f64,
    /// Total number of messages taken.
    pub total: u64,
    /// Sizes of the batches that the sender sent.
    pub batches: Batches,
    /// Number of times that the sender had to wait for room.
    pub sender_stalls: u64,
    /// Number of times that the receiver had to wait for messages.
    pub receiver_stalls: u64,
    /// Severity of the worst of the channel's values.
    pub level: Level,
    /// True if the channel leads back to a stage that its messages have already passed.
    #[serde(default)]
    pub feedback: bool,
    /// True once the channel is closed.
    pub closed: bool,
}

/// A sponsor.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SponsorStatus {
    /// Identifier, unique for as long as the process lives.
    pub id: String,
    /// Name of the sponsor.
    pub name: String,
    /// Number of worker threads.
    pub workers: u64,
    /// Share of the window in which the threads were parked, 0 to 1.
    pub idle: Option<f64>,
    /// Total number of turns that the threads ran.
    pub turns: u64,
    /// Turns per second.
    pub turn_rate: f64,
    /// Number of cells that a thread has offered to other threads.
    pub published: u64,
    /// Number of offered cells that another thread has taken.
    pub claimed: u64,
    /// Number of times that a thread parked.
    pub parks: u64,
    /// Workers that are running a turn now, as far as known.
    #[serde(default)]
    pub held: Vec<Held>,
}

/// A worker of a sponsor that is running a turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Held {
    /// Index among the workers of the sponsor, from 0.
    pub worker: u64,
    /// The [`Node::id`] of the group of actors that the turn belongs to.
    pub node: String,
    /// Display name of the group of actors.
    pub name: String,
    /// Minimum number of seconds that the turn has taken so far.
    pub seconds: f64,
}

/// A value that is beyond a threshold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Alert {
    /// Identifier of the node, edge or sponsor. `process` for a value of the process.
    pub on: String,
    /// Name of the value, which is the name of its field.
    pub probe: String,
    /// Severity of the value.
    pub level: Level,
    /// Threshold that the value is beyond.
    pub threshold: f64,
    /// Current value.
    pub value: f64,
    /// Start of the alert: milliseconds since 1970-01-01, UTC.
    pub since_unix_ms: u64,
    /// Summary of the alert in one sentence.
    pub text: String,
}
