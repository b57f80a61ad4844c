//! The entities that a region runs on its node: their creation, their messages and their end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use garrick_actor::mailbox::TrySendError;
use garrick_actor::{Address, Context, SendError};
use garrick_sched::{Nanos, nanos};

use super::listed::AGAIN;
use super::{IDLE_LOOK, Idle, LOOK, Region, discard, is_late};
use crate::entities::gate::WAITING_MAX;
use crate::entities::host::Created;
use crate::entities::message::RegionMsg;
use crate::entities::shard::{Entity, Phase, Place, Waiting};
use crate::line::Travels;
use crate::members::PlacerMsg;

/// `Region::idle` (the list of entities that may become idle) can have two entries for each running
/// entity, and this number of additional entries. If the list has more entries, the entries of
/// ended entities are removed.
const IDLE_MIN: usize = 1_024;

/// Removes and returns the messages of a queue that have waited for too long.
fn take_late<M>(queue: &mut VecDeque<Waiting<M>>, now: Nanos) -> VecDeque<Waiting<M>> {
    let is_late = |waiting: &Waiting<M>| is_late(waiting.since, now);
    if !queue.iter().any(is_late) {
        return VecDeque::new();
    }
    let (late, left) = std::mem::take(queue).into_iter().partition(is_late);
    *queue = left;
    late
}

/// Sends a message to an entity, as part of the current turn. If `has_waited` is true, the message
/// is accepted even if the mailbox is full, unless [`WAITING_MAX`] messages more than its capacity
/// wait there.
///
/// # Errors
/// Returns the message if the mailbox is full, or if the entity has stopped.
fn send<M: 'static>(to: &Address<M>, message: M, has_waited: bool) -> Result<(), TrySendError<M>> {
    let excess = || to.waiting()?.checked_sub(to.capacity()?);
    if !has_waited || excess().is_some_and(|excess| excess >= WAITING_MAX) {
        return to.try_send(message);
    }
    let sent = to.send_promised(message);
    sent.map_err(|SendError(message)| TrySendError::Stopped(message))
}

impl<M: Travels> Region<M> {
    /// Sends a message to an entity of this node. Creates the entity if it does not run.
    pub(super) fn deliver(
        &mut self,
        number: u32,
        waiting: Waiting<M>,
        cx: &Context<'_, RegionMsg<M>>,
    ) {
        let shard = &mut self.shards[number as usize];
        let Some(entity) = shard.entities.get_mut(&waiting.key) else {
            return self.create(number, waiting, cx);
        };
        entity.is_used = true;
        let mut waiting = waiting;
        if !entity.stops {
            match send(&entity.address, waiting.message, waiting.has_waited) {
                Ok(()) => return,
                Err(TrySendError::Full(message)) => return self.refuses(message),
                // It has stopped by itself: the notice of its end is on its way.
                Err(TrySendError::Stopped(message)) => waiting = Waiting { message, ..waiting },
            }
            entity.stops = true;
        }
        self.gate.waits();
        waiting.has_waited = true;
        waiting.wait_from(cx.now());
        entity.queue.push_back(waiting);
        shard.behind += 1;
        self.unsettled.insert(number);
        self.look_within(LOOK, cx);
    }

    /// Creates an entity for a message.
    fn create(&mut self, number: u32, waiting: Waiting<M>, cx: &Context<'_, RegionMsg<M>>) {
        if self.host.is_none() || self.lease.is_none() {
            // A node owns shards only if it runs the kind.
            return self.strays(waiting);
        }
        if self.create_idle(number, &waiting.key, false, cx) {
            self.deliver(number, waiting, cx);
        } else {
            // The system is shutting down.
            discard(waiting);
        }
    }

    /// Creates the entity with the given key, without a message. `is_listed` is true if the key is
    /// in the list of entities that have something to do. Returns false if the entity cannot be
    /// created, for example because the system is shutting down.
    pub(super) fn create_idle(
        &mut self,
        number: u32,
        key: &Arc<str>,
        is_listed: bool,
        cx: &Context<'_, RegionMsg<M>>,
    ) -> bool {
        self.open_list(number, cx);
        let (Some(host), Some(lease)) = (&self.host, &self.lease) else {
            return false;
        };
        let tenure = self.shards[number as usize].tenure(lease);
        let created = host.create(number, key, &tenure);
        let Some(Created {
            address,
            has_duties,
        }) = created
        else {
            return false;
        };
        self.generation += 1;
        let (key, generation) = (key.clone(), self.generation);
        let (of_watch, me) = (key.clone(), cx.address());
        let _ = address.watch(move |_| {
            let ended = RegionMsg::Ended {
                shard: number,
                key: of_watch,
                generation,
            };
            // Also if the mailbox is full.
            let _ = me.send_promised(ended);
        });
        self.gate.active.fetch_add(1, Relaxed);
        self.gate.created.fetch_add(1, Relaxed);
        if let Some(idle) = host.options().idle {
            let idle = idle.max(IDLE_LOOK);
            self.forget_ended();
            self.idle.push_back(Idle {
                at: cx.now().saturating_add(nanos(idle)),
                shard: number,
                key: key.clone(),
                generation,
            });
            self.look_within(idle, cx);
        }
        let entity = Entity {
            address,
            generation,
            is_used: true,
            stops: false,
            queue: VecDeque::new(),
            is_listed,
            has_duties,
        };
        self.shards[number as usize].entities.insert(key, entity);
        true
    }

    /// Removes the entries of ended entities from `idle`, if the list has too many entries
    /// ([`IDLE_MIN`]).
    fn forget_ended(&mut self) {
        if self.idle.len() <= 2 * self.gate.active.load(Relaxed) + IDLE_MIN {
            return;
        }
        let shards = &self.shards;
        self.idle.retain(|idle| {
            let entity = shards[idle.shard as usize].entities.get(&idle.key);
            entity.is_some_and(|entity| entity.generation == idle.generation)
        });
    }

    /// Handles the end of an entity. If messages wait for the entity, creates the entity again,
    /// unless this node has lost or given away the shard.
    pub(super) fn ended(
        &mut self,
        number: u32,
        key: &Arc<str>,
        generation: u64,
        cx: &Context<'_, RegionMsg<M>>,
    ) {
        let shard = &mut self.shards[number as usize];
        let is_it = |entity: &Entity<M>| entity.generation == generation;
        if !shard.entities.get(key).is_some_and(is_it) {
            return;
        }
        let ended = shard.entities.remove(key);
        self.gate.active.fetch_sub(1, Relaxed);
        // The time after which the entity is created again, if it has something to do.
        let busy = ended.as_ref().filter(|entity| entity.is_busy());
        let again = busy.map(|entity| if entity.stops { Duration::ZERO } else { AGAIN });
        let queue = ended.map(|entity| entity.queue).unwrap_or_default();
        shard.behind -= queue.len();
        self.gate.waits_no_more(queue.len());
        let is_stopping = match &shard.place {
            Place::Here { .. } => false,
            Place::HandsOver { phase, .. } => match phase {
                Phase::Waits { .. } => false,
                Phase::Stops { .. } => true,
                Phase::Commits | Phase::Stopped => return self.return_queue(number, queue, cx),
            },
            Place::Nobody | Place::Far(_) | Place::Leaving(_) => {
                self.return_queue(number, queue, cx);
                return self.settle(number, cx);
            }
        };
        if let Some(after) = again {
            let again = RegionMsg::ListAgain {
                shard: number,
                key: key.clone(),
            };
            let _ = cx.send_after(after, &cx.address(), again);
        }
        for waiting in queue {
            self.deliver(number, waiting, cx);
        }
        if is_stopping {
            // These messages came before the shard was handed over.
            self.stop_entities(number, cx);
        }
    }

    /// Handles the messages that were waiting for an entity of a shard that was lost. Messages from
    /// this node go to the next owner of the shard. Messages from other nodes are dropped.
    fn return_queue(
        &mut self,
        number: u32,
        queue: VecDeque<Waiting<M>>,
        cx: &Context<'_, RegionMsg<M>>,
    ) {
        for waiting in queue.into_iter().rev() {
            if waiting.by.is_none() {
                self.wait(number, waiting, VecDeque::push_front, cx);
            } else {
                self.strays(waiting);
            }
        }
    }

    /// Stops the entities of a shard that is handed over. Informs the placer (the actor that
    /// decides about shards) if no entity is left, or if the time limit has passed.
    pub(super) fn stop_entities(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
        let within = self
            .host
            .as_ref()
            .map(|host| nanos(host.options().hand_over_within));
        let shard = &mut self.shards[number as usize];
        let Place::HandsOver { phase, .. } = &mut shard.place else {
            return;
        };
        let until = match *phase {
            Phase::Waits { .. } => cx.now().saturating_add(within.unwrap_or(0)),
            Phase::Stops { until } => until,
            Phase::Commits | Phase::Stopped => return,
        };
        *phase = Phase::Stops { until };
        shard.stop_all();
        if shard.entities.is_empty() || cx.now() >= until {
            self.give_away(number, cx);
        }
    }

    /// Abandons those entities of a shard that have not ended. After this call, no further turn of
    /// these entities takes effect.
    fn give_away(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
        let shard = &mut self.shards[number as usize];
        if let Place::HandsOver { phase, .. } = &mut shard.place {
            *phase = Phase::Commits;
        }
        if let Some(tenure) = &shard.tenure {
            tenure.end();
        }
        self.close_list(number);
        self.tell_emptied(number, cx);
        let left = self.shards[number as usize].entities.len();
        self.gate.abandoned.fetch_add(left as u64, Relaxed);
        self.return_queues(number, cx);
    }

    /// Handles the messages that were waiting for the entities of a shard, none of which may have
    /// more effects. The messages of this node must be sent to the next owner before later ones.
    pub(super) fn return_queues(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
        let shard = &mut self.shards[number as usize];
        let mut left: Vec<_> = shard.entities.iter_mut().collect();
        // In an order that is the same in each run of a simulation.
        left.sort_unstable_by(|one, other| one.0.cmp(other.0));
        let take = |(_, entity): (_, &mut Entity<M>)| std::mem::take(&mut entity.queue);
        let queues: Vec<_> = left.into_iter().map(take).collect();
        shard.behind = 0;
        for queue in queues {
            self.gate.waits_no_more(queue.len());
            self.return_queue(number, queue, cx);
        }
    }

    /// Tells the placer (the actor that decides about shards) to give a shard to another node,
    /// unless turns of the shard's entities are just taking effect.
    pub(super) fn tell_emptied(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
        let shard = &mut self.shards[number as usize];
        let Place::HandsOver { phase, .. } = &mut shard.place else {
            return;
        };
        if shard
            .tenure
            .as_ref()
            .is_some_and(|tenure| tenure.is_committing())
        {
            // The next tick looks again.
            return;
        }
        *phase = Phase::Stopped;
        let emptied = PlacerMsg::Emptied {
            kind: self.kind.clone(),
            shard: number,
            revision: shard.revision,
        };
        let _ = cx.send(&self.placer, emptied);
    }

    /// Drops all messages of a shard that have waited for too long, even if other messages wait
    /// before them.
    pub(super) fn drop_late(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
        let (shard, now) = (&mut self.shards[number as usize], cx.now());
        let mut late = take_late(&mut shard.queue, now);
        let mut left: Vec<_> = shard.entities.iter_mut().collect();
        left.retain(|(_, entity)| !entity.queue.is_empty());
        left.sort_unstable_by(|one, other| one.0.cmp(other.0));
        for (_, entity) in left {
            let behind = take_late(&mut entity.queue, now);
            shard.behind -= behind.len();
            late.extend(behind);
        }
        self.gate.waits_no_more(late.len());
        late.into_iter().for_each(|waiting| self.expires(waiting));
    }

    /// Stops the entities that have received no message since they were last checked.
    pub(super) fn stop_idle(&mut self, cx: &Context<'_, RegionMsg<M>>) {
        let now = cx.now();
        let idle = self.host.as_ref().and_then(|host| host.options().idle);
        // An entity that has something to do is checked again after this time, which is not 0.
        let Some(time) = idle.map(|time| time.max(IDLE_LOOK)) else {
            return;
        };
        while let Some(idle) = self.idle.front() {
            if idle.at > now {
                let left = Duration::from_nanos(idle.at - now);
                return self.look_within(left.max(IDLE_LOOK), cx);
            }
            let Some(idle) = self.idle.pop_front() else {
                return;
            };
            let shard = &mut self.shards[idle.shard as usize];
            let found = shard.entities.get_mut(&idle.key);
            let Some(entity) = found.filter(|entity| entity.generation == idle.generation) else {
                continue;
            };
            if entity.stops {
                continue;
            }
            if entity.is_used || entity.is_busy() {
                entity.is_used = false;
                let at = now.saturating_add(nanos(time));
                self.idle.push_back(Idle { at, ..idle });
            } else {
                entity.stops = true;
                entity.address.stop();
                self.gate.passivated.fetch_add(1, Relaxed);
            }
        }
    }
}
