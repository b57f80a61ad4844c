//! The view: the latest records of members, kinds and shards that this node has read.

use std::collections::BTreeMap;
use std::sync::Arc;

use garrick_core::random::mix;
use hashbrown::HashMap;

use super::plan::hash;
use super::record::{Key, KindRecord, Member, SHARDS_MAX, Shard, Versions, decode};
use crate::name::NodeName;
use crate::placement::Record;

/// A value that was read from a record, with the revision of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen<T> {
    pub(crate) revision: u64,
    pub(crate) value: T,
}

impl Seen<Member> {
    /// Returns the epoch of the membership: the revision of the member's record with which the
    /// membership began.
    pub(crate) fn epoch(&self) -> u64 {
        if self.value.epoch == 0 {
            self.revision
        } else {
            self.value.epoch
        }
    }

    /// Returns the node's fence: a number that other members increase to take over the node's
    /// shards of fenced kinds. Returns 0 if the node does not list the given kind as fenced.
    pub(crate) fn fence(&self, kind: &str) -> u64 {
        let is_fenced = self.value.fenced.iter().any(|fenced| fenced == kind);
        if is_fenced { self.value.fence } else { 0 }
    }

    /// Returns true if the node runs this version of a kind and is allowed to own shards of the
    /// kind.
    fn hosts(&self, kind: &str, version: u32) -> bool {
        let member = &self.value;
        let versions = self.versions(kind);
        let is_host = versions.is_some_and(|versions| versions.include(version));
        is_host && !member.is_draining && !(member.is_suspect && self.fence(kind) > 0)
    }

    /// Returns the versions of a kind that the node can run. Returns `None` if the node does not
    /// run the kind.
    fn versions(&self, kind: &str) -> Option<Versions> {
        let place = self.value.hosts.iter().position(|host| host == kind)?;
        // An older node names no versions.
        let versions = self.value.versions.get(place).copied();
        Some(versions.unwrap_or(Versions::NONE))
    }

    /// Returns true if the node sends messages to entities of a kind.
    pub(crate) fn uses(&self, kind: &str) -> bool {
        self.value.uses.iter().any(|used| used == kind)
    }
}

/// The changes that a read of the records has found. A renewal of a membership does not count as a
/// change.
#[derive(Default)]
pub(crate) struct Changes {
    /// True if a member has changed.
    pub(crate) members: bool,
    /// True if the record of a kind has changed.
    pub(crate) kinds: bool,
    shards: BTreeMap<Arc<str>, Vec<u32>>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        !self.members && !self.kinds && self.shards.is_empty()
    }

    /// Returns the numbers of the shards of a kind whose records have changed.
    pub(crate) fn shards(&self, kind: &str) -> &[u32] {
        self.shards.get(kind).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, kind: Arc<str>, number: u32) {
        self.shards.entry(kind).or_default().push(number);
    }
}

/// The records that this node has read. The records may be out of date, so each change states the
/// revision that it expects.
#[derive(Default)]
pub(crate) struct View {
    /// Revision up to which the view contains all changes.
    revision: u64,
    members: HashMap<NodeName, Seen<Member>>,
    kinds: HashMap<Arc<str>, Kind>,
    /// Number of records that could not be decoded.
    unreadable: u64,
}

#[derive(Default)]
struct Kind {
    record: Option<Seen<KindRecord>>,
    shards: Vec<Option<Seen<Shard>>>,
}

impl View {
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn unreadable(&self) -> u64 {
        self.unreadable
    }

    pub(crate) fn member(&self, name: &NodeName) -> Option<&Seen<Member>> {
        self.members.get(name)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (&NodeName, &Seen<Member>)> {
        self.members.iter()
    }

    /// Returns the nodes that are allowed to own shards of a kind. These nodes run the version of
    /// the kind, and are not handing their shards over. If the kind is fenced (its journals refuse
    /// events of an old owner), nodes that are suspected to be lost are excluded.
    pub(crate) fn hosts<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a NodeName> {
        let version = self.version(kind);
        let hosts = self.members.iter();
        (hosts.filter(move |(_, seen)| seen.hosts(kind, version))).map(|(name, _)| name)
    }

    /// Returns a number that changes when the current version of a kind changes, or when a member
    /// changes in a way that affects the kind.
    pub(crate) fn mark(&self, kind: &str) -> u64 {
        let version = self.version(kind);
        let of_member = |(name, seen): (&NodeName, &Seen<Member>)| {
            let flags = u64::from(seen.hosts(kind, version)) << 1 | u64::from(seen.uses(kind));
            // Also if the kind is not fenced any more: there are shards with the fence before.
            let fence = mix(seen.value.fence ^ seen.fence(kind) << 32);
            mix(hash(name.as_str()) ^ mix(seen.epoch() << 2 | flags) ^ fence)
        };
        self.members
            .iter()
            .map(of_member)
            .fold(0, u64::wrapping_add)
    }

    /// Returns the record of a kind, if there is one.
    pub(crate) fn kind(&self, kind: &str) -> Option<&Seen<KindRecord>> {
        self.kinds.get(kind)?.record.as_ref()
    }

    /// Returns the names of all known kinds.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<str>> {
        let kinds = self.kinds.iter();
        kinds
            .filter(|(_, kind)| kind.record.is_some())
            .map(|(name, _)| name)
    }

    /// Returns the number of shards of a kind. Returns `None` if no record of the kind is known.
    pub(crate) fn shards(&self, kind: &str) -> Option<u32> {
        Some(self.kind(kind)?.value.shards)
    }

    /// Returns the current version of a kind. Returns the default version if no record of the kind
    /// is known.
    fn version(&self, kind: &str) -> u32 {
        let record = self.kind(kind);
        record.map_or(Versions::NONE.max, |seen| seen.value.version)
    }

    /// Returns the record of a shard, or `None` if no record is known.
    pub(crate) fn shard(&self, kind: &str, number: u32) -> Option<&Seen<Shard>> {
        self.kinds.get(kind)?.shards.get(number as usize)?.as_ref()
    }

    /// Returns the owner of a shard, with the record of the shard. Returns `None` if the shard has
    /// no owner. An owner loses the shard when its membership ends, or when another member
    /// increases its fence.
    pub(crate) fn owner(&self, kind: &str, number: u32) -> Option<(&NodeName, &Seen<Shard>)> {
        let shard = self.shard(kind, number)?;
        let (name, member) = self.members.get_key_value(shard.value.node.as_str())?;
        let value = &shard.value;
        let is_fence = value.fence == 0 || value.fence == member.value.fence;
        (member.epoch() == value.epoch && is_fence).then_some((name, shard))
    }

    /// Applies the records that were read, which contain all changes up to a given revision. Calls
    /// `changed` for each changed member, with the revision of its record and a value that changes
    /// with each renewal.
    pub(crate) fn apply(
        &mut self,
        records: &[Record],
        revision: u64,
        is_whole: bool,
        mut changed: impl FnMut(&NodeName, Option<(u64, u64)>),
    ) -> Changes {
        let mut changes = Changes::default();
        if revision < self.revision {
            // An older answer, which came late.
            return changes;
        }
        if is_whole {
            self.remove_missing(records, &mut changes, &mut changed);
        }
        for record in records {
            self.apply_one(record, &mut changes, &mut changed);
        }
        self.revision = revision;
        changes
    }

    /// Removes from the view all records that `records` does not contain.
    fn remove_missing(
        &mut self,
        records: &[Record],
        changes: &mut Changes,
        changed: &mut impl FnMut(&NodeName, Option<(u64, u64)>),
    ) {
        let keys: hashbrown::HashSet<&str> = records.iter().map(|record| &*record.key).collect();
        let before = self.members.len();
        self.members.retain(|name, _| {
            let stays = keys.contains(&*Key::Member(name.clone()).text());
            if !stays {
                changed(name, None);
            }
            stays
        });
        changes.members |= before != self.members.len();
        for (name, kind) in &mut self.kinds {
            if kind.record.is_some() && !keys.contains(&*Key::Kind(name.clone()).text()) {
                kind.record = None;
                changes.kinds = true;
            }
            for (number, shard) in (0..).zip(&mut kind.shards) {
                let is_gone =
                    |name: &Arc<str>| !keys.contains(&*Key::Shard(name.clone(), number).text());
                if shard.is_some() && is_gone(name) {
                    *shard = None;
                    changes.add(Arc::clone(name), number);
                }
            }
        }
    }

    /// Applies a record. Does nothing if a later revision of the record is already known.
    fn apply_one(
        &mut self,
        record: &Record,
        changes: &mut Changes,
        changed: &mut impl FnMut(&NodeName, Option<(u64, u64)>),
    ) {
        let Some(key) = Key::read(&record.key) else {
            return;
        };
        match key {
            Key::Member(name) => {
                let before = self.members.get(&name);
                if before.is_some_and(|before| before.revision >= record.revision) {
                    return;
                }
                let now: Option<Seen<Member>> = self.read(record);
                // Another member that changes the record changes neither the epoch nor the beat.
                let sign = |seen: &Seen<Member>| mix(seen.epoch()) ^ seen.value.beat;
                let seen = now.as_ref().map(|seen| (seen.revision, sign(seen)));
                changed(&name, seen);
                let before = match now.clone() {
                    Some(now) => self.members.insert(name, now),
                    None => self.members.remove(&name),
                };
                let without_beat = |member: Option<Seen<Member>>| {
                    let mut seen = member?;
                    seen.value.epoch = seen.epoch();
                    (seen.value.beat, seen.revision) = (0, 0);
                    Some(seen)
                };
                changes.members |= without_beat(before) != without_beat(now);
            }
            Key::Kind(name) => {
                let now: Option<Seen<KindRecord>> = self.read(record);
                let now = now.filter(|now| (1..=SHARDS_MAX).contains(&now.value.shards));
                let kind = self.kinds.entry(name).or_default();
                changes.kinds |= apply_to(&mut kind.record, now, record.revision);
            }
            Key::Shard(name, number) => {
                let now = self.read(record);
                let kind = self.kinds.entry(Arc::clone(&name)).or_default();
                let place = number as usize;
                if kind.shards.len() <= place {
                    kind.shards.resize(place + 1, None);
                }
                if apply_to(&mut kind.shards[place], now, record.revision) {
                    changes.add(name, number);
                }
            }
        }
    }

    /// Decodes a record. Returns `None` if the record was deleted or cannot be decoded.
    fn read<T: garrick_wire::Wire>(&mut self, record: &Record) -> Option<Seen<T>> {
        let value = decode(record.value.as_ref()?);
        if value.is_none() {
            self.unreadable += 1;
        }
        Some(Seen {
            revision: record.revision,
            value: value?,
        })
    }
}

/// Replaces the value in `place` by `now`, which has the revision `revision`. Does nothing if the
/// values are equal, or if this revision or a later one is already known. Returns true if the value
/// was replaced.
fn apply_to<T: PartialEq>(
    place: &mut Option<Seen<T>>,
    now: Option<Seen<T>>,
    revision: u64,
) -> bool {
    let is_known = place.as_ref().is_some_and(|seen| seen.revision >= revision);
    if is_known || *place == now {
        return false;
    }
    *place = now;
    true
}
