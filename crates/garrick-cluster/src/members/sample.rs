//! Numbers about members.

use std::sync::Arc;

use crate::name::NodeName;

/// Numbers of a node about members and shards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MembersSample {
    /// True if this node is a member.
    pub is_member: bool,
    /// True if this node hands its shards over, because it was asked to drain.
    pub is_draining: bool,
    /// Names of the members that this node knows, sorted.
    pub members: Vec<NodeName>,
    /// Number of shards of all kinds that this node owns.
    pub owned: usize,
    /// Number of times that this node has become a member.
    pub joined: u64,
    /// Number of times that this node has lost its membership and all of its shards.
    pub lost: u64,
    /// Number of members that this node has removed because they were silent.
    pub removed: u64,
    /// Number of times that this node has lost its shards of fenced kinds, because it was silent.
    pub fenced: u64,
    /// Number of times that this node has taken the shards of fenced kinds from a member that was
    /// silent.
    pub suspected: u64,
    /// Number of shards that this node has taken, because they had no owner.
    pub claimed: u64,
    /// Number of shards that this node has handed over.
    pub handed_over: u64,
    /// Number of records that could not be decoded.
    pub unreadable: u64,
    /// Reason why a change of a record has failed last.
    pub failure: Option<Arc<str>>,
}
