//! Plans of a node: which shards it claims, hands over, or gives to another node, and which owners
//! it reports to its regions (the actors that pass on messages to entities).

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::Context;
use garrick_sched::{Nanos, nanos};

use super::{Placer, PlacerMsg};
use crate::lock::lock;
use crate::members::agenda::{Agenda, Hosted};
use crate::members::plan::hash;
use crate::members::record::{Key, KindRecord, Shard, encode};
use crate::members::view::Changes;
use crate::name::NodeName;

/// Time for which the members must stay the same before shards move to the nodes that should own
/// them.
const SETTLED: Duration = Duration::from_secs(10);

/// Maximum number of shards of a kind that a node hands over at the same time for a better balance.
const MOVES_MAX: usize = 8;

/// Maximum number of shards of a kind that a node hands over at the same time before it leaves.
const DRAINS_MAX: usize = 64;

impl Placer {
    /// Records the current time if the members, or the kinds that a member runs, have changed since
    /// the last call.
    pub(super) fn settle(&mut self, now: Nanos) {
        let hosts = self.view.members().map(|(name, seen)| {
            let member = &seen.value;
            let hosted = member.hosts.iter().map(|kind| hash(kind));
            let hosted = hosted.fold(0u64, u64::wrapping_add);
            let flags = u64::from(member.is_draining) | u64::from(member.is_suspect) << 1;
            hash(name.as_str()) ^ hosted ^ flags ^ seen.epoch() ^ member.fence << 32
        });
        let hosts = hosts.fold(0u64, u64::wrapping_add);
        if hosts != self.hosts.0 {
            self.hosts = (hosts, now);
        }
    }

    /// Claims shards, hands shards over, and gives them to other nodes. Informs the regions about
    /// the owners. `changed` contains the changes that were read. If `changed` is `None`, retries
    /// all steps that are not done yet.
    pub(super) fn plan(&mut self, changed: Option<&Changes>, cx: &Context<'_, PlacerMsg>) {
        let nothing = Changes::default();
        let news = changed.unwrap_or(&nothing);
        let mut agendas = mem::take(&mut self.agendas);
        for agenda in agendas.values_mut() {
            agenda.update(&self.view, &self.own.name, news);
            if self.own.may_act(cx.lease_now()) {
                self.work(agenda, changed, cx);
            }
        }
        self.agendas = agendas;
        self.tell_owners(news);
        self.finish_drain(cx);
        self.publish();
    }

    /// Performs the next actions of this node for the shards of a kind.
    fn work(
        &mut self,
        agenda: &mut Agenda,
        changed: Option<&Changes>,
        cx: &Context<'_, PlacerMsg>,
    ) {
        let kind = agenda.kind().clone();
        if !self.is_decided(&kind, agenda.hosted(), cx) {
            return;
        }
        for number in agenda.claims(changed) {
            let value = self.own_shard(&kind, false);
            self.change_shard(&kind, number, value, cx);
        }
        let (gives, moves) = agenda.moves();
        for number in gives {
            let revision = self.view.shard(&kind, *number).map(|seen| seen.revision);
            let key = (kind.clone(), *number);
            if revision.is_some() && self.emptied.get(&key).copied() == revision {
                let value = agenda
                    .best(*number)
                    .and_then(|best| self.shard_of(&kind, best));
                self.change_shard(&kind, *number, value, cx);
            }
        }
        let is_settled = cx.lease_now().saturating_sub(self.hosts.1) >= nanos(SETTLED);
        let moves_max = match (self.own.is_draining, is_settled) {
            (true, _) => DRAINS_MAX,
            (false, true) => MOVES_MAX,
            (false, false) => 0,
        };
        for number in moves.iter().take(moves_max.saturating_sub(gives.len())) {
            let value = self.own_shard(&kind, true);
            self.change_shard(&kind, *number, value, cx);
        }
    }

    /// Returns true if the record of the kind exists, and contains at least the version that this
    /// node writes. Otherwise, creates or changes the record: it must contain this version before
    /// the node owns a shard.
    fn is_decided(&mut self, kind: &Arc<str>, hosted: Hosted, cx: &Context<'_, PlacerMsg>) -> bool {
        let versions = hosted.versions;
        let (revision, shards) = match self.view.kind(kind) {
            Some(seen) if !versions.include(seen.value.version) => {
                let version = seen.value.version;
                let why = format!(
                    "the kind {kind} has the version {version}, and this node can read the \
                     versions {versions}"
                );
                lock(&self.sample).failure = Some(why.into());
                return true;
            }
            Some(seen) if seen.value.version >= hosted.writes => return true,
            Some(seen) => (seen.revision, seen.value.shards),
            None => (0, hosted.shards),
        };
        let version = hosted.writes;
        let value = encode(KindRecord { shards, version });
        self.change(&Key::Kind(kind.clone()), revision, Some(value), cx);
        false
    }

    /// Changes the record of a shard.
    fn change_shard(
        &mut self,
        kind: &Arc<str>,
        number: u32,
        value: Option<bytes::Bytes>,
        cx: &Context<'_, PlacerMsg>,
    ) {
        let known = self.view.shard(kind, number);
        let revision = known.map_or(0, |seen| seen.revision);
        self.change(&Key::Shard(kind.clone(), number), revision, value, cx);
    }

    /// Returns the encoded content of a shard's record, with this node as the owner.
    fn own_shard(&self, kind: &str, is_draining: bool) -> Option<bytes::Bytes> {
        Some(encode(Shard {
            node: self.own.name.to_string(),
            epoch: self.own.epoch()?,
            is_draining,
            fence: self.own.fence_of(kind),
        }))
    }

    /// Returns the encoded content of a shard's record, with the member `name` as the owner.
    fn shard_of(&self, kind: &str, name: &NodeName) -> Option<bytes::Bytes> {
        let member = self.view.member(name)?;
        Some(encode(Shard {
            node: name.to_string(),
            epoch: member.epoch(),
            is_draining: false,
            fence: member.fence(kind),
        }))
    }

    /// Informs the regions (the actors that pass on messages to entities) about changes of the
    /// owners of shards.
    fn tell_owners(&mut self, changed: &Changes) {
        let record = self.view.member(&self.own.name);
        let record = record.filter(|seen| Some(seen.epoch()) == self.own.epoch());
        for (kind, used) in &mut self.used {
            // Nothing is sent to other nodes before they can see that this one uses the kind.
            if record.is_some_and(|seen| seen.uses(kind)) {
                used.tell(kind, &self.view, &self.own.name, changed);
            }
        }
    }

    /// Returns the number of shards that this node owns.
    pub(super) fn owned(&self) -> usize {
        self.agendas.values().map(Agenda::owned).sum()
    }
}
