//! Entities of a region: they are created, get messages, and end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use garrick_actor::{Context, SendError};
use garrick_sched::nanos;

use super::{IDLE_LOOK, Idle, Region, discard};
use crate::entities::message::RegionMsg;
use crate::entities::shard::{Entity, Phase, Place, Waiting};
use crate::line::Travels;
use crate::members::PlacerMsg;

/// Number of times of entities from which on those of ended ones may be forgotten.
const IDLE_MIN: usize = 1_024;

impl<M: Travels> Region<M> {
    /// Gives a message to an entity of this node, which is created if it does not run.
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
        if entity.stops {
            self.gate.waits();
            return entity.queue.push_back(waiting);
        }
        if let Err(SendError(message)) = cx.send(&entity.address, waiting.message) {
            // It has stopped by itself: the notice of its end is on its way.
            entity.stops = true;
            self.gate.waits();
            entity.queue.push_back(Waiting { message, ..waiting });
        }
    }

    /// Creates an entity for a message.
    pub(super) fn create(
        &mut self,
        number: u32,
        waiting: Waiting<M>,
        cx: &Context<'_, RegionMsg<M>>,
    ) {
        let (Some(host), Some(lease)) = (&self.host, &self.lease) else {
            // A node owns shards only if it runs the kind.
            return self.strays(waiting);
        };
        let Some(address) = host.create(&waiting.key, lease) else {
            // The system is shutting down.
            discard(waiting);
            return;
        };
        self.generation += 1;
        let (key, generation) = (waiting.key.clone(), self.generation);
        let of_watch = key.clone();
        let _ = cx.watch(&address, move |_| RegionMsg::Ended {
            shard: number,
            key: of_watch,
            generation,
        });
        self.gate.active.fetch_add(1, Relaxed);
        self.gate.created.fetch_add(1, Relaxed);
        if let Some(idle) = host.idle() {
            self.forget_ended();
            self.idle.push_back(Idle {
                at: cx.now().saturating_add(nanos(idle)),
                shard: number,
                key: key.clone(),
                generation,
            });
            self.look_within(idle.max(IDLE_LOOK), cx);
        }
        let entity = Entity {
            address,
            generation,
            is_used: true,
            stops: false,
            queue: VecDeque::new(),
        };
        self.shards[number as usize].entities.insert(key, entity);
        self.deliver(number, waiting, cx);
    }

    /// Forgets the times of entities that have ended, if these are most of them.
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

    /// Handles the end of an entity. Creates it again if messages wait for it.
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
        let queue = ended.map(|entity| entity.queue).unwrap_or_default();
        self.gate.waits_no_more(queue.len());
        let is_stopping = match shard.place {
            Place::Here { .. } => false,
            Place::HandsOver { ref phase, .. } => matches!(phase, Phase::Stops),
            Place::Nobody | Place::Far(_) | Place::Leaving(_) => {
                // The shard was lost. What has come from this node goes to the next owner.
                for waiting in queue.into_iter().rev() {
                    if waiting.by.is_none() {
                        self.wait(number, waiting, VecDeque::push_front, cx);
                    } else {
                        self.strays(waiting);
                    }
                }
                return self.settle(number, cx);
            }
        };
        for waiting in queue {
            self.deliver(number, waiting, cx);
        }
        if is_stopping {
            // These messages came before the shard was handed over.
            self.stop_entities(number, cx);
        }
    }

    /// Has the entities of a shard stopped that is handed over. Tells the placer if none is left.
    pub(super) fn stop_entities(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
        let shard = &mut self.shards[number as usize];
        let Place::HandsOver { phase, .. } = &mut shard.place else {
            return;
        };
        *phase = Phase::Stops;
        shard.stop_all();
        if shard.entities.is_empty() {
            let emptied = PlacerMsg::Emptied {
                kind: self.kind.clone(),
                shard: number,
                revision: shard.revision,
            };
            let _ = cx.send(&self.placer, emptied);
        }
    }

    /// Stops the entities that have got no message since the last look at them.
    pub(super) fn stop_idle(&mut self, cx: &Context<'_, RegionMsg<M>>) {
        let now = cx.now();
        let idle = self.host.as_ref().and_then(|host| host.idle());
        let Some(time) = idle else { return };
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
            if entity.is_used {
                entity.is_used = false;
                let at = now.saturating_add(nanos(time));
                self.idle.push_back(Idle { at, ..idle });
            } else {
                entity.stops = true;
                entity.address.stop();
            }
        }
    }
}
