//! Messages to regions. A region is the actor that passes on all messages to entities of a kind on
//! a node.

use std::sync::Arc;

use garrick_sched::Nanos;
use garrick_wire::Wire;

use super::host::Host;
use crate::line::Carrier;
use crate::members::Order;

/// A message to the region of the same kind on another node. (A region is the actor that passes on
/// all messages to entities of a kind on a node.)
#[derive(Wire)]
#[wire(name = "garrick.ToRegion", version = 2, context = Carrier)]
pub(super) enum ToRegion<M> {
    /// A message to an entity.
    #[wire(1)]
    Message {
        #[wire(1)]
        shard: u32,
        #[wire(2)]
        key: String,
        /// Revision of the shard's record that the sender has read. This record names the receiving
        /// node as the owner.
        #[wire(3)]
        revision: u64,
        #[wire(4)]
        message: M,
        /// True if the message has waited for an owner of the shard. Then a full mailbox of the
        /// entity accepts it.
        #[wire(5, default)]
        has_waited: bool,
    },
    /// An announcement that the sending node sends no more messages for a shard, as long as the
    /// shard's record has this revision.
    #[wire(2)]
    Held {
        #[wire(1)]
        shard: u32,
        #[wire(2)]
        revision: u64,
        #[wire(3)]
        node: String,
    },
}

/// A message to a region: the actor that passes on all messages to entities of a kind on a node.
pub(super) enum RegionMsg<M> {
    /// A message from this node to an entity.
    Send {
        key: Arc<str>,
        /// Hash of the key.
        hash: u64,
        message: M,
    },
    /// A message from another node's region for the same kind. (A region is the actor that passes
    /// on messages to the entities of a kind.)
    From(ToRegion<M>),
    Order(Order),
    /// A report that this node now runs entities of the kind.
    Host(Arc<dyn Host<M>>),
    /// The keys of the entities of a shard that have something to do. `None` if the list of these
    /// entities could not be read.
    Listed {
        shard: u32,
        /// Number of the request for these keys.
        asked: u64,
        keys: Option<Vec<String>>,
    },
    /// An entity that has ended has something to do, so it must be created again.
    ListAgain {
        shard: u32,
        key: Arc<str>,
    },
    /// An entity has ended.
    Ended {
        shard: u32,
        key: Arc<str>,
        generation: u64,
    },
    /// A request to make a scheduled check. Contains the time for which the check was scheduled.
    /// The region (the actor that passes on messages to entities) ignores the request if the next
    /// check is now scheduled for another time.
    Tick(Nanos),
}
