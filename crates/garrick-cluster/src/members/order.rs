//! Orders of the placer (the actor that decides about shards) to the regions (the actors that pass
//! on messages to entities) of its node.

use std::sync::Arc;

use super::lease::Lease;
use crate::name::NodeName;

/// Owner of a shard, in an order to a region (the actor that passes on the messages of a kind).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// No node owns the shard.
    Nobody,
    /// This node owns the shard.
    Here,
    /// Another node owns the shard.
    Far(NodeName),
    /// Another node owns the shard, and hands it over. This node must tell the owner that this node
    /// sends no more messages for the shard.
    Leaving(NodeName),
    /// This node owns the shard, and hands it over. The listed nodes must announce that they send
    /// no more messages.
    HandsOver(Vec<NodeName>),
}

/// An order of the placer (which decides about shards) to a region (which passes on the messages of
/// a kind).
#[derive(Clone)]
pub(crate) enum Order {
    /// Number of shards of the kind. This order is sent once, before all others.
    Shards(u32),
    /// The owner of a shard has changed.
    Owner {
        shard: u32,
        owner: Owner,
        /// Revision of the shard's record. 0 if the shard has no record.
        revision: u64,
    },
    /// The node has become a member. This order is sent before all orders that contain owners of
    /// shards.
    Joined(Arc<Lease>),
    /// The node is no longer a member. All owners are unknown.
    Lost,
    /// The node has handed its shards over, and will leave. The region (the actor that passes on
    /// the messages of a kind) accepts no more messages. If other nodes run the kind, the region
    /// sends them its waiting messages. Then the region informs the placer (the actor that decides
    /// about shards).
    Closes { has_hosts: bool },
    /// The node leaves. No order follows this one.
    Left,
}

impl Owner {
    /// Returns true if the owners are equal, or if both are `HandsOver`, with any lists of nodes.
    /// In both cases, the placer need not send `other` to a region (the actor that passes on the
    /// messages of a kind) that has received `self`, as long as the record of the shard has not
    /// changed.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        matches!((self, other), (Self::HandsOver(_), Self::HandsOver(_))) || self == other
    }
}

/// Implemented by regions: the actors that receive all messages to entities of a kind on a node,
/// and pass them on.
pub(crate) trait Regional: Send + Sync {
    /// Sends an order to the region (the actor that passes on the messages of a kind). In a turn,
    /// the order is sent when the turn commits.
    fn order(&self, order: Order);
}
