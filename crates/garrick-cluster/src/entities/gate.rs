//! Gates. The gate of a kind on a node counts and limits the messages to entities of the kind. This
//! module also contains the doors through which these messages pass.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use garrick_actor::door::{Door, Notice, door};
use garrick_actor::{Address, SendError};
use garrick_sched::TaskId;

use super::message::{RegionMsg, ToRegion};
use crate::line::Travels;
use crate::members::hash;
use crate::named::{Named, Origin};

/// Maximum number of messages that wait on a node, counted separately for each kind of entities. A
/// message waits for an owner of its shard, or for the end of an entity. The node refuses further
/// messages. The same maximum applies to the node's own messages in the mailbox of a region.
pub(crate) const WAITING_MAX: usize = 16_384;

/// Counters and state of a region (the actor that passes on all messages of a kind), which senders
/// and samples read.
#[derive(Default)]
pub(super) struct Gate {
    /// Number of messages that wait for an owner of their shard, or for the end of an entity.
    waiting: AtomicUsize,
    /// True if the region accepts no more messages, because the node is leaving or has left.
    is_closed: AtomicBool,
    /// Number of entities that run on this node.
    pub(super) active: AtomicUsize,
    /// Number of times that an entity was created on this node.
    pub(super) created: AtomicU64,
    /// Number of entities that were stopped because they were idle.
    pub(super) passivated: AtomicU64,
    /// Number of messages that were dropped because this node did not own their shards.
    pub(super) strays: AtomicU64,
    /// Number of messages that were dropped because no node accepted them in time.
    pub(super) expired: AtomicU64,
    /// Number of messages that were dropped because the mailbox of their entity was full.
    pub(super) refused: AtomicU64,
    /// Number of entities that had not ended when their shard was given to another node.
    pub(super) abandoned: AtomicU64,
}

// Relaxed everywhere: the numbers and the flag publish nothing, and the bound need not be exact.
impl Gate {
    pub(super) fn waits(&self) {
        self.waiting.fetch_add(1, Relaxed);
    }

    pub(super) fn waits_no_more(&self, count: usize) {
        self.waiting.fetch_sub(count, Relaxed);
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Relaxed);
    }

    pub(super) fn is_open(&self) -> bool {
        !self.is_closed.load(Relaxed)
    }
}

/// Returns the address through which regions of other nodes send messages to the given region. (A
/// region is the actor that passes on all messages of a kind on a node.)
///
/// Messages from other regions are accepted even if the mailbox is full, because the sending
/// regions have already accepted them.
pub(super) fn region_address<M: Travels>(region: Address<RegionMsg<M>>) -> Address<ToRegion<M>> {
    door(FromOthers(region))
}

/// A door (an address that leads to a function) through which the regions of other nodes send
/// messages to this region (the actor that passes on all messages of a kind).
struct FromOthers<M: 'static>(Address<RegionMsg<M>>);

impl<M: Travels> Door for FromOthers<M> {
    type Message = ToRegion<M>;

    fn pass(
        &self,
        message: ToRegion<M>,
        _: &Address<ToRegion<M>>,
    ) -> Result<(), SendError<ToRegion<M>>> {
        let sent = self.0.send_promised(RegionMsg::From(message));
        sent.map_err(|SendError(refused)| match refused {
            RegionMsg::From(message) => SendError(message),
            _ => unreachable!("a refused message comes back as it was"),
        })
    }

    fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }

    fn watch(&self, notice: Notice) {
        self.0.forward_watch(notice);
    }
}

/// A door (an address that leads to a function) through which senders on this node send messages to
/// an entity on any node.
struct Entrance<M> {
    region: Address<RegionMsg<M>>,
    gate: Arc<Gate>,
    origin: Arc<Origin>,
    key: Arc<str>,
    hash: u64,
    id: TaskId,
    message: PhantomData<fn(M)>,
}

/// Returns the address of an entity.
pub(super) fn entity_address<M: Travels>(
    cluster: u64,
    kind: Arc<str>,
    key: &str,
    region: Address<RegionMsg<M>>,
    gate: Arc<Gate>,
) -> Address<M> {
    let of_key = hash(key);
    let id = hash(&kind).rotate_left(1) ^ of_key ^ cluster.rotate_left(2);
    let key: Arc<str> = key.into();
    let named = Named::Entity {
        kind,
        key: key.clone(),
    };
    door(Entrance {
        region,
        gate,
        origin: Arc::new(Origin { cluster, named }),
        key,
        hash: of_key,
        id: TaskId::far(id >> 1),
        message: PhantomData,
    })
}

impl<M: Travels> Door for Entrance<M> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        if !self.gate.is_open() || self.gate.waiting() >= WAITING_MAX {
            return Err(SendError(message));
        }
        let (key, hash) = (self.key.clone(), self.hash);
        let sent = self.region.send(RegionMsg::Send { key, hash, message });
        sent.map_err(|SendError(refused)| match refused {
            RegionMsg::Send { message, .. } => SendError(message),
            _ => unreachable!("a refused message comes back as it was"),
        })
    }

    fn is_stopped(&self) -> bool {
        !self.gate.is_open() || self.region.is_stopped()
    }

    fn watch(&self, notice: Notice) {
        // Ends when this node leaves: an entity has no end.
        self.region.forward_watch(notice);
    }

    fn stands_for(&self) -> Option<TaskId> {
        Some(self.id)
    }

    fn origin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::clone(&self.origin) as _)
    }
}

#[cfg(test)]
mod tests {
    use garrick_actor::{Local, Next, behavior};
    use garrick_testkit::notices_kept;

    use super::*;

    #[test]
    fn cancelled_watches_of_a_region_do_not_pile_up() {
        let local = Local::new().unwrap();
        let region = local.spawn(behavior(|_: RegionMsg<u64>, _| Next::Continue));
        let watched = region_address(region);
        let kept = notices_kept(&watched, 1_000, || local.run());
        assert!(kept <= 2 * 8, "{kept}");
    }
}
