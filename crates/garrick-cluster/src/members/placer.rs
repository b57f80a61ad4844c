//! The placer: the actor that keeps a node a member, and decides who owns the shards.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Next, Reply};
use garrick_sched::{Nanos, nanos};
use hashbrown::HashMap;

use super::order::{Order, Regional};
use super::own::{Look, Own};
use super::plan::{Candidate, hash, ideal};
use super::record::{Key, KindRecord, Shard, encode};
use super::roster::Roster;
use super::sample::MembersSample;
use super::used::UsedKind;
use super::view::{Seen, View};
use crate::batch::Lines;
use crate::lock::lock;
use crate::name::NodeName;
use crate::placement::{Change, News, Outcome, Placement};

/// Time between two renewals.
const BEAT: Duration = Duration::from_secs(1);

/// Time without an answer after which the records are read or changed again.
const READ_AGAIN: Duration = Duration::from_secs(2);

/// Time for which the members must not have changed before shards move to a better node.
const SETTLED: Duration = Duration::from_secs(10);

/// Number of shards that a node hands over at the same time for a better balance.
const MOVES_MAX: usize = 8;

/// Number of shards that a node hands over at the same time before it leaves.
const DRAINS_MAX: usize = 64;

/// Returns true if an answer to what was sent at a time is late.
fn is_late(since: Nanos, now: Nanos) -> bool {
    now.saturating_sub(since) >= nanos(READ_AGAIN)
}

/// A message to the placer.
pub(crate) enum PlacerMsg {
    Beat,
    News(News),
    /// The node sends to entities of a kind, through a region.
    Use {
        kind: Arc<str>,
        region: Arc<dyn Regional>,
    },
    /// The node runs entities of a kind. Contains the number of shards, if it is not decided.
    Host {
        kind: Arc<str>,
        shards: u32,
    },
    /// The entities of a shard that this node hands over have stopped.
    Emptied {
        kind: Arc<str>,
        shard: u32,
        revision: u64,
    },
    /// Hands all shards over, and leaves.
    Drain(Reply<()>),
    /// Answers when the node has left.
    Await(Reply<()>),
    /// Leaves at once.
    Leave,
}

/// Keeps a node a member, and decides who owns the shards.
pub(crate) struct Placer {
    lines: Arc<dyn Lines>,
    placement: Arc<dyn Placement>,
    sample: Arc<Mutex<MembersSample>>,
    own: Own,
    view: View,
    roster: Roster,
    /// Kinds that the node uses.
    used: HashMap<Arc<str>, UsedKind>,
    /// Numbers of shards of the kinds that the node runs, if they are not decided.
    hosted: HashMap<Arc<str>, u32>,
    /// Changes without an answer, by the keys of their records, with their numbers and the times at
    /// which they were sent.
    pending: HashMap<Arc<str>, (u64, Nanos)>,
    ticket: u64,
    /// Shards whose entities have stopped, with the revisions of their records.
    emptied: HashMap<(Arc<str>, u32), u64>,
    /// Time at which the records were asked for, if there is no answer yet.
    reads_since: Option<Nanos>,
    /// True if something was perhaps changed since.
    reads_again: bool,
    /// True if the record is to be renewed at once, when the last renewal is answered.
    renews_again: bool,
    /// Hash of the hosts of all kinds, and the time since which they are the same.
    hosts: (u64, Nanos),
    /// Those who wait until the node has left.
    waiters: Vec<Reply<()>>,
}

impl Placer {
    pub(crate) fn new(
        own: Own,
        lines: Arc<dyn Lines>,
        placement: Arc<dyn Placement>,
        sample: Arc<Mutex<MembersSample>>,
    ) -> Self {
        Self {
            own,
            lines,
            placement,
            sample,
            view: View::default(),
            roster: Roster::default(),
            used: HashMap::new(),
            hosted: HashMap::new(),
            pending: HashMap::new(),
            ticket: 0,
            emptied: HashMap::new(),
            reads_since: None,
            reads_again: false,
            renews_again: false,
            hosts: (0, 0),
            waiters: Vec::new(),
        }
    }

    fn news(cx: &Context<'_, PlacerMsg>) -> Address<News> {
        cx.address().contramap(PlacerMsg::News)
    }

    /// Renews the record, looks for silent members, and plans.
    fn beat(&mut self, cx: &Context<'_, PlacerMsg>) {
        let now = cx.lease_now();
        let me = cx.address();
        if self.own.is_unanswered() {
            self.roster.is_unsure(now);
        }
        // Those that are late may never be answered, and may be sent again.
        self.pending.retain(|_, (_, since)| !is_late(*since, now));
        self.renew(cx);
        self.read(cx);
        for (name, revision) in self.roster.silent(now) {
            let is_own = name == self.own.name && self.own.epoch().is_some();
            if !is_own {
                self.change(&Key::Member(name), revision, None, cx);
            }
        }
        self.plan(cx);
        let _ = cx.send_after(BEAT, &me, PlacerMsg::Beat);
    }

    fn renew(&mut self, cx: &Context<'_, PlacerMsg>) {
        self.renews_again = false;
        let renewal = self.own.renewal(cx.lease_now());
        self.placement.change(renewal, &Self::news(cx));
    }

    /// Renews the record before the next beat, because its content has changed.
    fn renew_soon(&mut self, cx: &Context<'_, PlacerMsg>) {
        if self.own.is_unanswered() {
            self.renews_again = true;
        } else {
            self.renew(cx);
        }
    }

    /// Reads what was changed.
    fn read(&mut self, cx: &Context<'_, PlacerMsg>) {
        let now = cx.lease_now();
        if self.reads_since.is_some_and(|since| !is_late(since, now)) {
            self.reads_again = true;
            return;
        }
        (self.reads_since, self.reads_again) = (Some(now), false);
        self.placement.read(self.view.revision(), &Self::news(cx));
    }

    /// Changes a record, unless a change of it has no answer yet.
    fn change(
        &mut self,
        key: &Key,
        expected: u64,
        value: Option<bytes::Bytes>,
        cx: &Context<'_, PlacerMsg>,
    ) {
        let (key, now) = (key.text(), cx.lease_now());
        if (self.pending.get(&key)).is_some_and(|(_, since)| !is_late(*since, now)) {
            return;
        }
        self.ticket += 1;
        self.pending.insert(key.clone(), (self.ticket, now));
        let change = Change {
            key,
            expected,
            value,
            ticket: self.ticket,
        };
        self.placement.change(change, &Self::news(cx));
    }

    /// Handles the answer to a change.
    fn answered(
        &mut self,
        key: &Arc<str>,
        ticket: u64,
        outcome: &Outcome,
        cx: &Context<'_, PlacerMsg>,
    ) {
        match outcome {
            Outcome::Unknown(why) => lock(&self.sample).failure = Some(why.clone()),
            Outcome::Invalid(error) => {
                lock(&self.sample).failure = Some(error.to_string().into());
            }
            Outcome::Changed(_) | Outcome::Refused => {}
        }
        if let Some(beat) = Own::beat_of(ticket) {
            let (is_good, look) = self.own.answered(beat, outcome, cx.lease_now());
            if !is_good {
                self.roster.is_unsure(cx.lease_now());
            }
            self.looked(&look);
            if self.renews_again {
                self.renew(cx);
            }
        } else if self
            .pending
            .get(key)
            .is_some_and(|(known, _)| *known == ticket)
        {
            self.pending.remove(key);
            if let Outcome::Changed(_) = outcome {
                self.count(key);
            }
        }
        self.read(cx);
    }

    /// Counts a change that has taken place.
    fn count(&self, key: &str) {
        let mut sample = lock(&self.sample);
        match Key::read(key) {
            Some(Key::Member(_)) => sample.removed += 1,
            Some(Key::Shard(kind, number)) => match self.view.owner(&kind, number) {
                None => sample.claimed += 1,
                Some((_, seen)) if seen.value.is_draining => sample.handed_over += 1,
                Some(_) => {}
            },
            Some(Key::Kind(_)) | None => {}
        }
    }

    /// Handles a change of the own membership.
    fn looked(&mut self, look: &Look) {
        match look {
            // The next renewal and the plan follow the order.
            Look::Same | Look::Ordered => {}
            Look::Joined => {
                lock(&self.sample).joined += 1;
                if let Some(lease) = self.own.lease() {
                    for used in self.used.values() {
                        used.order(Order::Joined(lease.clone()));
                    }
                }
            }
            Look::Lost => {
                lock(&self.sample).lost += 1;
                self.forget_owners();
            }
        }
    }

    /// Tells the regions that all owners are unknown.
    fn forget_owners(&mut self) {
        self.emptied.clear();
        for used in self.used.values_mut() {
            used.forget();
        }
    }

    fn news_came(&mut self, news: News, cx: &Context<'_, PlacerMsg>) {
        match news {
            News::Hint => self.read(cx),
            News::Outcome {
                key,
                ticket,
                outcome,
            } => self.answered(&key, ticket, &outcome, cx),
            News::Records {
                records,
                revision,
                is_whole,
            } => {
                self.reads_since = None;
                let (now, roster) = (cx.lease_now(), &mut self.roster);
                let saw = |name: &NodeName, revision| roster.saw(name, revision, now);
                let is_different = self.view.apply(&records, revision, is_whole, saw);
                let look = self.own.look(&self.view, now);
                self.looked(&look);
                if is_different || look != Look::Same {
                    self.settle(now);
                    self.plan(cx);
                }
                if self.reads_again {
                    self.read(cx);
                }
            }
        }
    }

    /// Notes whether the hosts have changed.
    fn settle(&mut self, now: Nanos) {
        let hosts = self.view.members().map(|(name, seen)| {
            let member = &seen.value;
            let hosted = member.hosts.iter().map(|kind| hash(kind));
            let hosted = hosted.fold(0u64, u64::wrapping_add);
            hash(name.as_str()) ^ hosted ^ u64::from(member.is_draining) ^ seen.epoch()
        });
        let hosts = hosts.fold(0u64, u64::wrapping_add);
        if hosts != self.hosts.0 {
            self.hosts = (hosts, now);
        }
    }

    /// Claims, hands over and passes on shards, and tells the regions of their owners.
    fn plan(&mut self, cx: &Context<'_, PlacerMsg>) {
        let now = cx.lease_now();
        if self.own.may_act(now) {
            let hosted: Vec<_> = (self.hosted.iter())
                .map(|(kind, shards)| (kind.clone(), *shards))
                .collect();
            for (kind, shards) in hosted {
                match self.view.shards(&kind) {
                    Some(shards) => self.plan_kind(&kind, shards, now, cx),
                    None => {
                        let value = encode(KindRecord { shards });
                        self.change(&Key::Kind(kind), 0, Some(value), cx);
                    }
                }
            }
        }
        self.tell_owners();
        let owned = self.owned();
        self.finish_drain(owned, cx);
        self.publish(owned);
    }

    fn plan_kind(&mut self, kind: &Arc<str>, shards: u32, now: Nanos, cx: &Context<'_, PlacerMsg>) {
        let hosts: Vec<_> = self.view.hosts(kind).map(Candidate::new).collect();
        let is_settled = now.saturating_sub(self.hosts.1) >= nanos(SETTLED);
        let of_kind = hash(kind);
        let own = (0..shards).filter_map(|number| self.owned_shard(kind, number));
        let mut moves = own.filter(|seen| seen.value.is_draining).count();
        let moves_max = match (self.own.is_draining, is_settled) {
            (true, _) => DRAINS_MAX,
            (false, true) => MOVES_MAX,
            (false, false) => 0,
        };
        for number in 0..shards {
            let best = ideal(of_kind, number, &hosts);
            let is_best = best == Some(&self.own.name);
            let known = self.view.shard(kind, number);
            let revision = known.map_or(0, |seen| seen.revision);
            let key = || Key::Shard(kind.clone(), number);
            match self.view.owner(kind, number) {
                None if is_best => {
                    let value = self.own_shard(false);
                    self.change(&key(), revision, value, cx);
                }
                None => {}
                Some((name, seen)) if *name == self.own.name => {
                    let is_emptied =
                        self.emptied.get(&(kind.clone(), number)) == Some(&seen.revision);
                    if seen.value.is_draining && is_emptied {
                        let value = best.and_then(|best| self.shard_of(best));
                        self.change(&key(), revision, value, cx);
                    } else if !seen.value.is_draining && !is_best && moves < moves_max {
                        moves += 1;
                        let value = self.own_shard(true);
                        self.change(&key(), revision, value, cx);
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// Returns the record of a shard if this node owns it.
    fn owned_shard(&self, kind: &str, number: u32) -> Option<&Seen<Shard>> {
        let (name, seen) = self.view.owner(kind, number)?;
        (*name == self.own.name).then_some(seen)
    }

    /// Returns a record of a shard of this node.
    fn own_shard(&self, is_draining: bool) -> Option<bytes::Bytes> {
        Some(encode(Shard {
            node: self.own.name.to_string(),
            epoch: self.own.epoch()?,
            is_draining,
        }))
    }

    /// Returns a record of a shard of a member.
    fn shard_of(&self, name: &NodeName) -> Option<bytes::Bytes> {
        Some(encode(Shard {
            node: name.to_string(),
            epoch: self.view.member(name)?.epoch(),
            is_draining: false,
        }))
    }

    /// Tells the regions of owners that have changed.
    fn tell_owners(&mut self) {
        let record = self.view.member(&self.own.name);
        let record = record.filter(|seen| Some(seen.epoch()) == self.own.epoch());
        for (kind, used) in &mut self.used {
            // Nothing is sent to other nodes before they can see that this one uses the kind.
            if record.is_some_and(|seen| seen.uses(kind)) {
                used.tell(kind, &self.view, &self.own.name);
            }
        }
    }

    /// Names a kind in the record of this node if the node runs it and has a region for it. A node
    /// gets no shards before its region can take messages.
    fn host_if_used(&mut self, kind: Arc<str>) {
        if self.used.contains_key(&kind) && self.hosted.contains_key(&kind) {
            self.own.hosts.push(kind);
        }
    }

    /// Leaves when the last shard was handed over.
    fn finish_drain(&self, owned: usize, cx: &Context<'_, PlacerMsg>) {
        if !self.own.is_draining {
            return;
        }
        let seen = self.view.member(&self.own.name);
        let is_known = seen.is_none_or(|seen| seen.value.is_draining);
        let is_empty = owned == 0 && self.pending.is_empty();
        if is_known && is_empty {
            let me = cx.address();
            let _ = cx.send(&me, PlacerMsg::Leave);
        }
    }

    /// Returns the number of shards that this node owns.
    fn owned(&self) -> usize {
        let kinds = self.hosted.keys();
        let owned = kinds.map(|kind| {
            let shards = 0..self.view.shards(kind).unwrap_or(0);
            let owned = shards.filter_map(|number| self.owned_shard(kind, number));
            owned.count()
        });
        owned.sum()
    }

    /// Updates the numbers of this node, which owns a number of shards.
    fn publish(&self, owned: usize) {
        let mut members: Vec<NodeName> =
            self.view.members().map(|(name, _)| name.clone()).collect();
        members.sort_unstable();
        let mut sample = lock(&self.sample);
        sample.is_member = self.own.epoch().is_some();
        sample.members = members;
        sample.owned = owned;
        sample.is_draining = self.own.is_draining;
        sample.unreadable = self.view.unreadable();
    }

    /// Leaves the cluster.
    fn leave(&mut self, cx: &Context<'_, PlacerMsg>) {
        if let Some(removal) = self.own.removal() {
            self.placement.change(removal, &Self::news(cx));
        }
        self.own.lose();
        for used in self.used.values() {
            used.order(Order::Left);
        }
        self.publish(self.owned());
        for reply in self.waiters.drain(..) {
            reply.send(());
        }
    }
}

impl Actor for Placer {
    type Msg = PlacerMsg;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, PlacerMsg>) -> Next {
        self.placement.watch(&Self::news(cx));
        let me = cx.address();
        let _ = cx.send(&me, PlacerMsg::Beat);
        Next::Continue
    }

    fn receive(&mut self, message: PlacerMsg, cx: &mut Context<'_, PlacerMsg>) -> Next {
        match message {
            PlacerMsg::Beat if self.lines.has_left() => {
                self.leave(cx);
                return Next::Stop;
            }
            PlacerMsg::Beat => self.beat(cx),
            PlacerMsg::News(news) => self.news_came(news, cx),
            PlacerMsg::Use { kind, region } => {
                if let Some(lease) = self.own.lease() {
                    region.order(Order::Joined(lease.clone()));
                }
                self.own.uses.push(kind.clone());
                self.used.insert(kind.clone(), UsedKind::new(region));
                self.host_if_used(kind);
                self.renew_soon(cx);
            }
            PlacerMsg::Host { kind, shards } => {
                self.hosted.insert(kind.clone(), shards);
                self.host_if_used(kind);
                self.renew_soon(cx);
            }
            PlacerMsg::Emptied {
                kind,
                shard,
                revision,
            } => {
                self.emptied.insert((kind, shard), revision);
                self.plan(cx);
            }
            PlacerMsg::Drain(reply) => {
                self.waiters.push(reply);
                self.own.is_draining = true;
                self.renew_soon(cx);
            }
            PlacerMsg::Await(reply) => self.waiters.push(reply),
            PlacerMsg::Leave => {
                self.leave(cx);
                return Next::Stop;
            }
        }
        Next::Continue
    }
}

impl Drop for Placer {
    fn drop(&mut self) {
        // Turns that were held are undone.
        self.own.lose();
    }
}
