//! Kinds of entities that a node uses. For each kind, this module stores which owners of shards
//! were last announced to the kind's region (the actor that passes on all messages to entities of
//! the kind).

use std::sync::Arc;

use super::order::{Order, Owner, Regional};
use super::view::{Changes, View};
use crate::name::NodeName;

/// A kind of entities that this node uses, and the information that the kind's region (the actor
/// that passes on messages to the entities) has received.
pub(super) struct UsedKind {
    region: Arc<dyn Regional>,
    /// True if the kind's region (the actor that passes on the kind's messages) knows the number of
    /// shards.
    knows_shards: bool,
    /// For each shard, the owner that was last announced to the region, and the revision that the
    /// shard's record had when the owner was announced.
    told: Vec<(Owner, u64)>,
    /// Version of the list of members at the time when the owners of all shards were last sent to
    /// the region (the actor that passes on the kind's messages). `None` if the owners were not
    /// sent yet.
    mark: Option<u64>,
}

impl UsedKind {
    pub(super) fn new(region: Arc<dyn Regional>) -> Self {
        Self {
            region,
            knows_shards: false,
            told: Vec::new(),
            mark: None,
        }
    }

    /// Sends an order of the placer to the region of the kind (the actor that passes on its
    /// messages).
    pub(super) fn order(&self, order: Order) {
        self.region.order(order);
    }

    /// Tells the region of the kind (the actor that passes on its messages) that the owners of all
    /// shards are unknown.
    pub(super) fn forget(&mut self) {
        self.told.clear();
        self.mark = None;
        self.order(Order::Lost);
    }

    /// Informs the region of the kind (the actor that passes on its messages) about new owners of
    /// shards.
    pub(super) fn tell(&mut self, kind: &str, view: &View, own: &NodeName, changed: &Changes) {
        let Some(shards) = view.shards(kind) else {
            self.mark = None;
            return;
        };
        if !self.knows_shards {
            self.knows_shards = true;
            self.order(Order::Shards(shards));
        }
        self.told.resize(shards as usize, (Owner::Nobody, 0));
        let mark = match self.mark {
            Some(mark) if !changed.members => mark,
            _ => view.mark(kind),
        };
        if self.mark == Some(mark) {
            for shard in changed.shards(kind) {
                self.tell_one(*shard, kind, view, own);
            }
            return;
        }
        self.mark = Some(mark);
        for shard in 0..shards {
            self.tell_one(shard, kind, view, own);
        }
    }

    fn tell_one(&mut self, shard: u32, kind: &str, view: &View, own: &NodeName) {
        // A record may be of a number that the kind does not have.
        let Some(told) = self.told.get_mut(shard as usize) else {
            return;
        };
        let revision = view.shard(kind, shard).map_or(0, |seen| seen.revision);
        let owner = owner_of(kind, shard, view, own);
        if told.1 == revision && told.0.is_like(&owner) {
            return;
        }
        *told = (owner.clone(), revision);
        self.region.order(Order::Owner {
            shard,
            owner,
            revision,
        });
    }
}

/// Returns the owner of a shard, in the form in which the node `own` reports the owner to its
/// region of the kind (the actor that passes on messages to entities).
fn owner_of(kind: &str, shard: u32, view: &View, own: &NodeName) -> Owner {
    let Some((name, seen)) = view.owner(kind, shard) else {
        return Owner::Nobody;
    };
    match (name == own, seen.value.is_draining) {
        (true, false) => Owner::Here,
        (false, false) => Owner::Far(name.clone()),
        (false, true) => Owner::Leaving(name.clone()),
        (true, true) => {
            let others = view.members();
            let others = others.filter(|(name, seen)| *name != own && seen.uses(kind));
            let mut others: Vec<_> = others.map(|(name, _)| name.clone()).collect();
            others.sort_unstable();
            Owner::HandsOver(others)
        }
    }
}
