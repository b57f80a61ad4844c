//! Orders of the placer to the regions of its node.

use std::sync::Arc;

use super::lease::Lease;
use crate::name::NodeName;

/// Owner of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// No node owns the shard.
    Nobody,
    /// This node owns the shard.
    Here,
    /// Another node owns the shard.
    Far(NodeName),
    /// Another node owns the shard, and hands it over. It must hear that nothing more comes from
    /// this node.
    Leaving(NodeName),
    /// This node owns the shard, and hands it over. It must hear of these nodes that nothing more
    /// comes from them.
    HandsOver(Vec<NodeName>),
}

/// An order to a region.
#[derive(Clone)]
pub(crate) enum Order {
    /// Number of shards of the kind. The first order, which comes once.
    Shards(u32),
    /// The owner of a shard has changed.
    Owner {
        shard: u32,
        owner: Owner,
        /// Revision of the record of the shard. 0 if there is none.
        revision: u64,
    },
    /// The node has become a member. Comes before the first owner.
    Joined(Arc<Lease>),
    /// The node is no member any more. All owners are unknown.
    Lost,
    /// The node has handed its shards over, and will leave. The region takes nothing more. If other
    /// nodes run the kind, sends them what waits, and then tells the placer.
    Closes { has_hosts: bool },
    /// The node leaves. The last order.
    Left,
}

impl Owner {
    /// Returns true if the region need not be told again while the record is the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        matches!((self, other), (Self::HandsOver(_), Self::HandsOver(_))) || self == other
    }
}

/// Implemented by regions: the actors through which all messages to entities of a kind pass on a
/// node.
pub(crate) trait Regional: Send + Sync {
    /// Gives an order. In a turn, when the turn commits.
    fn order(&self, order: Order);
}
