//! Shards of a kind: their owners, their waiting messages and their entities, as seen by this
//! node's region. (A region is the actor that passes on messages to the entities of a kind.)

use std::collections::VecDeque;
use std::sync::Arc;

use garrick_actor::Address;
use garrick_sched::Nanos;
use hashbrown::{HashMap, HashSet};

use super::host::HasDuties;
use super::message::ToRegion;
use crate::members::{Lease, Tenure};

/// Maximum number of stored announcements from nodes that have learned of the hand-over of a shard
/// earlier than this node.
const HELD_MAX: usize = 1_024;

/// A message to an entity. The message may have to wait for an owner of its shard.
pub(super) struct Waiting<M> {
    pub(super) key: Arc<str>,
    pub(super) message: M,
    /// Time at which the message began to wait. 0 if the message has not waited yet.
    pub(super) since: Nanos,
    /// Revision of the shard's record that the sending node has read. This record names this node
    /// as the owner. `None` if the message was sent on this node.
    pub(super) by: Option<u64>,
    /// True if the message has waited for an owner of its shard, or for the end of an entity. Then
    /// the entity accepts it even if its mailbox is full, because the message may have come while
    /// there was room. A message that has waited only for a link to the same owner is not accepted
    /// in this way.
    pub(super) has_waited: bool,
}

impl<M> Waiting<M> {
    /// Records the time at which the message began to wait, unless a time is already recorded.
    pub(super) fn wait_from(&mut self, now: Nanos) {
        if self.since == 0 {
            self.since = now;
        }
    }
}

/// Owner of a shard, as far as this node's region knows. (A region is the actor that passes on
/// messages to the entities of a kind.)
pub(super) enum Place<M> {
    /// Nobody owns the shard. Messages wait.
    Nobody,
    /// This node has owned the shard since the revision `since` of the shard's record.
    Here { since: u64 },
    /// Another node owns the shard. Contains the address of the region (the actor that passes on
    /// the messages of the kind) on that node.
    Far(Address<ToRegion<M>>),
    /// Another node owns the shard, and hands it over. Messages wait. The value contains the
    /// address of the owner's region (the actor that passes on messages to entities) until this
    /// node has announced that it sends no more messages.
    Leaving(Option<Address<ToRegion<M>>>),
    /// This node owns the shard, and hands it over.
    HandsOver { since: u64, phase: Phase },
}

/// Phase of the hand-over of a shard.
pub(super) enum Phase {
    /// The listed nodes may still send messages. The hand-over waits until each of them has
    /// announced that it sends no more messages, or until the given time.
    Waits {
        nodes: HashSet<String>,
        until: Nanos,
    },
    /// The entities are stopping, and may run until the given time. Messages wait.
    Stops { until: Nanos },
    /// No turn of the entities can begin to commit any more: the entities have stopped, or have
    /// lost the right to run on this node. The hand-over waits until all commits that have already
    /// begun are complete.
    Commits,
    /// The entities have stopped, or their turns can have no effect any more. The placer (the actor
    /// that decides about shards) now gives the shard to another node.
    Stopped,
}

/// An entity that runs, or that has not ended yet.
pub(super) struct Entity<M> {
    pub(super) address: Address<M>,
    pub(super) generation: u64,
    /// True if the entity has received a message since the last check for idle entities.
    pub(super) is_used: bool,
    /// True if the entity was told to stop. Messages wait until it has ended.
    pub(super) stops: bool,
    pub(super) queue: VecDeque<Waiting<M>>,
    /// True if the entity is in the list of entities that have something to do.
    pub(super) is_listed: bool,
    /// `None` if the entity is not durable.
    pub(super) has_duties: Option<HasDuties>,
}

impl<M> Entity<M> {
    /// Returns true if the entity has something to do without messages, so that it must not stop
    /// because it is idle. Until this is known, the entity counts as busy if it is listed.
    pub(super) fn is_busy(&self) -> bool {
        let has_duties = self.has_duties.as_ref();
        has_duties.is_some_and(|has_duties| has_duties().unwrap_or(self.is_listed))
    }
}

/// The list of those durable entities of a shard that have something to do, as far as this node
/// needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// The node does not own the shard, or the entities are not durable.
    Closed,
    /// The request with this number for the keys of the entities was sent.
    Asked(u64),
    /// The list could not be read. It is read again at the given time.
    AskAgain(Nanos),
    /// The entities that were in the list are in [`Shard::listed`], or were created.
    Read,
}

/// A shard of entities, as seen by this node's region for the kind. (A region is the actor that
/// passes on messages to the entities of a kind.)
pub(super) struct Shard<M> {
    pub(super) place: Place<M>,
    /// Revision of the shard's record.
    pub(super) revision: u64,
    /// Messages that wait for an owner, oldest first.
    pub(super) queue: VecDeque<Waiting<M>>,
    /// Number of messages that wait for the end of an entity.
    pub(super) behind: usize,
    pub(super) entities: HashMap<Arc<str>, Entity<M>>,
    /// The right of the entities to run on this node. `None` until an entity is created, and after
    /// the loss of the shard.
    pub(super) tenure: Option<Arc<Tenure>>,
    /// Nodes that send no more messages for the shard, because they have read a record of the shard
    /// that this node's region (the actor that passes on messages to entities) does not know yet.
    /// For each node: its name, and the revision of the record that it has read.
    pub(super) held: Vec<(String, u64)>,
    pub(super) list: List,
    /// Keys of entities that have something to do, and that this node has not created yet.
    pub(super) listed: VecDeque<Arc<str>>,
}

/// Destination of a message to an entity.
pub(super) enum Way<'a, M> {
    /// An entity of this node.
    Entity,
    /// The region (the actor that passes on messages to entities) on another node.
    Far(&'a Address<ToRegion<M>>),
    /// No destination is known yet, so the message waits.
    Wait,
    /// No destination, because the sender assumed a wrong owner. The message is dropped.
    Stray,
}

impl<M> Default for Shard<M> {
    fn default() -> Self {
        Self {
            place: Place::Nobody,
            revision: 0,
            queue: VecDeque::new(),
            behind: 0,
            entities: HashMap::new(),
            tenure: None,
            held: Vec::new(),
            list: List::Closed,
            listed: VecDeque::new(),
        }
    }
}

impl<M: 'static> Shard<M> {
    /// Returns the destination of a message. Assumes that no earlier message is waiting.
    pub(super) fn way(&self, by: Option<u64>) -> Way<'_, M> {
        // The sender has read a later record: this region will soon know of it.
        if by.is_some_and(|by| by > self.revision) {
            return Way::Wait;
        }
        match (&self.place, by) {
            (Place::Here { since }, Some(by)) if by < *since => Way::Stray,
            (Place::Here { .. }, _) => Way::Entity,
            (Place::HandsOver { since, phase }, by) => match (phase, by) {
                (_, Some(by)) if by < *since => Way::Stray,
                (Phase::Waits { .. }, _) => Way::Entity,
                // It comes too late, from a node that was not waited for.
                (Phase::Stops { .. } | Phase::Commits | Phase::Stopped, Some(_)) => Way::Stray,
                (Phase::Stops { .. } | Phase::Commits | Phase::Stopped, None) => Way::Wait,
            },
            (_, Some(_)) => Way::Stray,
            (Place::Far(to), None) => Way::Far(to),
            (Place::Nobody | Place::Leaving(_), None) => Way::Wait,
        }
    }

    /// Records that all messages of this node that wait now have waited for an owner. Called when
    /// the owner of the shard changes.
    pub(super) fn owner_changes(&mut self) {
        let own = self.queue.iter_mut().filter(|waiting| waiting.by.is_none());
        own.for_each(|waiting| waiting.has_waited = true);
    }

    /// Returns true if the next message must wait for an owner or for news about the owner. A
    /// message behind others also waits for what the oldest of them waits for.
    pub(super) fn waits_for_owner(&self, by: Option<u64>) -> bool {
        let waits = |by| matches!(self.way(by), Way::Wait);
        waits(by) || self.queue.front().is_some_and(|oldest| waits(oldest.by))
    }

    /// Returns true if the region (the actor that passes on messages to entities) must check the
    /// shard again later.
    pub(super) fn is_unsettled(&self) -> bool {
        let waits = matches!(
            self.place,
            Place::Leaving(Some(_))
                | Place::HandsOver {
                    phase: Phase::Waits { .. } | Phase::Stops { .. } | Phase::Commits,
                    ..
                }
        );
        let lists = matches!(self.list, List::AskAgain(_)) || !self.listed.is_empty();
        waits || lists || !self.queue.is_empty() || self.behind > 0
    }

    /// Records an early announcement: `node` sends no more messages for the shard, because `node`
    /// has read the shard's record with the revision `revision`. This node has not read this record
    /// yet.
    pub(super) fn held_early(&mut self, node: String, revision: u64) {
        self.held.retain(|(known, _)| *known != node);
        if self.held.len() < HELD_MAX {
            self.held.push((node, revision));
        }
    }

    /// Returns the right (`Tenure`) to run on this node, for an entity that is created now.
    pub(super) fn tenure(&mut self, lease: &Arc<Lease>) -> Arc<Tenure> {
        let over = self.tenure.take_if(|tenure| tenure.is_over());
        let lease = Arc::clone(lease);
        let tenure = self.tenure.get_or_insert_with(|| {
            Arc::new(match over {
                Some(over) => over.next(lease),
                None => Tenure::new(lease),
            })
        });
        if matches!(self.place, Place::HandsOver { .. }) {
            tenure.close();
        }
        Arc::clone(tenure)
    }

    /// Records that the shard no longer belongs to this node.
    pub(super) fn end(&mut self) {
        if let Some(tenure) = self.tenure.take() {
            tenure.end();
        }
        self.stop_all();
    }

    /// Tells all entities to stop after they have handled the messages in their mailboxes.
    pub(super) fn stop_all(&mut self) {
        for entity in self.entities.values_mut() {
            if !entity.stops {
                entity.stops = true;
                entity.address.stop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use garrick_actor::{Local, behavior};

    use super::*;

    fn waiting(by: Option<u64>) -> Waiting<u32> {
        Waiting {
            key: "a".into(),
            message: 0,
            since: 1,
            by,
            has_waited: false,
        }
    }

    #[test]
    fn messages_that_wait_for_a_link_have_waited_for_an_owner_if_the_owner_changes() {
        let local = Local::new().unwrap();
        let region = local.spawn(behavior(|_: ToRegion<u32>, _| ()));
        let mut shard = Shard {
            place: Place::Far(region),
            revision: 3,
            ..Shard::default()
        };
        assert!(!shard.waits_for_owner(None));
        shard.queue.extend([waiting(None), waiting(Some(3))]);
        assert!(!shard.waits_for_owner(None), "it waits for the link");
        shard.place = Place::Nobody;
        shard.owner_changes();
        let have_waited = |waiting: &Waiting<u32>| waiting.has_waited;
        let seen: Vec<bool> = shard.queue.iter().map(have_waited).collect();
        assert_eq!(
            seen,
            [true, false],
            "the second one comes from another node"
        );
        assert!(shard.waits_for_owner(None));
    }

    #[test]
    fn a_message_behind_one_that_waits_for_news_waits_for_them_too() {
        let mut shard = Shard {
            place: Place::Here { since: 1 },
            revision: 3,
            ..Shard::default()
        };
        assert!(!shard.waits_for_owner(None));
        // The sender has read a later record.
        assert!(shard.waits_for_owner(Some(4)));
        shard.queue.push_back(waiting(Some(4)));
        assert!(shard.waits_for_owner(None));
    }
}
