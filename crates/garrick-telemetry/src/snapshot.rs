//! The state of a process at one moment, as plain data with the same structure in Rust and in JSON.
//!
//! ```text
//!   Snapshot
//!     process     the process, and the resources that it uses
//!     nodes       stages and groups of actors (all of one type on one sponsor)
//!     edges       channels from node to node
//!     sponsors    the threads that run the actors
//!     journals    the logs of durable actors
//!     members     the members of clusters
//!     links       the links to other nodes of clusters
//!     kinds       the kinds of entities of clusters
//!     pipelines   stages that are connected by channels, and the stage that limits them
//!     alerts      values that are beyond a threshold now
//!     metrics     numbers that the program itself records
//! ```
//!
//! Totals count from the creation of the node, edge or sponsor that they belong to. Rates are per
//! second. Rates and percentiles cover the last [`Snapshot::window`] seconds. Rates are correct
//! from the second snapshot on. A value that the source does not know is `null`.

mod cluster;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::trouble::{DeadLetters, RecentFailure, Supervision};
use crate::window::{At, Spread};
pub use cluster::{KindStatus, LinkState, LinkStatus, MemberState, MemberStatus, OwnMember};

/// The state of a process at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Sequence number of the snapshot. The first snapshot after the start of the telemetry has the
    /// number 0. A reader that has missed snapshots sees a gap in the numbers.
    pub sequence: u64,
    /// Time of the snapshot: milliseconds since 1970-01-01, UTC.
    pub unix_ms: u64,
    /// Seconds since the start of the telemetry.
    pub uptime: f64,
    /// Length of the time window over which rates and percentiles are computed, in seconds. At
    /// first, the window is as long as [`uptime`](Self::uptime).
    pub window: f64,
    /// The process, and the resources that it uses.
    pub process: Process,
    /// Stages and groups of actors, ordered by source. The nodes of one source are in the order in
    /// which the source lists them.
    pub nodes: Vec<Node>,
    /// Channels, ordered by source. The channels of one source are in the order in which the source
    /// lists them.
    pub edges: Vec<Edge>,
    /// Sponsors, ordered by source. A sponsor is the thread pool of a
    /// [`System`](garrick_actor::System), or the thread of a [`Local`](garrick_actor::Local).
    pub sponsors: Vec<SponsorStatus>,
    /// Journals of durable actors, ordered by source.
    #[serde(default)]
    pub journals: Vec<JournalStatus>,
    /// Members of clusters, ordered by source. The list contains the nodes of this process, and all
    /// other members that these nodes know.
    #[serde(default)]
    pub members: Vec<MemberStatus>,
    /// Links to other nodes of clusters, ordered by source.
    #[serde(default)]
    pub links: Vec<LinkStatus>,
    /// Kinds of entities that the nodes of this process use, ordered by source.
    #[serde(default)]
    pub kinds: Vec<KindStatus>,
    /// Actors that stand out: up to 20 with the longest mailboxes, up to 20 with the oldest
    /// messages, and up to 20 of the busiest. The actor with the longest mailbox comes first.
    /// Actors with equally long mailboxes are ordered by their busy time.
    #[serde(default)]
    pub actors: Vec<ActorStatus>,
    /// Alerts for values that are beyond a threshold now, the most severe first.
    pub alerts: Vec<Alert>,
    /// The latest failures of actors, the newest first: at most 32, with reasons of at most about
    /// 200 bytes. `/failures.json` contains more failures, with longer reasons.
    #[serde(default)]
    pub recent_failures: Vec<RecentFailure>,
    /// Dead letters, by type and reason.
    #[serde(default)]
    pub dead_letters: Vec<DeadLetters>,
    /// Summary of the supervision trees. `/tree.json` has the trees.
    #[serde(default)]
    pub supervision: Supervision,
    /// Metrics that the program itself records, in the order of their first uses.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// Number of refused uses of metrics, for each reason. The reasons are `series` (too many
    /// series), `name` (a bad name), `kind` (the name of a metric of another kind) and `labels`
    /// (bad labels). Empty if the telemetry has no `Recorder`.
    #[serde(default)]
    pub metrics_refused: BTreeMap<String, u64>,
    /// Pipelines, in the order of their first stages.
    #[serde(default)]
    pub pipelines: Vec<Pipeline>,
}

/// A pipeline: at least two stages that are connected by channels, directly or through other
/// stages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Pipeline {
    /// The [`Node::id`] of the pipeline's first stage in [`Snapshot::nodes`].
    pub id: String,
    /// Name of the pipeline: the names of its first and its last stage, with an arrow between them.
    pub name: String,
    /// Number of stages of the pipeline.
    pub stages: u64,
    /// The [`Node::id`] of the stage that limits the throughput of the pipeline. `None` if no stage
    /// limits it.
    pub bottleneck: Option<String>,
    /// Summary of the pipeline in one sentence. If there is a bottleneck, the sentence names it,
    /// for example: `worker is the bottleneck: 99 % busy, its input is full, its output is not.`
    pub text: String,
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
    /// Average number of cores that the process used over the time window: CPU seconds per second.
    /// For example, 1.5 means one and a half cores. `None` if it is unknown.
    pub cpu: Option<f64>,
    /// Number of threads of the process. `None` if it is unknown.
    pub threads: Option<u64>,
    /// Total CPU time of the process, in user and system mode, in seconds. `None` if it is unknown.
    #[serde(default)]
    pub cpu_seconds: Option<f64>,
    /// Size of the virtual memory of the process in bytes. `None` if it is unknown.
    #[serde(default)]
    pub virtual_bytes: Option<u64>,
    /// Number of open file descriptors. The number is at most one second old. `None` if it is
    /// unknown.
    #[serde(default)]
    pub open_files: Option<u64>,
    /// Maximum number of open file descriptors (the soft limit). `None` if it is unknown or
    /// unlimited.
    #[serde(default)]
    pub open_files_max: Option<u64>,
    /// Time at which the process started: seconds since 1970-01-01, UTC. `None` if it is unknown.
    #[serde(default)]
    pub started_unix_seconds: Option<f64>,
}

/// The kind of a [`Node`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A stage of a pipeline.
    #[default]
    Stage,
    /// A group of actors: all actors of one type that run on one sponsor. A sponsor is the thread
    /// pool of a [`System`](garrick_actor::System), or the thread of a
    /// [`Local`](garrick_actor::Local).
    Actors,
}

/// The state of a [`Node`]. A group of actors is always [`Running`](Self::Running).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The node has not ended. It may be working or idle.
    #[default]
    Running,
    /// The stage has ended without a failure.
    Ended,
    /// The stage has ended because of a failure.
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
/// one sponsor (the thread pool of a [`System`](garrick_actor::System), or the thread of a
/// [`Local`](garrick_actor::Local)).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Node {
    /// Identifier of the node. No other node, edge or sponsor of the process ever has the same
    /// identifier.
    pub id: String,
    /// Kind of the node.
    pub kind: NodeKind,
    /// Display name of the node: the stage's name, or the short name of the actors' type.
    pub name: String,
    /// Name of the sponsor (thread pool or thread) that runs a group of actors, or of the
    /// [team](garrick_flow::Team) that runs a stage. For a stage with its own thread, the name of
    /// the stage.
    pub place: String,
    /// State of the node.
    pub state: State,
    /// Severity of the node's most severe alert, or [`Level::Ok`] if the node has no alert.
    pub level: Level,
    /// Total number of messages that the stage has taken from its channels. For a stage without
    /// input channels, the number of messages that it has sent. For a group of actors, the number
    /// of turns: handled messages, and starts of actors.
    pub messages: u64,
    /// Average number of messages per second over the time window. Messages are counted as in the
    /// field `messages`.
    pub rate: f64,
    /// Total number of steps that the stage has run, or of turns that the actors of the group have
    /// run. A turn is the handling of one message, or the start of an actor.
    pub turns: u64,
    /// Steps of the stage per second, or turns of the actors per second: the average over the time
    /// window.
    pub turn_rate: f64,
    /// Share of one core that the node used over the time window. For a stage, the share is between
    /// 0 and 1. For a group of actors, the share can exceed 1, because several actors can run at
    /// the same time. `None` if the share is unknown.
    pub busy: Option<f64>,
    /// Share of the time window, from 0 to 1, for which the stage waited for messages. `None` for a
    /// group of actors, or if the share is unknown.
    #[serde(default)]
    pub starved: Option<f64>,
    /// Share of the time window, from 0 to 1, for which the stage waited for room in an output
    /// channel. `None` for a group of actors, or if the share is unknown.
    ///
    /// A stage that is neither busy nor starved nor back-pressured waits for a timer, for a future,
    /// or for the other stages of its team.
    #[serde(default)]
    pub back_pressured: Option<f64>,
    /// Number of actors of the group that are alive. `None` for a stage, or if the number is
    /// unknown.
    pub alive: Option<u64>,
    /// Number of messages in all mailboxes of the group. `None` for a stage, or if the number is
    /// unknown.
    #[serde(default)]
    pub waiting: Option<u64>,
    /// Number of messages in the longest mailbox of the group. `None` for a stage, or if the number
    /// is unknown.
    #[serde(default)]
    pub longest: Option<u64>,
    /// Growth of `waiting` over the time window, in messages per second. Negative if the mailboxes
    /// have become shorter. `None` for a stage, or if the growth is unknown.
    #[serde(default)]
    pub growth: Option<f64>,
    /// Durations of the actors' turns, in seconds. The values are estimates, because only some
    /// turns are timed. `None` for a stage, or if the durations are unknown.
    #[serde(default)]
    pub turn_seconds: Option<Histogram>,
    /// Waiting times of messages, in seconds: from the sending of a message to its handling by an
    /// actor. Only some messages are measured. `None` for a stage, or if the times are unknown.
    #[serde(default)]
    pub wait_seconds: Option<Histogram>,
    /// Kinds of messages that the actors of the group have handled. The kind that used the most
    /// time in the window comes first. If there are more than 32 kinds, the remaining ones are
    /// counted together as `other`. Empty for a stage, or if the messages have no kinds.
    #[serde(default)]
    pub messages_by_kind: Vec<MessageStatus>,
    /// Total number of failures of the node: panics of the stage, or failed turns of the actors
    /// (turns that panicked or returned an error).
    #[serde(default)]
    pub failures: u64,
    /// Total number of restarts of the stage, or of actors of the group.
    pub restarts: u64,
    /// Total number of slow steps of the stage, or of slow turns of the actors. For a pipeline,
    /// [`Graph::count_slow_steps`](garrick_flow::Graph::count_slow_steps) sets which steps are
    /// slow. A turn of a Garrick actor is slow if it takes at least 100 ms.
    pub slow: u64,
    /// Time in seconds that the running turn has occupied its worker so far. If several turns of
    /// the group are running, the value is the longest of their times. 0 if no turn is running.
    /// `None` for a stage, or if the time is unknown.
    pub held_seconds: Option<f64>,
    /// Number of turns that are now blocked in [`cx.blocking`](garrick_actor::Context::blocking),
    /// while their workers run other actors. `None` for a stage, or if the number is unknown.
    pub away: Option<u64>,
    /// Time in seconds that a turn has been blocked in
    /// [`cx.blocking`](garrick_actor::Context::blocking) so far. If several turns of the group are
    /// blocked, the value is the longest of their times. 0 if no turn is blocked. `None` for a
    /// stage, or if the time is unknown.
    pub away_seconds: Option<f64>,
    /// Note about the node, for example the reason for its failure. `None` if there is no note.
    pub note: Option<String>,
    /// Number of actors of the group that failed in the time window and were not restarted.
    #[serde(default)]
    pub lost: u64,
    /// Largest number of restarts that a single actor of the group had in the time window.
    #[serde(default)]
    pub restarts_of_one: u64,
    /// Short name of the node in the labels of metrics. The label is unique among all nodes with
    /// the same `place`. If several nodes have the same name, all but the first get a number, such
    /// as `Counter#2`. The label does not change while the node keeps its name.
    #[serde(default)]
    pub label: String,
    /// Total time that the node was busy, in seconds of one core. `None` if it is unknown.
    #[serde(default)]
    pub busy_seconds: Option<f64>,
    /// Total time in seconds that the stage waited for messages. `None` for a group of actors, or
    /// if the time is unknown.
    #[serde(default)]
    pub starved_seconds: Option<f64>,
    /// Total time in seconds that the stage waited for room in an output channel. `None` for a
    /// group of actors, or if the time is unknown.
    #[serde(default)]
    pub back_pressured_seconds: Option<f64>,
}

/// One kind of message that a group of actors has handled, such as a variant of an enum.
/// [`Actor::MESSAGES`](garrick_actor::Actor::MESSAGES) names the kinds.
///
/// The numbers are exact for actors whose turns take at least 4 µs on average. For other actors,
/// the numbers are estimates, because only some of their turns are measured. A turn is counted
/// after it has ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MessageStatus {
    /// Name of the kind of message. No other kind of the group has the same name.
    pub name: String,
    /// Total number of turns that have handled messages of this kind.
    pub turns: u64,
    /// Average rate of turns that handled messages of this kind, in turns per second over the time
    /// window.
    pub rate: f64,
    /// Total duration of the turns that have handled messages of this kind, in seconds.
    pub busy_seconds: f64,
    /// Share of one core that the turns with messages of this kind used over the time window. The
    /// share can exceed 1, because several actors can run at the same time. `None` before the
    /// second snapshot.
    pub busy: Option<f64>,
    /// Average duration of a turn with a message of this kind, in seconds, over the time window. If
    /// there was no such turn in the window, the value is the average over the whole time. `None`
    /// if there was no such turn at all.
    pub mean_seconds: Option<f64>,
    /// Duration of the longest measured turn with a message of this kind, in seconds.
    pub longest_seconds: f64,
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
    /// Display name of the channel. `None` if the channel has no name.
    pub name: Option<String>,
    /// Short name of the type of the channel's messages.
    pub message: String,
    /// Capacity of the channel in messages.
    pub capacity: u64,
    /// Number of messages in the channel now.
    pub fill: u64,
    /// Filled share of the channel's capacity, from 0 to 1: the 80th percentile over the time
    /// window.
    pub fill_p80: f64,
    /// Filled share of the channel's capacity, from 0 to 1: the 95th percentile over the time
    /// window.
    pub fill_p95: f64,
    /// Average rate at which the receiver took messages, in messages per second over the time
    /// window.
    pub rate: f64,
    /// Total number of messages that the receiver has taken.
    pub total: u64,
    /// Sizes of the batches that the sender sent.
    pub batches: Batches,
    /// Total number of times that the sender waited because the channel had too little free space.
    pub sender_stalls: u64,
    /// Total number of times that the receiver waited because the channel had too few messages.
    pub receiver_stalls: u64,
    /// Time in seconds for which the channel has been at least three quarters full, while its
    /// receiver took nothing from it. When the receiver takes a message, the time is reset to 0. If
    /// the receiver takes nothing because one of its output channels is stalled, the time of this
    /// channel is 0, and only the output channel has a time.
    #[serde(default)]
    pub stalled_seconds: f64,
    /// Severity of the channel's most severe alert, or [`Level::Ok`] if the channel has no alert.
    pub level: Level,
    /// True if the channel is a feedback channel: it leads back to an earlier stage, so that the
    /// stages form a loop.
    #[serde(default)]
    pub feedback: bool,
    /// True once the channel is closed.
    pub closed: bool,
    /// Short name of the channel in the labels of metrics. The label is unique among all channels:
    /// if several channels have the same name, all but the first get a number, such as `orders#2`.
    #[serde(default)]
    pub label: String,
}

/// A sponsor, and its measured values. A sponsor is the thread pool of a
/// [`System`](garrick_actor::System), or the thread of a [`Local`](garrick_actor::Local).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SponsorStatus {
    /// Identifier of the sponsor. No other node, edge or sponsor of the process ever has the same
    /// identifier.
    pub id: String,
    /// Name of the sponsor (thread pool or thread).
    pub name: String,
    /// Number of worker threads of the sponsor (thread pool or thread).
    pub workers: u64,
    /// Share of the time window that a worker thread slept, from 0 to 1, averaged over all worker
    /// threads. `None` if it is unknown.
    pub idle: Option<f64>,
    /// Total number of turns that the worker threads have run.
    pub turns: u64,
    /// Average number of turns per second over the time window, for all worker threads together.
    pub turn_rate: f64,
    /// Total number of times that a worker gave an actor with waiting messages to another worker,
    /// or to the queue that all workers share.
    pub published: u64,
    /// Total number of times that a worker got an actor with waiting messages from another worker,
    /// or from the queue that all workers share.
    pub claimed: u64,
    /// Total number of times that a worker thread went to sleep.
    pub parks: u64,
    /// Total number of turns that a worker ran in place of another worker, because the other worker
    /// was in a long turn.
    #[serde(default)]
    pub rescues: u64,
    /// Number of actors that are ready to run now. `None` if it is unknown.
    #[serde(default)]
    pub ready: Option<u64>,
    /// Waiting times of messages, in seconds: from the sending of a message to its handling by a
    /// worker. Only some messages are measured. `None` if the times are unknown.
    #[serde(default)]
    pub wait_seconds: Option<Histogram>,
    /// Total number of dead letters: accepted messages that were not handled.
    #[serde(default)]
    pub dead_letters: u64,
    /// The workers that are known to be running a turn now.
    #[serde(default)]
    pub held: Vec<Held>,
    /// Short name of the sponsor in the labels of metrics. The label is unique among all sponsors:
    /// if several sponsors have the same name, all but the first get a number, such as `pool#2`.
    #[serde(default)]
    pub label: String,
    /// Total time that the worker threads slept, in seconds, summed over all threads. `None` if it
    /// is unknown.
    #[serde(default)]
    pub idle_seconds: Option<f64>,
    /// Number of actors of the sponsor (thread pool or thread) that failed in the time window, were
    /// not restarted, and belong to no node, for example supervisors. The failure of an actor that
    /// belongs to a node is counted in [`Node::lost`] instead.
    #[serde(default)]
    pub lost: u64,
}

/// The phase of a journal of durable actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalPhase {
    /// The journal has not been opened yet.
    New,
    /// The log is being read.
    Opening,
    /// The journal is open.
    #[default]
    Open,
    /// An I/O error has broken the log. The log must be opened again.
    Broken,
    /// The journal was closed.
    Closed,
    /// The journal could not be opened.
    Failed,
}

/// A journal of durable actors, and its measured values. Totals count from the time when the
/// journal was opened.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JournalStatus {
    /// Identifier of the journal. No other item of the process ever has the same identifier.
    pub id: String,
    /// Display name of the journal.
    pub name: String,
    /// Short name of the journal in the labels of metrics. The label is unique among all journals:
    /// if several journals have the same name, all but the first get a number, such as `bank#2`.
    pub label: String,
    /// Phase of the journal.
    pub phase: JournalPhase,
    /// Severity of the journal's most severe alert, or [`Level::Ok`] if the journal has no alert.
    pub level: Level,
    /// Number of bytes that have been read so far, while the log is being opened. `None` in other
    /// phases.
    pub opening_read_bytes: Option<u64>,
    /// Size of the log in bytes, while the log is being opened. `None` in other phases.
    pub opening_bytes: Option<u64>,
    /// Reason why the journal could not be opened, or why the latest group of turns could not be
    /// written. `None` if there is no such error.
    pub failure: Option<String>,
    /// Newest notice: an error without loss of data. `None` if there was none.
    pub notice: Option<String>,
    /// Total number of groups of turns that were written, each with one sync.
    pub groups: u64,
    /// Average rate at which groups of turns were written to the log, in groups per second over the
    /// time window.
    pub group_rate: f64,
    /// Average time to write a group of turns, in seconds, over the time window. `None` if no group
    /// was written in the window.
    pub group_seconds: Option<f64>,
    /// Total number of turns in the groups that were written. A group consists of turns whose
    /// events are written together.
    pub turns: u64,
    /// Average rate at which turns were written to the log, in turns per second over the time
    /// window.
    pub turn_rate: f64,
    /// Average number of turns per written group, over the time window. A group consists of turns
    /// whose events are written together. `None` if no group was written in the window.
    pub group_turns: Option<f64>,
    /// Total number of events in the groups of turns that were written.
    pub events: u64,
    /// Average number of written events per second over the time window.
    pub event_rate: f64,
    /// Total size of all written events in bytes, without the bytes that the log adds.
    pub event_bytes: u64,
    /// Total number of groups of turns that could not be written. The turns of these groups were
    /// undone.
    pub failed_groups: u64,
    /// Number of groups of turns that could not be written since the last successful write.
    pub failing_groups: u64,
    /// Number of turns that wait until their events are durable.
    pub waiting_turns: u64,
    /// Upper limit for the time that the oldest waiting turn has waited, in seconds. 0 if no turn
    /// waits.
    pub oldest_wait_seconds: f64,
    /// Total number of times that a file of the journal, or the folder of its files, was synced to
    /// the disk.
    pub syncs: u64,
    /// Total number of bytes that were written to the disk.
    pub written_bytes: u64,
    /// Average rate at which bytes were written to the disk, in bytes per second over the time
    /// window.
    pub written_rate: f64,
    /// Total time in which groups of turns were written and synced, in seconds.
    pub writing_seconds: f64,
    /// Share of the time window, from 0 to 1, in which groups of turns were written and synced.
    /// `None` before the second snapshot.
    pub writing: Option<f64>,
    /// Duration of the slowest write of a group of turns, in seconds.
    pub longest_group_seconds: f64,
    /// Number of entities that exist.
    pub entities: u64,
    /// Number of files with events.
    pub segments: u64,
    /// Size of the files with events, in bytes.
    pub size_bytes: u64,
    /// Total number of compactions that have removed files.
    pub compactions: u64,
    /// Total number of bytes that compactions have copied.
    pub copied_bytes: u64,
    /// Total number of times that the state of an entity was saved.
    pub saved_states: u64,
    /// Total number of notices: errors without loss of data.
    pub notices: u64,
    /// Number of notices (errors without loss of data) in the time window.
    pub new_notices: u64,
    /// Total number of times that an entity has read its state.
    pub recoveries: u64,
    /// Total number of events that entities have read to compute their states.
    pub recovered_events: u64,
    /// Total time in which entities have read their states, in seconds, summed over all entities.
    pub recovery_seconds: f64,
}

/// An actor that stands out, because it is busy, has a long mailbox, or has a message that has
/// waited for a long time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ActorStatus {
    /// Identifier of the actor. No other item of the process has the same identifier at the same
    /// time.
    pub id: String,
    /// The [`Node::id`] of the group that the actor belongs to.
    pub node: String,
    /// Display name. An actor with a name or a supervisor is shown by its path. Any other actor is
    /// shown by the short name of its type and a number.
    pub name: String,
    /// Number of messages in the mailbox of the actor.
    pub waiting: u64,
    /// Lower limit for the time that the oldest message in the mailbox has waited, in seconds.
    /// `None` if the time is unknown.
    #[serde(default)]
    pub oldest_seconds: Option<f64>,
    /// Estimated share of one core that the actor used over the time window. `None` if it is not
    /// known yet.
    pub busy: Option<f64>,
}

/// A worker of a sponsor (thread pool or thread), and the turn that the worker is running.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Held {
    /// Index of the worker among all workers of its sponsor (thread pool or thread). The first
    /// index is 0.
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
    /// Identifier of the node, edge, sponsor or other item that the value belongs to, or `process`
    /// if it belongs to the process.
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

/// Kind of a [`Metric`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// A number that only grows.
    #[default]
    Counter,
    /// A number that can also fall.
    Gauge,
    /// A distribution of numbers.
    Histogram,
}

/// A metric that the program itself records by a `Recorder`, and all its series. A `Recorder` needs
/// the feature `metrics`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Metric {
    /// Name of the metric, as it is exported to Prometheus. The name of a counter ends in `_total`.
    pub name: Arc<str>,
    /// Kind of the metric.
    pub kind: MetricKind,
    /// Description of the metric.
    pub help: Arc<str>,
    /// The series: one for each combination of labels that the program has used, in the order of
    /// their first uses.
    pub series: Vec<MetricSeries>,
}

/// A series of a [`Metric`]: its values for one combination of labels.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MetricSeries {
    /// Names and values of the labels.
    pub labels: Arc<BTreeMap<String, String>>,
    /// Value of a counter or a gauge. For a histogram, the number of recorded values. In JSON, a
    /// value that is infinite or not a number is `null`.
    #[serde(deserialize_with = "number_or_null")]
    pub value: f64,
    /// Average growth of the value per second over the time window. `None` for a gauge, and before
    /// the second sample.
    pub rate: Option<f64>,
    /// Counts of a histogram. `None` for counters and gauges.
    pub histogram: Option<Histogram>,
}

/// The counts of a histogram since its first use, and estimates of percentiles of the values in the
/// time window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// Upper limits of the buckets, in ascending order. A value that is equal to a limit belongs to
    /// the bucket below this limit.
    pub limits: Arc<[f64]>,
    /// Number of values in each bucket, followed by the number of values above the last limit.
    pub counts: Vec<u64>,
    /// Sum of all values. `null` in JSON if it is infinite or not a number.
    #[serde(deserialize_with = "number_or_null")]
    pub sum: f64,
    /// Estimate of the median of the values in the time window ([`Snapshot::window`]). If the
    /// median lies above the last limit, the estimate is the last limit. `None` if the window
    /// contains no values.
    pub p50: Option<f64>,
    /// Estimate of the 99th percentile of the values in the time window. If the percentile lies
    /// above the last limit, the estimate is the last limit. `None` if the window contains no
    /// values.
    pub p99: Option<f64>,
    /// Upper limit of the bucket of the largest value in the time window. If the largest value lies
    /// above the last limit, the field contains the last limit. `None` if the window contains no
    /// values.
    #[serde(default)]
    pub max: Option<f64>,
}

impl Histogram {
    /// Creates a histogram without percentiles.
    pub(crate) fn new(limits: Arc<[f64]>, counts: Vec<u64>, sum: f64) -> Self {
        Self {
            limits,
            counts,
            sum,
            ..Self::default()
        }
    }

    /// Records the counts in `recent`, and sets the percentiles and the maximum to those of the
    /// values in the time window.
    pub(crate) fn estimate(&mut self, recent: &mut Spread, at: At) {
        let counts = recent.push(at, &self.counts);
        self.estimate_from(&counts);
    }

    /// Sets the percentiles and the maximum to those of the values that `counts` contains: the
    /// number of values in each bucket.
    fn estimate_from(&mut self, counts: &[u64]) {
        self.p50 = self.percentile(counts, 0.5);
        self.p99 = self.percentile(counts, 0.99);
        self.max = self.largest(counts);
    }

    /// Returns the upper limit of the last bucket that has values. If this bucket has no upper
    /// limit, returns the last limit.
    fn largest(&self, counts: &[u64]) -> Option<f64> {
        let last = counts.iter().rposition(|count| *count > 0)?;
        self.limits.get(last).or(self.limits.last()).copied()
    }

    /// Returns an estimate of a percentile. `share` is from 0 to 1, such as 0.99 for the 99th
    /// percentile. The estimate assumes that the values of a bucket are spread evenly between its
    /// limits. Returns `None` if there are no values.
    fn percentile(&self, counts: &[u64], share: f64) -> Option<f64> {
        let all: u64 = counts.iter().sum();
        let rank = share * all as f64;
        let (mut below, mut least) = (0.0, 0.0f64);
        for (limit, count) in self.limits.iter().zip(counts) {
            let count = *count as f64;
            if count > 0.0 && below + count >= rank {
                let start = least.min(*limit);
                return Some(start + (limit - start) * ((rank - below) / count));
            }
            (below, least) = (below + count, *limit);
        }
        // The value lies above the last limit.
        self.limits.last().copied().filter(|_| all > 0)
    }
}

/// Deserializes a number, or NaN from `null`.
fn number_or_null<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = Option::<f64>::deserialize(from)?;
    Ok(number.unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimated(limits: &[f64], counts: &[u64]) -> Histogram {
        let mut histogram = Histogram::new(limits.into(), counts.to_vec(), 0.0);
        histogram.estimate_from(counts);
        histogram
    }

    fn percentiles(limits: &[f64], counts: &[u64]) -> (Option<f64>, Option<f64>) {
        let histogram = estimated(limits, counts);
        (histogram.p50, histogram.p99)
    }

    #[test]
    fn percentiles_are_between_the_limits_of_their_buckets() {
        let limits = [1.0, 2.0, 4.0];
        assert_eq!(percentiles(&limits, &[0, 0, 0, 0]), (None, None));
        let largest = |counts: &[u64]| estimated(&limits, counts).max;
        assert_eq!(largest(&[0, 0, 0, 0]), None);
        assert_eq!(largest(&[1, 1, 0, 0]), Some(2.0));
        assert_eq!(largest(&[1, 0, 0, 1]), Some(4.0));
        let (p50, p99) = percentiles(&limits, &[50, 49, 1, 0]);
        assert_eq!((p50, p99), (Some(1.0), Some(2.0)));
        let (p50, p99) = percentiles(&limits, &[0, 0, 100, 0]);
        assert_eq!((p50, p99), (Some(3.0), Some(3.98)));
        assert_eq!(percentiles(&limits, &[0, 0, 0, 5]).0, Some(4.0));
        // The first bucket begins at 0, or at its limit if that is negative.
        assert_eq!(percentiles(&limits, &[4, 0, 0, 0]).0, Some(0.5));
        assert_eq!(percentiles(&[-2.0, 1.0], &[4, 0, 0]).0, Some(-2.0));
    }
}
