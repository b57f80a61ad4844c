//! Regions. Each node has one region for each kind of entity. The region is an actor that receives
//! all messages to entities of this kind, from the actors of its node and from other nodes, and
//! passes them on to the entities or to other nodes.

mod gathering;
mod listed;
mod running;

use std::any::type_name;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Next};
use garrick_sched::{LetterReason, Nanos, count_dead_letters, nanos};
use hashbrown::HashSet;

use crate::batch::Lines;
use crate::entities::gate::{Gate, WAITING_MAX};
use crate::entities::host::Host;
use crate::entities::kind::ENTITY_KEY_BYTES_MAX;
use crate::entities::message::{RegionMsg, ToRegion};
use crate::entities::shard::{Phase, Place, Shard, Waiting, Way};
use crate::far::service_address;
use crate::line::Travels;
use crate::members::{Lease, Order, Owner, PlacerMsg, hash};
use crate::name::NodeName;

/// Time after which a waiting message is dropped.
const WAITS_MAX: Duration = Duration::from_secs(10);

/// Maximum time for which the hand-over of a shard waits for the other nodes. Each of them
/// announces that it sends no more messages for the shard.
const HELD_WITHIN: Duration = Duration::from_secs(2);

/// Number of collected messages to other nodes after which the region sends them at once, without
/// waiting for more messages.
const GATHERED_MAX: usize = 256;

/// Time between two checks of shards that have waiting messages.
const LOOK: Duration = Duration::from_millis(50);

/// Time between two searches for messages that have waited for too long.
const LATE_LOOK: Duration = Duration::from_millis(500);

/// Minimum time between two checks for idle entities.
const IDLE_LOOK: Duration = Duration::from_millis(500);

/// Returns true if a message that has been waiting since `since` has waited for too long.
fn is_late(since: Nanos, now: Nanos) -> bool {
    now.saturating_sub(since) >= nanos(WAITS_MAX)
}

/// Returns the names of the nodes that may still send messages for a shard. These nodes have not
/// announced that they send no more messages.
fn others(nodes: &[NodeName], held: &[(String, u64)], revision: u64) -> HashSet<String> {
    let has_told = |name: &str| {
        held.iter()
            .any(|(held, of)| held == name && *of == revision)
    };
    let names = nodes
        .iter()
        .map(NodeName::as_str)
        .filter(|name| !has_told(name));
    names.map(str::to_owned).collect()
}

/// Drops a message. The destructor of the message is code of the program, so a panic in it is
/// caught.
fn discard(message: impl Sized) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(message)));
}

/// An entity, and the earliest time at which it can count as idle.
struct Idle {
    at: Nanos,
    shard: u32,
    key: Arc<str>,
    generation: u64,
}

/// A message that this region will send to the region on another node.
struct Leaving<M> {
    to: Address<ToRegion<M>>,
    shard: u32,
    revision: u64,
    waiting: Waiting<M>,
}

/// The actor that receives all messages to entities of a kind on a node, and passes them on.
/// Because all messages pass through one actor, they keep their order when the owner of a shard
/// changes.
pub(super) struct Region<M: Travels> {
    kind: Arc<str>,
    node: NodeName,
    lines: Arc<dyn Lines>,
    placer: Address<PlacerMsg>,
    gate: Arc<Gate>,
    host: Option<Arc<dyn Host<M>>>,
    lease: Option<Arc<Lease>>,
    /// The shards of the kind. Empty until the number of shards is known.
    shards: Vec<Shard<M>>,
    /// Messages that arrived before the number of shards was known, with the hashes of their keys.
    early: VecDeque<(u64, Waiting<M>)>,
    /// Numbers of the shards that this region must check again later.
    unsettled: HashSet<u32>,
    /// Messages to other nodes, which are sent when the current activation of the region ends. The
    /// oldest message is the first one.
    leaving: VecDeque<Leaving<M>>,
    /// Entities, sorted by the earliest time at which each can count as idle.
    idle: VecDeque<Idle>,
    generation: u64,
    /// Time of the next scheduled check of waiting messages and idle entities.
    looks_at: Option<Nanos>,
    /// Time of the latest check for messages that have waited for too long.
    looked_late: Nanos,
    /// True if the placer (the actor that decides about shards) must be informed when no message is
    /// waiting any more.
    closes: bool,
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
            leaving: VecDeque::new(),
            idle: VecDeque::new(),
            generation: 0,
            looks_at: None,
            looked_late: 0,
            closes: false,
        }
    }

    /// Returns the name of the service through which regions of a kind on different nodes send
    /// messages to each other.
    pub(super) fn service(kind: &str) -> String {
        format!("garrick.entities.{kind}")
    }

    fn region_of(&self, node: NodeName) -> Address<ToRegion<M>> {
        let lines = Arc::clone(&self.lines);
        service_address(lines, node, Self::service(&self.kind).into())
    }

    /// Handles a message to an entity. The message was sent on this node.
    fn send(&mut self, key: Arc<str>, hash: u64, message: M, cx: &Context<'_, RegionMsg<M>>) {
        let waiting = Waiting {
            key,
            message,
            since: 0,
            by: None,
            has_waited: false,
        };
        match self.shard_of(hash) {
            Some(number) => self.pass(number, waiting, cx),
            None => {
                self.gate.waits();
                let waiting = Waiting {
                    since: cx.now(),
                    has_waited: true,
                    ..waiting
                };
                self.early.push_back((hash, waiting));
                self.look_within(LOOK, cx);
            }
        }
    }

    /// Returns the shard of a key with the given hash, if the number of shards is known.
    fn shard_of(&self, hash: u64) -> Option<u32> {
        let shard = hash.checked_rem(self.shards.len() as u64)?;
        Some(shard as u32)
    }

    /// Handles a message from the region of the same kind on another node.
    fn receive_from(&mut self, from: ToRegion<M>, cx: &Context<'_, RegionMsg<M>>) {
        match from {
            ToRegion::Message {
                shard,
                key,
                revision,
                message,
                has_waited,
            } => {
                // Another node may be wrong about anything.
                let is_allowed = key.len() <= ENTITY_KEY_BYTES_MAX
                    && self.shard_of(hash(&key)) == Some(shard)
                    && self.gate.waiting() < WAITING_MAX;
                if !is_allowed {
                    return self.strays(message);
                }
                let waiting = Waiting {
                    key: key.into(),
                    message,
                    since: 0,
                    by: Some(revision),
                    has_waited,
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
                if revision > known.revision {
                    known.held_early(node, revision);
                } else if let Place::HandsOver {
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

    /// Drops and counts a message that this node cannot handle, for example because another node
    /// owns the shard.
    fn strays(&self, message: impl Sized) {
        self.gate.strays.fetch_add(1, Relaxed);
        discard(message);
    }

    /// Drops and counts a message that finds the mailbox of its entity full.
    pub(super) fn refuses(&self, message: M) {
        self.gate.refused.fetch_add(1, Relaxed);
        count_dead_letters(type_name::<M>, LetterReason::Full, 1);
        discard(message);
    }

    /// Drops and counts a message that has waited for too long.
    fn expires(&self, message: impl Sized) {
        self.gate.expired.fetch_add(1, Relaxed);
        discard(message);
    }

    /// Passes a message on to its entity or to another node. If other messages of the shard wait,
    /// puts the message behind them.
    fn pass(&mut self, number: u32, waiting: Waiting<M>, cx: &Context<'_, RegionMsg<M>>) {
        let shard = &self.shards[number as usize];
        let refused = if shard.queue.is_empty() {
            self.pass_now(number, waiting, cx)
        } else {
            Some(waiting)
        };
        if let Some(waiting) = refused {
            self.wait(number, waiting, VecDeque::push_back, cx);
        }
    }

    /// Lets a message wait until its shard can accept messages. `put` adds the message to the front
    /// or the back of the shard's queue.
    fn wait(
        &mut self,
        number: u32,
        mut waiting: Waiting<M>,
        put: impl FnOnce(&mut VecDeque<Waiting<M>>, Waiting<M>),
        cx: &Context<'_, RegionMsg<M>>,
    ) {
        self.gate.waits();
        waiting.wait_from(cx.now());
        let shard = &mut self.shards[number as usize];
        // Otherwise the link to the owner accepts no messages now.
        waiting.has_waited |= shard.waits_for_owner(waiting.by);
        put(&mut shard.queue, waiting);
        self.unsettled.insert(number);
        self.look_within(LOOK, cx);
    }

    /// Passes a message on, although other messages may wait. Returns the message if it must wait,
    /// too.
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
                self.strays(waiting);
                None
            }
            Way::Entity => {
                self.deliver(number, waiting, cx);
                None
            }
            Way::Far(to) => {
                let (to, revision) = (to.clone(), shard.revision);
                self.leaving.push_back(Leaving {
                    to,
                    shard: number,
                    revision,
                    waiting,
                });
                None
            }
        }
    }

    fn order(&mut self, order: Order, cx: &Context<'_, RegionMsg<M>>) -> Next {
        match order {
            Order::Shards(count) => {
                self.shards.resize_with(count as usize, Shard::default);
                for (hash, waiting) in std::mem::take(&mut self.early) {
                    self.gate.waits_no_more(1);
                    if let Some(number) = self.shard_of(hash) {
                        self.pass(number, waiting, cx);
                    }
                }
            }
            Order::Joined(lease) => self.lease = Some(lease),
            Order::Owner {
                shard,
                owner,
                revision,
            } => self.set_owner(shard, owner, revision, cx),
            Order::Lost => self.lose(cx),
            Order::Closes { has_hosts } => {
                self.gate.close();
                if has_hosts {
                    self.closes = true;
                } else {
                    self.tell_closed(cx);
                }
            }
            Order::Left => {
                self.gate.close();
                self.lose(cx);
                return Next::Stop;
            }
        }
        Next::Continue
    }

    /// Informs the placer (the actor that decides about shards) that no messages to other nodes are
    /// waiting any more.
    fn tell_closed(&mut self, cx: &Context<'_, RegionMsg<M>>) {
        self.closes = false;
        let _ = cx.send(&self.placer, PlacerMsg::Closed(self.kind.clone()));
    }

    /// Records that this node has lost all shards, and tells their entities to stop.
    fn lose(&mut self, cx: &Context<'_, RegionMsg<M>>) {
        for number in 0..self.shards.len() as u32 {
            let shard = &mut self.shards[number as usize];
            shard.place = Place::Nobody;
            shard.owner_changes();
            shard.end();
            self.close_list(number);
            self.return_queues(number, cx);
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
        let mut held = std::mem::take(&mut self.shards[number as usize].held);
        // What was gathered for the owner before goes first.
        self.send_gathered(cx);
        let place = match owner {
            Owner::Nobody => Place::Nobody,
            // After a handing over that was given up, too: the others send again from here on.
            Owner::Here => Place::Here { since: revision },
            Owner::Far(node) => Place::Far(self.region_of(node)),
            Owner::Leaving(node) => Place::Leaving(Some(self.region_of(node))),
            Owner::HandsOver(nodes) => Place::HandsOver {
                since: since.unwrap_or(revision),
                phase: Phase::Waits {
                    nodes: others(&nodes, &held, revision),
                    until: cx.now().saturating_add(nanos(HELD_WITHIN)),
                },
            },
        };
        let shard = &mut self.shards[number as usize];
        (shard.place, shard.revision) = (place, revision);
        // Also those that the link to the owner before did not accept.
        shard.owner_changes();
        held.retain(|(_, of)| *of > revision);
        shard.held = held;
        match &shard.place {
            Place::HandsOver { .. } => shard.tenure.iter().for_each(|tenure| tenure.close()),
            Place::Here { .. } => {
                shard.tenure.iter().for_each(|tenure| tenure.open());
                self.open_list(number, cx);
            }
            Place::Nobody | Place::Far(_) | Place::Leaving(_) => {
                shard.end();
                self.close_list(number);
                self.return_queues(number, cx);
            }
        }
        self.settle(number, cx);
    }

    /// Takes the next steps for a shard, as far as they are possible now: announces that this node
    /// sends no more messages, stops entities, and passes on waiting messages.
    fn settle(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
        let shard = &mut self.shards[number as usize];
        match &mut shard.place {
            Place::Leaving(to) => {
                // What was gathered before was sent.
                let held = || ToRegion::Held {
                    shard: number,
                    revision: shard.revision,
                    node: self.node.to_string(),
                };
                if let Some(region) = to
                    && cx.send(region, held()).is_ok()
                {
                    *to = None;
                }
            }
            Place::HandsOver {
                phase: Phase::Waits { nodes, until },
                ..
            } if nodes.is_empty() || cx.now() >= *until => self.stop_entities(number, cx),
            Place::HandsOver {
                phase: Phase::Stops { until },
                ..
            } if cx.now() >= *until => self.stop_entities(number, cx),
            Place::HandsOver {
                phase: Phase::Commits,
                ..
            } => self.tell_emptied(number, cx),
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
        while let Some(waiting) = self.shards[number as usize].queue.pop_front() {
            if let Some(waiting) = self.pass_now(number, waiting, cx) {
                if !is_late(waiting.since, cx.now()) {
                    return self.shards[number as usize].queue.push_front(waiting);
                }
                self.expires(waiting);
            }
            self.gate.waits_no_more(1);
        }
    }

    /// Schedules a check of unsettled shards and idle entities, after `time` at the latest.
    fn look_within(&mut self, time: Duration, cx: &Context<'_, RegionMsg<M>>) {
        let at = cx.now().saturating_add(nanos(time));
        if self.looks_at.is_none_or(|known| at < known) {
            let me = cx.address();
            if cx.send_after(time, &me, RegionMsg::Tick(at)).is_ok() {
                self.looks_at = Some(at);
            }
        }
    }

    fn tick(&mut self, cx: &Context<'_, RegionMsg<M>>) {
        let now = cx.now();
        self.looks_at = None;
        let mut unsettled: Vec<u32> = self.unsettled.iter().copied().collect();
        unsettled.sort_unstable();
        let mut left = listed::CREATED_MAX;
        let looks_late = now.saturating_sub(self.looked_late) >= nanos(LATE_LOOK);
        if looks_late {
            self.looked_late = now;
        }
        for number in unsettled {
            if looks_late {
                self.drop_late(number, cx);
            }
            self.create_listed(number, &mut left, cx);
            self.settle(number, cx);
        }
        while (self.early.front()).is_some_and(|(_, waiting)| is_late(waiting.since, now)) {
            let late = self.early.pop_front();
            self.gate.waits_no_more(1);
            self.expires(late);
        }
        if !self.early.is_empty() {
            self.look_within(LOOK, cx);
        }
        self.stop_idle(cx);
    }
}

impl<M: Travels> Actor for Region<M> {
    type Msg = RegionMsg<M>;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, RegionMsg<M>>) -> Next {
        // Also if the placer has ended before it has heard of this region, or has failed.
        let _ = cx.watch(&self.placer, |_| RegionMsg::Order(Order::Left));
        // In its own turn: the one that has created the region may be undone.
        let used = PlacerMsg::Use {
            kind: self.kind.clone(),
            region: Arc::new(cx.address()),
        };
        if cx.send(&self.placer, used).is_err() {
            // The node has left.
            self.gate.close();
            return Next::Stop;
        }
        Next::Continue
    }

    fn receive(&mut self, message: RegionMsg<M>, cx: &mut Context<'_, RegionMsg<M>>) -> Next {
        let mut next = Next::Continue;
        match message {
            RegionMsg::Send { key, hash, message } => self.send(key, hash, message, cx),
            RegionMsg::From(from) => self.receive_from(from, cx),
            RegionMsg::Order(order) => next = self.order(order, cx),
            RegionMsg::Host(host) => self.host = Some(host),
            RegionMsg::Listed { shard, asked, keys } => self.listed(shard, asked, keys, cx),
            RegionMsg::ListAgain { shard, key } => self.list_again(shard, key, cx),
            RegionMsg::Ended {
                shard,
                key,
                generation,
            } => self.ended(shard, &key, generation, cx),
            // Another look was planned since: looks must not become more and more.
            RegionMsg::Tick(at) if self.looks_at != Some(at) => {}
            RegionMsg::Tick(_) => self.tick(cx),
        }
        let is_last = next == Next::Stop || !cx.has_more();
        if is_last || self.leaving.len() >= GATHERED_MAX {
            self.send_gathered(cx);
            if self.closes && self.gate.waiting() == 0 {
                self.tell_closed(cx);
            }
        }
        next
    }
}
