//! The placer: the actor that maintains the membership of its node, and decides which node owns
//! each shard.

mod leaving;
mod planning;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Next, Reply};
use garrick_sched::{Nanos, nanos};
use hashbrown::{HashMap, HashSet};

use crate::batch::Lines;
use crate::lock::lock;
use crate::members::agenda::{Agenda, Hosted};
use crate::members::order::{Order, Regional};
use crate::members::own::{Look, Own};
use crate::members::record::{Key, Member, encode};
use crate::members::roster::{FENCED_LEASE, LEASE, Roster};
use crate::members::sample::MembersSample;
use crate::members::standing::{MemberSample, MemberState, Standings};
use crate::members::used::UsedKind;
use crate::members::view::{Changes, View};
use crate::name::NodeName;
use crate::placement::{Change, News, Outcome, Placement};

/// Time between two checks for silent members.
const TICK: Duration = Duration::from_millis(250);

/// Number of ticks (of 250 ms) between two renewals of the membership. Applies to a node that runs
/// no fenced kind (a kind whose journals refuse events of earlier owners).
const BEAT_TICKS: u64 = 4;
/// Number of ticks (of 250 ms) between two renewals of the membership. Applies to a node that runs
/// at least one fenced kind (a kind whose journals refuse events of earlier owners).
const FENCED_BEAT_TICKS: u64 = 2;

/// Time without an answer after which a renewal counts as late. Also the time between two checks
/// for silent members after which this node counts as paused.
const RENEWED_WITHIN: Duration = Duration::from_secs(1);

/// Time without an answer after which a read or a change of records is tried again.
const READ_AGAIN: Duration = Duration::from_secs(2);

/// Returns true if a request that was sent at `since` has had no answer for [`READ_AGAIN`] or
/// longer.
fn is_late_since(since: Nanos, now: Nanos) -> bool {
    now.saturating_sub(since) >= nanos(READ_AGAIN)
}

/// A message to the placer: the actor that decides which node owns each shard.
pub(crate) enum PlacerMsg {
    Beat,
    News(News),
    /// The node sends messages to entities of a kind, through a region (the actor that passes these
    /// messages on).
    Use {
        kind: Arc<str>,
        region: Arc<dyn Regional>,
    },
    /// The node runs entities of a kind.
    Host {
        kind: Arc<str>,
        hosted: Hosted,
    },
    /// The entities of a shard that this node is handing over have stopped.
    Emptied {
        kind: Arc<str>,
        shard: u32,
        revision: u64,
    },
    /// A region (the actor that passes on messages of a kind) accepts no more messages, and has
    /// sent all waiting messages.
    Closed(Arc<str>),
    /// Request to check if all waiting messages were sent.
    Look,
    /// Request to hand all shards over, and then to end the membership.
    Drain(Reply<()>),
    /// Request to be notified when the membership has ended.
    Await(Reply<()>),
    /// Request to end the membership immediately.
    Leave,
}

/// Progress of a node that ends its membership.
enum Exit {
    /// The node is not leaving yet.
    No,
    /// The listed regions (the actors that pass on messages of a kind) are sending their waiting
    /// messages, until the given time.
    Closes {
        regions: HashSet<Arc<str>>,
        until: Nanos,
    },
    /// The record of the node is being removed. Contains the time of the first attempt.
    Removes { since: Nanos },
}

/// A change of a record that the placement (the store of the cluster's records) has not answered
/// yet.
struct Sent {
    ticket: u64,
    at: Nanos,
    is_removal: bool,
}

/// The actor that maintains the membership of its node, and decides which node owns each shard.
pub(crate) struct Placer {
    lines: Arc<dyn Lines>,
    placement: Arc<dyn Placement>,
    sample: Arc<Mutex<MembersSample>>,
    standings: Arc<Mutex<Standings>>,
    /// True if the owners of shards may have changed since the shards were last counted.
    counts_again: bool,
    own: Own,
    view: View,
    roster: Roster,
    /// Kinds of entities that the node uses.
    used: HashMap<Arc<str>, UsedKind>,
    /// For each kind that the node runs: what the node must do with the shards of the kind.
    agendas: BTreeMap<Arc<str>, Agenda>,
    /// Changes without an answer, by the keys of their records.
    pending: HashMap<Arc<str>, Sent>,
    ticket: u64,
    ticks: u64,
    /// Shards whose entities have stopped, with the revision of each shard's record.
    emptied: HashMap<(Arc<str>, u32), u64>,
    /// Time at which the unanswered request for records was sent. `None` if no request is
    /// unanswered.
    reads_since: Option<Nanos>,
    /// True if a record may have changed after the unanswered request was sent. In this case,
    /// another request follows the answer.
    reads_again: bool,
    /// True if this node's record must be renewed again as soon as the last renewal is answered.
    renews_again: bool,
    /// Hash of the members and of the kinds that each member runs, and the time at which the hash
    /// last changed.
    hosts: (u64, Nanos),
    /// Callers that wait until the membership has ended.
    waiters: Vec<Reply<()>>,
    /// Time since which this node is draining and has no valid lease, at each beat. `None` if the
    /// node is not draining or has a valid lease.
    cut_off_since: Option<Nanos>,
    exit: Exit,
}

impl Placer {
    pub(crate) fn new(
        own: Own,
        lines: Arc<dyn Lines>,
        placement: Arc<dyn Placement>,
        sample: Arc<Mutex<MembersSample>>,
        standings: Arc<Mutex<Standings>>,
    ) -> Self {
        Self {
            own,
            lines,
            placement,
            sample,
            standings,
            counts_again: true,
            view: View::default(),
            roster: Roster::default(),
            used: HashMap::new(),
            agendas: BTreeMap::new(),
            pending: HashMap::new(),
            ticket: 0,
            ticks: 0,
            emptied: HashMap::new(),
            reads_since: None,
            reads_again: false,
            renews_again: false,
            hosts: (0, 0),
            waiters: Vec::new(),
            cut_off_since: None,
            exit: Exit::No,
        }
    }

    fn news(cx: &Context<'_, PlacerMsg>) -> Address<News> {
        cx.address().contramap(PlacerMsg::News)
    }

    /// Renews the record of this node, checks for silent members, and updates the owners of shards.
    fn beat(&mut self, cx: &Context<'_, PlacerMsg>) {
        let now = cx.lease_now();
        self.roster.checks(RENEWED_WITHIN, now);
        let is_late = self.own.is_late(RENEWED_WITHIN, now);
        if is_late {
            self.roster.is_unsure(now);
        }
        let fenced = !self.own.fenced.is_empty();
        let ticks = if fenced {
            FENCED_BEAT_TICKS
        } else {
            BEAT_TICKS
        };
        let is_due = self.ticks.is_multiple_of(ticks);
        self.ticks += 1;
        // One that is not late may still go through.
        if is_due && (is_late || !self.own.is_unanswered()) {
            self.renew(cx);
        }
        if is_due {
            // Those that are late may never be answered, and may be sent again.
            self.pending.retain(|_, sent| !is_late_since(sent.at, now));
            self.read(cx);
            self.plan(None, cx);
        }
        self.look_for_silent(cx);
        self.publish_standings(is_due, cx);
        self.leave_if_cut_off(cx);
        let _ = cx.send_after(TICK, &cx.address(), PlacerMsg::Beat);
    }

    /// Takes over the shards of fenced kinds (whose journals refuse events of earlier owners) from
    /// members that were silent for [`FENCED_LEASE`]. Removes the records of members that were
    /// silent for [`LEASE`].
    fn look_for_silent(&mut self, cx: &Context<'_, PlacerMsg>) {
        let now = cx.lease_now();
        for (name, revision) in self.roster.silent(FENCED_LEASE, now) {
            if let Some(value) = self.suspicion(&name, revision, cx.now()) {
                self.change(&Key::Member(name), revision, Some(value), cx);
            }
        }
        for (name, revision) in self.roster.silent(LEASE, now) {
            let is_own = name == self.own.name && self.own.epoch().is_some();
            if !is_own {
                self.change(&Key::Member(name), revision, None, cx);
            }
        }
    }

    /// Returns a new record for a silent member, in which the fence is increased. A fence is a
    /// number in the records of a node's shards of fenced kinds (whose journals refuse events of
    /// earlier owners). Because of the new fence, the member loses these shards. Returns `None` if
    /// the member runs no fenced kinds, or if frames from the member still arrive.
    fn suspicion(&self, name: &NodeName, revision: u64, now: Nanos) -> Option<bytes::Bytes> {
        let seen = self.view.member(name)?;
        let member = &seen.value;
        let heard = self.lines.heard(name);
        let is_silent = heard.is_none_or(|at| now.saturating_sub(at) >= nanos(FENCED_LEASE));
        // The first record of a membership does not name the epoch yet.
        let may_be = member.epoch > 0 && !member.fenced.is_empty() && !member.is_suspect;
        let is_other = *name != self.own.name && seen.revision == revision;
        (is_silent && may_be && is_other).then(|| {
            encode(Member {
                fence: member.fence + 1,
                is_suspect: true,
                ..member.clone()
            })
        })
    }

    fn renew(&mut self, cx: &Context<'_, PlacerMsg>) {
        self.renews_again = false;
        let renewal = self.own.renewal(cx.lease_now());
        self.placement.change(renewal, &Self::news(cx));
    }

    /// Renews this node's record early, because the content of the record has changed.
    fn renew_soon(&mut self, cx: &Context<'_, PlacerMsg>) {
        if self.own.is_unanswered() {
            self.renews_again = true;
        } else {
            self.renew(cx);
        }
    }

    /// Requests the records that have changed.
    fn read(&mut self, cx: &Context<'_, PlacerMsg>) {
        let now = cx.lease_now();
        if (self.reads_since).is_some_and(|since| !is_late_since(since, now)) {
            self.reads_again = true;
            return;
        }
        (self.reads_since, self.reads_again) = (Some(now), false);
        self.placement.read(self.view.revision(), &Self::news(cx));
    }

    /// Changes a record. Does nothing if an earlier change of this record has no answer yet.
    fn change(
        &mut self,
        key: &Key,
        expected: u64,
        value: Option<bytes::Bytes>,
        cx: &Context<'_, PlacerMsg>,
    ) {
        let (key, now) = (key.text(), cx.lease_now());
        if (self.pending.get(&key)).is_some_and(|sent| !is_late_since(sent.at, now)) {
            return;
        }
        self.ticket += 1;
        let sent = Sent {
            ticket: self.ticket,
            at: now,
            is_removal: value.is_none(),
        };
        self.pending.insert(key.clone(), sent);
        let change = Change {
            key,
            expected,
            value,
            ticket: self.ticket,
        };
        self.placement.change(change, &Self::news(cx));
    }

    /// Handles the answer to a request of this node to change a record.
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
        } else if (self.pending.get(key)).is_some_and(|sent| sent.ticket == ticket) {
            let sent = self.pending.remove(key);
            if let (Outcome::Changed(_), Some(sent)) = (outcome, sent) {
                self.count(key, &sent);
            }
        }
        self.read(cx);
    }

    /// Counts a successful change of a record.
    fn count(&self, key: &str, sent: &Sent) {
        let mut sample = lock(&self.sample);
        match Key::read(key) {
            Some(Key::Member(_)) if sent.is_removal => sample.removed += 1,
            Some(Key::Member(_)) => sample.suspected += 1,
            Some(Key::Shard(kind, number)) => match self.view.owner(&kind, number) {
                None => sample.claimed += 1,
                Some((_, seen)) if seen.value.is_draining => sample.handed_over += 1,
                Some(_) => {}
            },
            Some(Key::Kind(_)) | None => {}
        }
    }

    /// Handles a change of the membership of this node.
    fn looked(&mut self, look: &Look) {
        match look {
            // The next renewal and the plan follow the order.
            Look::Same | Look::Ordered => {}
            Look::Joined => {
                lock(&self.sample).joined += 1;
                self.used.keys().for_each(|kind| self.tell_lease(kind));
            }
            Look::Lost => {
                lock(&self.sample).lost += 1;
                self.forget_owners();
            }
            Look::Fenced => {
                lock(&self.sample).fenced += 1;
                for kind in &self.own.fenced {
                    self.emptied.retain(|(of, _), _| of != kind);
                    if let Some(used) = self.used.get_mut(kind) {
                        used.forget();
                    }
                    self.tell_lease(kind);
                }
            }
        }
    }

    /// Passes the lease for the shards of a kind to the kind's region (the actor that passes on
    /// messages to its entities). A lease is the time for which the node may act as the owner of
    /// its shards.
    fn tell_lease(&self, kind: &Arc<str>) {
        if let (Some(used), Some(lease)) = (self.used.get(kind), self.own.lease_of(kind)) {
            used.order(Order::Joined(lease.clone()));
        }
    }

    /// Tells the regions (the actors that pass on messages to entities) that the owners of all
    /// shards are unknown.
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
                let changes = self.view.apply(&records, revision, is_whole, saw);
                let look = self.own.look(&self.view, now);
                self.looked(&look);
                if !changes.is_empty() || look != Look::Same {
                    self.counts_again = true;
                    self.settle(now);
                    self.plan(Some(&changes), cx);
                }
                if self.reads_again {
                    self.read(cx);
                }
            }
        }
    }

    /// Adds a kind to the record of this node, if the node runs the kind and has a region for the
    /// kind. (A region is an actor that passes on messages to entities.) So a node gets no shards
    /// before its region can take messages.
    fn host_if_used(&mut self, kind: Arc<str>) {
        if self.used.contains_key(&kind)
            && let Some(agenda) = self.agendas.get(&kind)
        {
            self.own.hosts.push((kind, agenda.hosted().versions));
        }
    }

    /// Begins to run entities of a kind.
    fn host(&mut self, kind: Arc<str>, hosted: Hosted) {
        self.agendas
            .insert(kind.clone(), Agenda::new(kind.clone(), hosted));
        if hosted.is_fenced {
            self.own.fenced.push(kind.clone());
            self.tell_lease(&kind);
        }
        self.host_if_used(kind);
    }

    /// Makes the current list of members and this node's lease available to code that samples them.
    /// The lease is the time for which the node may act as the owner of its shards. Counts shards
    /// only if `counts` is true, because there can be many shards.
    fn publish_standings(&mut self, counts: bool, cx: &Context<'_, PlacerMsg>) {
        let (now, lease_now) = (cx.now(), cx.lease_now());
        // The readers have only this clock.
        let by_clock = |at: Nanos| now.saturating_sub(lease_now.saturating_sub(at));
        let seen_at = |name: &NodeName| self.roster.seen_at(name).map(by_clock);
        let standings = &mut *lock(&self.standings);
        standings.is_sure_since(by_clock(self.roster.good_since()));
        standings.see(&self.view, seen_at, now);
        if counts && self.counts_again {
            self.counts_again = false;
            standings.count(&self.view, &self.own.name);
        }
        standings.set_own(self.own_standing(), now);
        let until = self.own.lease().map(|lease| lease.until());
        let left = until.map(|until| until.saturating_sub(lease_now));
        standings.lease_until = left.map(|left| now.saturating_add(left));
        standings.held_turns = self.own.held_turns();
    }

    /// Returns the state of this node's membership. Does not count the shards of this node.
    fn own_standing(&self) -> MemberSample {
        let seen = self.view.member(&self.own.name);
        let is_suspect = seen.is_some_and(|seen| seen.value.is_suspect);
        let state = match (&self.exit, self.own.epoch()) {
            (Exit::Removes { .. }, _) => MemberState::Left,
            (_, None) => MemberState::Joining,
            (_, Some(_)) if is_suspect => MemberState::Suspect,
            (_, Some(_)) if self.own.is_draining => MemberState::Draining,
            (_, Some(_)) => MemberState::Up,
        };
        MemberSample {
            name: self.own.name.clone(),
            is_own: true,
            life: self.own.life(),
            epoch: self.own.epoch().unwrap_or(0),
            state,
            silent_for: Duration::ZERO,
            shards: Vec::new(),
        }
    }

    /// Updates the sample of this node's membership, which other threads can read.
    fn publish(&self) {
        let mut members: Vec<NodeName> =
            self.view.members().map(|(name, _)| name.clone()).collect();
        members.sort_unstable();
        let leaves = matches!(self.exit, Exit::Removes { .. });
        let mut sample = lock(&self.sample);
        sample.is_member = self.own.epoch().is_some() && !leaves;
        sample.members = members;
        sample.owned = self.owned();
        sample.is_draining = self.own.is_draining;
        sample.unreadable = self.view.unreadable();
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
        if let Exit::Removes { since } = self.exit {
            return self.receive_last(message, since, cx);
        }
        match message {
            PlacerMsg::Beat => {
                self.beat(cx);
                self.leave_if_closed(cx);
                if self.lines.has_left() {
                    return self.leave(cx);
                }
            }
            PlacerMsg::News(news) => self.news_came(news, cx),
            PlacerMsg::Use { kind, region } => {
                self.own.uses.push(kind.clone());
                self.used.insert(kind.clone(), UsedKind::new(region));
                self.tell_lease(&kind);
                self.host_if_used(kind);
                self.renew_soon(cx);
            }
            PlacerMsg::Host { kind, hosted } => {
                self.host(kind, hosted);
                self.renew_soon(cx);
            }
            PlacerMsg::Emptied {
                kind,
                shard,
                revision,
            } => {
                self.emptied.insert((kind, shard), revision);
                self.plan(Some(&Changes::default()), cx);
            }
            PlacerMsg::Drain(reply) => {
                self.wait_for_end(reply);
                self.own.is_draining = true;
                self.renew_soon(cx);
            }
            PlacerMsg::Await(reply) => self.wait_for_end(reply),
            PlacerMsg::Closed(kind) => {
                if let Exit::Closes { regions, .. } = &mut self.exit {
                    regions.remove(&kind);
                }
                self.leave_if_closed(cx);
            }
            PlacerMsg::Look => self.leave_if_closed(cx),
            PlacerMsg::Leave => return self.leave(cx),
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
