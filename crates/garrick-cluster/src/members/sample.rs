//! Counters of a node about members and shards.

use std::sync::Arc;
use std::time::Duration;

use crate::name::NodeName;

/// Counters of a node about members and shards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MembersSample {
    /// True if this node is a member.
    pub is_member: bool,
    /// True if this node is handing its shards over, because it was asked to drain.
    pub is_draining: bool,
    /// Names of the members that this node knows, sorted.
    pub members: Vec<NodeName>,
    /// Number of shards of all kinds that this node owns.
    pub owned: usize,
    /// Number of times that this node has become a member.
    pub joined: u64,
    /// Number of times that this node has lost its membership and all its shards.
    pub lost: u64,
    /// Number of members that this node has removed because they were silent.
    pub removed: u64,
    /// Number of times that this node has lost its shards of fenced kinds (whose journals refuse
    /// events of earlier owners), because this node was silent.
    pub fenced: u64,
    /// Number of times that this node has taken the shards of fenced kinds (whose journals refuse
    /// events of earlier owners) from a silent member.
    pub suspected: u64,
    /// Number of shards that this node has claimed because they had no owner.
    pub claimed: u64,
    /// Number of shards that this node has handed over.
    pub handed_over: u64,
    /// Time until the lease of this node ends, or zero if the lease has ended. The lease is the
    /// time for which the node may act as the owner of its shards. `None` if this node is not a
    /// member. After the end of the lease, the effects of entities' turns wait for a renewal.
    pub lease_left: Option<Duration>,
    /// Number of turns whose effects wait until this node's lease is renewed. The lease is the time
    /// for which the node may act as the owner of its shards.
    pub held_turns: usize,
    /// Number of records that could not be decoded.
    pub unreadable: u64,
    /// Reason why this node last failed to change a record, or why it cannot run a kind.
    pub failure: Option<Arc<str>>,
}
