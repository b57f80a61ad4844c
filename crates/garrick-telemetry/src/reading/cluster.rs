//! Raw counts of a node of a cluster.

use crate::snapshot::{LinkState, MemberState};

/// The values in a [`Reading`](super::Reading) for a member of a cluster, as a node of this process
/// sees them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemberReading {
    /// Identifier of the member. The same rules apply as for
    /// [`StageReading::id`](super::StageReading::id).
    pub id: String,
    /// Name of the local node, which sees the member. The local node runs in this process.
    pub local: String,
    /// Name of the member.
    pub name: String,
    /// Incarnation of the node: a number that grows each time the node starts. 0 if the number is
    /// unknown.
    pub incarnation: u64,
    /// Number that identifies the node's membership. The number grows each time the node loses its
    /// membership and joins again. 0 if the node is not a member.
    pub epoch: u64,
    /// State of the member.
    pub state: MemberState,
    /// Time since the member was last seen to renew its membership, in nanoseconds. `None` if the
    /// member was removed or has left.
    pub silent_nanos: Option<u64>,
    /// Number of shards that the member owns, by kind of entities.
    pub shards: Vec<(String, u64)>,
    /// Values that only the node itself knows. `None` if the member is another node.
    pub own: Option<OwnMemberReading>,
}

/// Values about a node's membership that only the node itself knows. Part of a [`MemberReading`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OwnMemberReading {
    /// Time until the lease of the node ends, in nanoseconds. 0 if the lease has ended, or if the
    /// node has lost its membership. `None` if the node has never been a member, or has left.
    pub lease_nanos: Option<u64>,
    /// Number of turns that wait for a renewal of the lease.
    pub held_turns: u64,
    /// Total number of times that the node has become a member.
    pub joined: u64,
    /// Total number of times that the node has lost its membership.
    pub lost: u64,
    /// Total number of times that the node has lost its shards of fenced kinds (kinds with the
    /// option `KindOptions::fenced`).
    pub fenced: u64,
    /// Total number of members that the node has removed because they were silent.
    pub removed: u64,
    /// Total number of shards that the node has claimed because they had no owner.
    pub claimed_shards: u64,
    /// Total number of shards that the node has handed over.
    pub handed_over_shards: u64,
    /// Reason why the node last failed to change the records of the cluster, or why the node cannot
    /// run a kind of entities. `None` if there is no such error.
    pub failure: Option<String>,
}

/// The values in a [`Reading`](super::Reading) for a link between two nodes of a cluster. Answers
/// to questions, and refusals of questions, count as messages.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkReading {
    /// Identifier of the link. The same rules apply as for
    /// [`StageReading::id`](super::StageReading::id).
    pub id: String,
    /// Name of the local node, which runs in this process.
    pub local: String,
    /// Name of the other node.
    pub peer: String,
    /// State of the link.
    pub state: LinkState,
    /// Time since the last change of the link's state, in nanoseconds.
    pub state_nanos: u64,
    /// Time since the last frame arrived from the other node, in nanoseconds. `None` if no frame
    /// has arrived.
    pub silent_nanos: Option<u64>,
    /// Incarnation of the other node: a number that grows each time the other node starts. 0 if the
    /// number is unknown.
    pub incarnation: u64,
    /// Total number of times that the two nodes of the link were connected, including the first
    /// time.
    pub connects: u64,
    /// Total number of frames that were sent.
    pub sent_frames: u64,
    /// Total number of bytes in sent frames.
    pub sent_bytes: u64,
    /// Total number of messages in sent frames.
    pub sent_messages: u64,
    /// Total number of handled frames from the other node.
    pub received_frames: u64,
    /// Total number of bytes in handled frames from the other node.
    pub received_bytes: u64,
    /// Total number of messages in handled frames from the other node.
    pub received_messages: u64,
    /// Total number of sent frames that the other node has reported as lost.
    pub lost_frames: u64,
    /// Total number of messages that were lost.
    pub lost_messages: u64,
    /// Total number of messages that may be lost: the other node was lost before it had confirmed
    /// the frames of these messages.
    pub unconfirmed_messages: u64,
    /// Total number of frames that the other node has sent but that have not arrived.
    pub missing_frames: u64,
    /// Total number of times that the network has refused a frame.
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

/// The values in a [`Reading`](super::Reading) for a kind of entities, as a node of this process
/// sees them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KindReading {
    /// Identifier of the kind of entities. The same rules apply as for
    /// [`StageReading::id`](super::StageReading::id).
    pub id: String,
    /// Name of the local node, which runs in this process.
    pub local: String,
    /// Name of the kind of entities.
    pub name: String,
    /// True if the node runs entities of the kind.
    pub is_hosted: bool,
    /// Number of entities that run on the node.
    pub entities: u64,
    /// Total number of times that an entity was created on the node.
    pub created: u64,
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
