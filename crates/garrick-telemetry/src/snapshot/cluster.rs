//! Members, links and kinds of entities of a cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Level;

/// The state of a member of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    /// The node is not a member yet, or has lost its membership and tries to join again.
    Joining,
    /// The node is a member.
    #[default]
    Up,
    /// The member was silent, and other members have taken over its shards of fenced kinds (kinds
    /// with the option `KindOptions::fenced`).
    Suspect,
    /// The member is handing its shards over.
    Draining,
    /// The node was removed from the cluster, because it was silent.
    Removed,
    /// The node has left the cluster.
    Left,
}

/// The state of a link to another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// The other node has not answered yet.
    #[default]
    Connecting,
    /// The nodes are connected.
    Up,
    /// The nodes are connected, but some frames (transferred units of data) were lost. The nodes
    /// have not agreed yet on which frames these were.
    Gap,
    /// The other node was silent for too long, and still sends nothing.
    Down,
    /// The other node has left.
    Left,
}

/// A member of a cluster, as a node of this process sees it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Identifier of the member. No other item of the process ever has the same identifier.
    pub id: String,
    /// Short name of the local node in the labels of metrics. The local node runs in this process,
    /// and sees the member.
    pub local: String,
    /// Name of the member.
    pub name: String,
    /// Short name of the member in the labels of metrics.
    pub label: String,
    /// Severity of the member's most severe alert, or [`Level::Ok`] if it has no alert.
    pub level: Level,
    /// State of the member.
    pub state: MemberState,
    /// Incarnation of the node: a decimal number that grows each time the node starts. Empty if the
    /// number is unknown.
    pub incarnation: String,
    /// Number that identifies the node's membership. The number grows each time the node loses its
    /// membership and joins again. 0 if the node is not a member.
    pub epoch: u64,
    /// Time since the member was last seen to renew its membership, in seconds. `None` if the
    /// member was removed or has left.
    pub silent_seconds: Option<f64>,
    /// Number of shards that the member owns, of all kinds of entities together.
    pub owned_shards: u64,
    /// Number of shards that the member owns, by kind of entities.
    pub shards: BTreeMap<String, u64>,
    /// Values that only the node itself knows. `None` if the member is another node.
    pub own: Option<OwnMember>,
}

/// Values about a node's membership that only the node itself knows. Totals count from the start of
/// the node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OwnMember {
    /// Time until the lease of the node ends, in seconds. The lease is the time for which the node
    /// may act as the owner of its shards. 0 if the lease has ended, or if the node has lost its
    /// membership. `None` if the node has never been a member, or has left.
    pub lease_seconds: Option<f64>,
    /// Number of turns that wait for a renewal of the lease: the time for which the node may act as
    /// the owner of its shards.
    pub held_turns: u64,
    /// Number of times that the node has become a member.
    pub joined: u64,
    /// Number of times that the node has lost its membership and all its shards.
    pub lost: u64,
    /// Number of times that the node has lost its shards of fenced kinds (kinds with the option
    /// `KindOptions::fenced`), because the node was silent.
    pub fenced: u64,
    /// Number of members that the node has removed because they were silent.
    pub removed: u64,
    /// Number of shards that the node has claimed because they had no owner.
    pub claimed_shards: u64,
    /// Number of shards that the node has handed over.
    pub handed_over_shards: u64,
    /// Reason why the node last failed to change the records of the cluster, or why the node cannot
    /// run a kind of entities. `None` if there is no such error.
    pub failure: Option<String>,
}

/// A link from a node of this process to another node, and its measured values. Answers to
/// questions, and refusals of questions, count as messages. Totals count from the start of the
/// link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkStatus {
    /// Identifier of the link. No other item of the process ever has the same identifier.
    pub id: String,
    /// Short name of the local node in the labels of metrics. The local node runs in this process.
    pub local: String,
    /// Name of the other node.
    pub name: String,
    /// Short name of the other node in the labels of metrics.
    pub label: String,
    /// Severity of the link's most severe alert, or [`Level::Ok`] if it has no alert.
    pub level: Level,
    /// State of the link.
    pub state: LinkState,
    /// Time since the link's state last changed, in seconds.
    pub state_seconds: f64,
    /// Time since the last frame arrived from the other node, in seconds. `None` if no frame has
    /// arrived.
    pub silent_seconds: Option<f64>,
    /// Incarnation of the other node: a decimal number that grows each time the other node starts.
    /// Empty if the number is unknown.
    pub incarnation: String,
    /// Number of times that the two nodes of the link were connected, including the first time.
    pub connects: u64,
    /// Total number of frames that were sent.
    pub sent_frames: u64,
    /// Total number of bytes in sent frames.
    pub sent_bytes: u64,
    /// Average number of sent bytes per second over the time window.
    pub sent_byte_rate: f64,
    /// Total number of messages in sent frames.
    pub sent_messages: u64,
    /// Average number of sent messages per second over the time window.
    pub sent_rate: f64,
    /// Total number of handled frames from the other node.
    pub received_frames: u64,
    /// Total number of bytes in handled frames from the other node.
    pub received_bytes: u64,
    /// Average number of received bytes per second over the time window.
    pub received_byte_rate: f64,
    /// Total number of messages in handled frames from the other node.
    pub received_messages: u64,
    /// Average number of received messages per second over the time window.
    pub received_rate: f64,
    /// Total number of sent frames that the other node has reported as lost.
    pub lost_frames: u64,
    /// Total number of lost messages. These are the messages in frames that the other node has
    /// reported as lost, and those that still waited on this node when the other node was lost.
    pub lost_messages: u64,
    /// Number of messages that were lost in the time window.
    pub new_lost_messages: u64,
    /// Total number of messages that were possibly lost: the other node was lost before it had
    /// confirmed the frames of these messages.
    pub unconfirmed_messages: u64,
    /// Total number of frames that the other node has sent but that have not arrived.
    pub missing_frames: u64,
    /// Total number of times that the network has refused a frame. The link sends the frame later.
    pub refused_frames: u64,
    /// Total number of messages that could not be encoded, decoded or delivered.
    pub refused_messages: u64,
    /// Number of frames that wait until they can be sent.
    pub waiting_frames: u64,
    /// Number of bytes that wait until they can be sent.
    pub waiting_bytes: u64,
    /// Number of bytes in frames that the other node has not confirmed.
    pub unconfirmed_bytes: u64,
    /// Number of bytes that may still be sent before the other node confirms a frame.
    pub credit_bytes: u64,
    /// Number of questions to the other node that have no answer yet.
    pub questions: u64,
}

/// A kind of entities, as a node of this process sees it. Totals count from the first use of the
/// kind by the node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KindStatus {
    /// Identifier of the kind of entities. No other item of the process ever has the same
    /// identifier.
    pub id: String,
    /// Short name of the local node in the labels of metrics. The local node runs in this process.
    pub local: String,
    /// Name of the kind of entities.
    pub name: String,
    /// Short name of the kind of entities in the labels of metrics.
    pub label: String,
    /// Severity of the kind's most severe alert, or [`Level::Ok`] if it has no alert.
    pub level: Level,
    /// True if the node runs entities of the kind. Otherwise, the node only sends messages to these
    /// entities.
    pub is_hosted: bool,
    /// Number of entities that run on the node.
    pub entities: u64,
    /// Total number of times that an entity was created on the node.
    pub created: u64,
    /// Average number of created entities per second over the time window.
    pub created_rate: f64,
    /// Total number of entities that were stopped because they were idle.
    pub passivated: u64,
    /// Number of shards of the kind in the cluster. 0 if the node does not know this number yet.
    pub shards: u64,
    /// Number of shards that the node owns.
    pub owned_shards: u64,
    /// Number of shards that no node owns.
    pub unowned_shards: u64,
    /// Number of shards that the node is handing over.
    pub handing_over_shards: u64,
    /// Number of shards that are being handed over, by this node or by another one.
    pub moving_shards: u64,
    /// Number of messages that wait on the node, because their shard has no owner, or because their
    /// entity is just ending.
    pub waiting_messages: u64,
    /// Total number of messages that were dropped because the node did not own their shard.
    pub stray_messages: u64,
    /// Total number of messages that were dropped because no node accepted them in time.
    pub expired_messages: u64,
    /// Total number of messages that were dropped because the mailbox of their entity was full.
    pub refused_messages: u64,
    /// Total number of entities that did not end in time when their shard was handed over.
    pub abandoned_entities: u64,
}
