//! What there is to see at one moment: plain data, the same in Rust and as JSON.
//!
//! ```text
//!   Snapshot
//!     process     who this is, and what it takes of the machine
//!     nodes       stages and groups of actors (all of one type on one sponsor)
//!     edges       channels from node to node
//!     sponsors    the threads that run them
//!     alerts      what is beyond a threshold now
//! ```
//!
//! Totals count from the start of what they count. Rates are per second and, as the percentiles are, over the
//! last [`Snapshot::window`] seconds: short at first, so that they are right from the first second on.
//! What a source does not know is `null`.

use serde::{Deserialize, Serialize};

/// All there is to see at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Counts the snapshots of a process, from 0. One that was missed shows as a gap.
    pub sequence: u64,
    /// When this was: milliseconds since 1970-01-01, UTC.
    pub unix_ms: u64,
    /// Seconds since the telemetry began.
    pub uptime: f64,
    /// Seconds that the rates and percentiles are taken over.
    pub window: f64,
    /// Who this is.
    pub process: Process,
    /// Stages and groups of actors, in the order in which they were made.
    pub nodes: Vec<Node>,
    /// Channels, in the order in which they were made.
    pub edges: Vec<Edge>,
    /// The sponsors, in the order in which they were made.
    pub sponsors: Vec<SponsorStatus>,
    /// What is beyond a threshold now, the worst first.
    pub alerts: Vec<Alert>,
}

/// A process, and what it takes of the machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Process {
    /// The name of its executable, unless told otherwise.
    pub name: String,
    /// Its number.
    pub pid: u32,
    /// Resident memory in bytes.
    pub resident_bytes: Option<u64>,
    /// Cores in use: CPU seconds a second. 1.5 is one and a half.
    pub cpu: Option<f64>,
    /// Its threads.
    pub threads: Option<u64>,
}

/// What a [`Node`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A stage of a pipeline.
    #[default]
    Stage,
    /// The actors of one type on one sponsor.
    Actors,
}

/// How a [`Node`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is there, at work or at rest.
    #[default]
    Running,
    /// It has ended as it should.
    Ended,
    /// It has ended in a failure.
    Failed,
}

/// How bad a value is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Within its thresholds.
    #[default]
    Ok,
    /// Beyond the first.
    Warning,
    /// Beyond the second.
    Critical,
}

/// A stage, or the actors of one type on one sponsor.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Node {
    /// Names it for as long as the process lives.
    pub id: String,
    /// What it is.
    pub kind: NodeKind,
    /// What people call it: the stage's name, or the short name of the actors' type.
    pub name: String,
    /// The name of its team or sponsor.
    pub place: String,
    /// How it is.
    pub state: State,
    /// How bad the worst of its values is.
    pub level: Level,
    /// Messages taken, or sent by a node that takes none: all, and a second.
    pub messages: u64,
    /// See `messages`.
    pub rate: f64,
    /// Turns or steps: all, and a second.
    pub turns: u64,
    /// See `turns`.
    pub turn_rate: f64,
    /// The share of one core that it was busy, 0 to 1 for a stage; several actors can be busy at once.
    pub busy: Option<f64>,
    /// How many actors there are.
    pub alive: Option<u64>,
    /// Messages that wait in the mailbox of one of them when it is its turn, on the average.
    pub depth: Option<u64>,
    /// How often it was started again.
    pub restarts: u64,
    /// Turns or steps that took longer than the sponsor calls slow.
    pub slow: u64,
    /// Seconds that a turn which is under way has held its worker, the most; 0 if none does.
    pub held_seconds: Option<f64>,
    /// Turns that block away from their worker, which runs others meanwhile.
    pub away: Option<u64>,
    /// Seconds that one of these is away for already, the most; 0 if there is none.
    pub away_seconds: Option<f64>,
    /// What it says about itself: why it failed, or why it vetoes the end.
    pub note: Option<String>,
}

/// How large the batches of a channel were, in powers of two.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Batches {
    /// Entry `k` counts the batches of `2^k` to `2^(k+1) - 1` messages. Zeros at the end are left out.
    pub counts: Vec<u64>,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Edge {
    /// Names it for as long as the process lives.
    pub id: String,
    /// The [`Node::id`] of who sends, once it is known.
    pub from: Option<String>,
    /// The [`Node::id`] of who takes, once it is known.
    pub to: Option<String>,
    /// What people call it, if it was given a name.
    pub name: Option<String>,
    /// The short name of the type of its messages.
    pub message: String,
    /// How many messages it holds at most.
    pub capacity: u64,
    /// How many it holds now.
    pub fill: u64,
    /// The 80th percentile over the window of the share of its capacity that was full, 0 to 1.
    pub fill_p80: f64,
    /// The 95th.
    pub fill_p95: f64,
    /// Messages taken, a second.
    pub rate: f64,
    /// Messages taken, all.
    pub total: u64,
    /// How large the batches were that the sender sent.
    pub batches: Batches,
    /// How often the sender had to wait for room.
    pub sender_stalls: u64,
    /// How often the receiver had to wait for messages.
    pub receiver_stalls: u64,
    /// How bad the worst of its values is.
    pub level: Level,
    /// Whether it is meant to lead back, to a stage that its messages have passed.
    #[serde(default)]
    pub feedback: bool,
    /// Whether it has been closed.
    pub closed: bool,
}

/// A sponsor.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SponsorStatus {
    /// Names it for as long as the process lives.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its threads.
    pub workers: u64,
    /// The share of the window that its threads rested, 0 to 1.
    pub idle: Option<f64>,
    /// Turns that its threads took: all, and a second.
    pub turns: u64,
    /// See `turns`.
    pub turn_rate: f64,
    /// Cells that its threads offered to one another.
    pub published: u64,
    /// Cells that its threads took over from one another.
    pub claimed: u64,
    /// How often a thread went to rest.
    pub parks: u64,
    /// Its workers that are in a turn now, as far as that is known.
    #[serde(default)]
    pub held: Vec<Held>,
}

/// A worker of a sponsor that is in a turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Held {
    /// Its number among the workers of its sponsor, from 0.
    pub worker: u64,
    /// The [`Node::id`] of the group of actors that the turn is of.
    pub node: String,
    /// What people call that.
    pub name: String,
    /// The least time that the turn has taken, in seconds.
    pub seconds: f64,
}

/// A value that is beyond a threshold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Alert {
    /// The id of the node, edge or sponsor.
    pub on: String,
    /// Which of its values: the name of the field.
    pub probe: String,
    /// How bad it is.
    pub level: Level,
    /// The threshold that it is beyond.
    pub threshold: f64,
    /// What it is now.
    pub value: f64,
    /// Since when: milliseconds since 1970-01-01, UTC.
    pub since_unix_ms: u64,
    /// All of this in a sentence.
    pub text: String,
}
