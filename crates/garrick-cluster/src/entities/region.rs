//! Regions: the actors through which all messages to entities of a kind pass on a node.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Next, SendError};
use garrick_sched::{Nanos, nanos};
use hashbrown::HashSet;

use super::gate::Gate;
use super::host::Host;
use super::message::{RegionMsg, ToRegion};
use super::shard::{Entity, Phase, Place, Shard, Waiting, Way};
use crate::batch::Lines;
use crate::far::service_address;
use crate::line::Travels;
use crate::members::{Lease, Order, Owner, PlacerMsg};
use crate::name::NodeName;

/// Time after which a message that waits is dropped.
const WAITS_MAX: Duration = Duration::from_secs(10);

/// Time for which a shard that is handed over waits for the other nodes.
const HELD_WITHIN: Duration = Duration::from_secs(2);

/// Time between two looks at shards with messages that wait.
const LOOK: Duration = Duration::from_millis(50);

/// Time between two looks at entities that may be idle, at least.
const IDLE_LOOK: Duration = Duration::from_millis(500);

/// An entity that may be idle at some time.
struct Idle {
    at: Nanos,
    shard: u32,
    key: Arc<str>,
    generation: u64,
}

/// The actor through which all messages to entities of a kind pass on a node. So they stay in
/// their order when the owner of a shard changes.
pub(super) struct Region<M: Travels> {
    kind: Arc<str>,
    node: NodeName,
    lines: Arc<dyn Lines>,
    placer: Address<PlacerMsg>,
    gate: Arc<Gate>,
    host: Option<Arc<dyn Host<M>>>,
    lease: Option<Arc<Lease>>,
    /// Empty until their number is known.
    shards: Vec<Shard<M>>,
    /// Messages that have come before that, with the hashes of their keys.
    early: VecDeque<(u64, Waiting<M>)>,
    /// Shards at which the region looks after some time.
    unsettled: HashSet<u32>,
    /// Entities with the times at which they may be idle, in the order of these times.
    idle: VecDeque<Idle>,
    generation: u64,
    /// Time of the next look.
    looks_at: Option<Nanos>,
}

impl<M: Travels> Region<M> {
    pub(super) fn new(
        kind: Arc<str>,
        node: NodeName,
        lines: Arc<dyn Lines>,
        placer: Address<PlacerMsg>,
        gate: Arc<Gate>,
    ) -> Self {
        Self {
            kind,
            node,
            lines,
            placer,
            gate,
            host: None,
            lease: None,
            shards: Vec::new(),
            early: VecDeque::new(),
            unsettled: HashSet::new(),
            idle: VecDeque::new(),
            generation: 0,
            looks_at: None,
        }
    }

    /// Returns the name of the service by which the regions of a kind reach each other.
    pub(super) fn service(kind: &str) -> String {
        format!("garrick.entities.{kind}")
    }

    fn region_of(&self, node: NodeName) -> Address<ToRegion<M>> {
        let lines = Arc::clone(&self.lines);
        service_address(lines, node, Self::service(&self.kind).into())
    }

    /// Handles a message of this node.
    fn send(&mut self, key: Arc<str>, hash: u64, message: M, cx: &Context<'_, RegionMsg<M>>) {
        let waiting = Waiting {
            key,
            message,
            since: cx.now(),
            by: None,
        };
        if self.shards.is_empty() {
            self.gate.waits();
            self.early.push_back((hash, waiting));
            self.look_within(LOOK, cx);
        } else {
            let number = (hash % self.shards.len() as u64) as u32;
            self.pass(number, waiting, cx);
        }
    }

    /// Handles a message of another node.
    fn receive_from(&mut self, from: ToRegion<M>, cx: &Context<'_, RegionMsg<M>>) {
        match from {
            ToRegion::Message {
                shard,
                key,
                revision,
                message,
            } => {
                if shard as usize >= self.shards.len() {
                    return self.strays();
                }
                let waiting = Waiting {
                    key: key.into(),
                    message,
                    since: cx.now(),
                    by: Some(revision),
                };
                self.pass(shard, waiting, cx);
            }
            ToRegion::Held {
                shard,
                revision,
                node,
            } => {
                let Some(known) = self.shards.get_mut(shard as usize) else {
                    return;
                };
                if let Place::HandsOver {
                    phase: Phase::Waits { nodes, .. },
                    ..
                } = &mut known.place
                    && known.revision == revision
                {
                    nodes.remove(&node);
                    if nodes.is_empty() {
                        self.stop_entities(shard, cx);
                    }
                }
            }
        }
    }

    /// Counts a message whose sender was mistaken about the owner.
    fn strays(&self) {
        self.gate.strays.fetch_add(1, Relaxed);
    }

    /// Passes a message on, or lets it wait behind others.
    fn pass(&mut self, number: u32, waiting: Waiting<M>, cx: &Context<'_, RegionMsg<M>>) {
        let shard = &self.shards[number as usize];
        let refused = if shard.queue.is_empty() {
            self.pass_now(number, waiting, cx)
        } else {
            Some(waiting)
        };
        if let Some(waiting) = refused {
            self.gate.waits();
            self.shards[number as usize].queue.push_back(waiting);
            self.unsettled.insert(number);
            self.look_within(LOOK, cx);
        }
    }

    /// Passes a message on before those that wait. Returns it if it must wait.
    fn pass_now(
        &mut self,
        number: u32,
        waiting: Waiting<M>,
        cx: &Context<'_, RegionMsg<M>>,
    ) -> Option<Waiting<M>> {
        let shard = &self.shards[number as usize];
        match shard.way(waiting.by) {
            Way::Wait => Some(waiting),
            Way::Stray => {
                self.strays();
                None
            }
            Way::Entity => {
                self.deliver(number, waiting, cx);
                None
            }
            Way::Far(to) => {
                let sent = cx.send(
                    to,
                    ToRegion::Message {
                        shard: number,
                        key: waiting.key.to_string(),
                        revision: shard.revision,
                        message: waiting.message,
                    },
                );
                match sent {
                    // Too much waits for that node, or it was lost.
                    Err(SendError(ToRegion::Message { message, .. })) => {
                        Some(Waiting { message, ..waiting })
                    }
                    Ok(()) | Err(_) => None,
                }
            }
        }
    }

    /// Gives a message to an entity of this node, which is created if it does not run.
    fn deliver(&mut self, number: u32, waiting: Waiting<M>, cx: &Context<'_, RegionMsg<M>>) {
        let shard = &mut self.shards[number as usize];
        let Some(entity) = shard.entities.get_mut(&waiting.key) else {
            return self.create(number, waiting, cx);
        };
        entity.used = cx.now();
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
    fn create(&mut self, number: u32, waiting: Waiting<M>, cx: &Context<'_, RegionMsg<M>>) {
        let (Some(host), Some(lease)) = (&self.host, &self.lease) else {
            // A node owns shards only if it runs the kind.
            return self.strays();
        };
        let Some(address) = host.create(&waiting.key, lease) else {
            // The system is shutting down.
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
            used: cx.now(),
            stops: false,
            queue: VecDeque::new(),
        };
        self.shards[number as usize].entities.insert(key, entity);
        self.deliver(number, waiting, cx);
    }

    /// Handles the end of an entity. Creates it again if messages wait for it.
    fn ended(
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
            Place::HandsOver {
                phase: Phase::Waits { .. },
                ..
            } => false,
            Place::HandsOver {
                phase: Phase::Stops,
                ..
            } => true,
            Place::Nobody | Place::Far(_) | Place::Leaving(_) => {
                // The shard was lost. What has come from this node goes to the next owner.
                for waiting in queue.into_iter().rev() {
                    if waiting.by.is_none() {
                        self.gate.waits();
                        shard.queue.push_front(waiting);
                    } else {
                        self.gate.strays.fetch_add(1, Relaxed);
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
    fn stop_entities(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
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

    fn order(&mut self, order: Order, cx: &Context<'_, RegionMsg<M>>) -> Next {
        match order {
            Order::Shards(count) => {
                self.shards.resize_with(count as usize, Shard::default);
                for (hash, waiting) in std::mem::take(&mut self.early) {
                    self.gate.waits_no_more(1);
                    self.pass((hash % u64::from(count)) as u32, waiting, cx);
                }
            }
            Order::Joined(lease) => self.lease = Some(lease),
            Order::Owner {
                shard,
                owner,
                revision,
            } => self.set_owner(shard, owner, revision, cx),
            Order::Lost => self.lose(cx),
            Order::Left => {
                self.gate.close();
                self.lose(cx);
                return Next::Stop;
            }
        }
        Next::Continue
    }

    /// Handles the loss of all shards.
    fn lose(&mut self, cx: &Context<'_, RegionMsg<M>>) {
        for number in 0..self.shards.len() as u32 {
            let shard = &mut self.shards[number as usize];
            shard.place = Place::Nobody;
            shard.stop_all();
            self.settle(number, cx);
        }
    }

    fn set_owner(
        &mut self,
        number: u32,
        owner: Owner,
        revision: u64,
        cx: &Context<'_, RegionMsg<M>>,
    ) {
        let since = match &self.shards[number as usize].place {
            Place::HandsOver { since, .. } | Place::Here { since } => Some(*since),
            Place::Nobody | Place::Far(_) | Place::Leaving(_) => None,
        };
        let place = match owner {
            Owner::Nobody => Place::Nobody,
            // After a handing over that was given up, too: the others send again from here on.
            Owner::Here => Place::Here { since: revision },
            Owner::Far(node) => Place::Far(self.region_of(node)),
            Owner::Leaving(node) => Place::Leaving(Some(self.region_of(node))),
            Owner::HandsOver(nodes) => Place::HandsOver {
                since: since.unwrap_or(revision),
                phase: Phase::Waits {
                    nodes: nodes.iter().map(ToString::to_string).collect(),
                    until: cx.now().saturating_add(nanos(HELD_WITHIN)),
                },
            },
        };
        let is_own = matches!(place, Place::HandsOver { .. } | Place::Here { .. });
        let shard = &mut self.shards[number as usize];
        (shard.place, shard.revision) = (place, revision);
        if !is_own {
            shard.stop_all();
        }
        self.settle(number, cx);
    }

    /// Does what a shard waits for, as far as it is possible now.
    fn settle(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
        let now = cx.now();
        let node = self.node.to_string();
        let shard = &mut self.shards[number as usize];
        match &mut shard.place {
            Place::Leaving(to) => {
                let held = ToRegion::Held {
                    shard: number,
                    revision: shard.revision,
                    node,
                };
                if let Some(region) = to
                    && cx.send(region, held).is_ok()
                {
                    *to = None;
                }
            }
            Place::HandsOver {
                phase: Phase::Waits { nodes, until },
                ..
            } if nodes.is_empty() || now >= *until => self.stop_entities(number, cx),
            _ => {}
        }
        self.pass_waiting(number, cx);
        let shard = &self.shards[number as usize];
        if shard.is_unsettled() {
            self.unsettled.insert(number);
            self.look_within(LOOK, cx);
        } else {
            self.unsettled.remove(&number);
        }
    }

    /// Passes on the messages that wait for a shard. Drops those that have waited for too long.
    fn pass_waiting(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
        let is_late = |since: Nanos| cx.now().saturating_sub(since) >= nanos(WAITS_MAX);
        while let Some(waiting) = self.shards[number as usize].queue.pop_front() {
            let since = waiting.since;
            if let Some(waiting) = self.pass_now(number, waiting, cx) {
                if !is_late(since) {
                    return self.shards[number as usize].queue.push_front(waiting);
                }
                self.gate.expired.fetch_add(1, Relaxed);
            }
            self.gate.waits_no_more(1);
        }
    }

    /// Looks at all shards after some time at the latest.
    fn look_within(&mut self, time: Duration, cx: &Context<'_, RegionMsg<M>>) {
        let at = cx.now().saturating_add(nanos(time));
        if self.looks_at.is_none_or(|known| at < known) {
            let me = cx.address();
            if cx.send_after(time, &me, RegionMsg::Tick).is_ok() {
                self.looks_at = Some(at);
            }
        }
    }

    fn tick(&mut self, cx: &Context<'_, RegionMsg<M>>) {
        let now = cx.now();
        self.looks_at = None;
        let mut unsettled: Vec<u32> = self.unsettled.iter().copied().collect();
        unsettled.sort_unstable();
        for number in unsettled {
            self.settle(number, cx);
        }
        let is_late = |since: Nanos| now.saturating_sub(since) >= nanos(WAITS_MAX);
        while (self.early.front()).is_some_and(|(_, waiting)| is_late(waiting.since)) {
            let late = self.early.pop_front();
            self.gate.expired.fetch_add(1, Relaxed);
            self.gate.waits_no_more(1);
            drop(late);
        }
        if !self.early.is_empty() {
            self.look_within(LOOK, cx);
        }
        self.stop_idle(cx);
    }

    /// Stops the entities that have got no message for some time.
    fn stop_idle(&mut self, cx: &Context<'_, RegionMsg<M>>) {
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
            let at = entity.used.saturating_add(nanos(time));
            if entity.stops {
                continue;
            } else if at <= now {
                entity.stops = true;
                entity.address.stop();
            } else {
                // In the order of the times, as far as it matters.
                self.idle.push_back(Idle { at, ..idle });
            }
        }
    }
}

impl<M: 'static> Shard<M> {
    /// Tells all entities to stop after the messages that they have.
    fn stop_all(&mut self) {
        for entity in self.entities.values_mut() {
            if !entity.stops {
                entity.stops = true;
                entity.address.stop();
            }
        }
    }
}

impl<M: Travels> Actor for Region<M> {
    type Msg = RegionMsg<M>;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: RegionMsg<M>, cx: &mut Context<'_, RegionMsg<M>>) -> Next {
        match message {
            RegionMsg::Send { key, hash, message } => self.send(key, hash, message, cx),
            RegionMsg::From(from) => self.receive_from(from, cx),
            RegionMsg::Order(order) => return self.order(order, cx),
            RegionMsg::Host(host) => self.host = Some(host),
            RegionMsg::Ended {
                shard,
                key,
                generation,
            } => self.ended(shard, &key, generation, cx),
            RegionMsg::Tick => self.tick(cx),
        }
        Next::Continue
    }
}
