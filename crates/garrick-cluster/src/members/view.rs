//! The view: the records as this node has read them last.

use std::sync::Arc;

use hashbrown::HashMap;

use super::record::{Key, KindRecord, Member, SHARDS_MAX, Shard, Versions, decode};
use crate::name::NodeName;
use crate::placement::Record;

/// A value with the revision of its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen<T> {
    pub(crate) revision: u64,
    pub(crate) value: T,
}

impl Seen<Member> {
    /// Returns the number of the membership.
    pub(crate) fn epoch(&self) -> u64 {
        if self.value.epoch == 0 {
            self.revision
        } else {
            self.value.epoch
        }
    }

    /// Returns the versions of a kind that the node runs, if it does.
    fn versions(&self, kind: &str) -> Option<Versions> {
        let place = self.value.hosts.iter().position(|host| host == kind)?;
        // An older node names no versions.
        let versions = self.value.versions.get(place).copied();
        Some(versions.unwrap_or(Versions::NONE))
    }

    /// Returns true if the node sends to entities of a kind.
    pub(crate) fn uses(&self, kind: &str) -> bool {
        self.value.uses.iter().any(|used| used == kind)
    }
}

/// The records that this node has read. A hint of what is true: only changes of records decide.
#[derive(Default)]
pub(crate) struct View {
    /// All changes up to this one are included.
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

    /// Returns the nodes that run a version of a kind and do not hand their shards over.
    pub(crate) fn hosts<'a>(
        &'a self,
        kind: &'a str,
        version: u32,
    ) -> impl Iterator<Item = &'a NodeName> {
        let is_host = move |seen: &Seen<Member>| {
            let versions = seen.versions(kind);
            !seen.value.is_draining && versions.is_some_and(|versions| versions.include(version))
        };
        let hosts = self.members.iter();
        (hosts.filter(move |(_, seen)| is_host(seen))).map(|(name, _)| name)
    }

    /// Returns the record of a kind, if there is one.
    pub(crate) fn kind(&self, kind: &str) -> Option<&Seen<KindRecord>> {
        self.kinds.get(kind)?.record.as_ref()
    }

    /// Returns the number of shards of a kind, if it is decided.
    pub(crate) fn shards(&self, kind: &str) -> Option<u32> {
        Some(self.kind(kind)?.value.shards)
    }

    /// Returns the record of a shard.
    pub(crate) fn shard(&self, kind: &str, number: u32) -> Option<&Seen<Shard>> {
        self.kinds.get(kind)?.shards.get(number as usize)?.as_ref()
    }

    /// Returns the owner of a shard, if its membership has not ended, with the record.
    pub(crate) fn owner(&self, kind: &str, number: u32) -> Option<(&NodeName, &Seen<Shard>)> {
        let shard = self.shard(kind, number)?;
        let (name, member) = self.members.get_key_value(shard.value.node.as_str())?;
        (member.epoch() == shard.value.epoch).then_some((name, shard))
    }

    /// Applies what was read up to a revision. `changed` is called for each member that has
    /// changed. Returns true if something else than the beats of members has changed.
    pub(crate) fn apply(
        &mut self,
        records: &[Record],
        revision: u64,
        is_whole: bool,
        mut changed: impl FnMut(&NodeName, Option<u64>),
    ) -> bool {
        if revision < self.revision {
            // An older answer, which came late.
            return false;
        }
        let mut is_different = false;
        if is_whole {
            is_different |= self.remove_missing(records, &mut changed);
        }
        for record in records {
            is_different |= self.apply_one(record, &mut changed);
        }
        self.revision = revision;
        is_different
    }

    /// Removes what is not among all records.
    fn remove_missing(
        &mut self,
        records: &[Record],
        changed: &mut impl FnMut(&NodeName, Option<u64>),
    ) -> bool {
        let keys: hashbrown::HashSet<&str> = records.iter().map(|record| &*record.key).collect();
        let before = self.members.len();
        self.members.retain(|name, _| {
            let stays = keys.contains(&*Key::Member(name.clone()).text());
            if !stays {
                changed(name, None);
            }
            stays
        });
        let mut is_different = before != self.members.len();
        for (name, kind) in &mut self.kinds {
            if kind.record.is_some() && !keys.contains(&*Key::Kind(name.clone()).text()) {
                kind.record = None;
                is_different = true;
            }
            for (number, shard) in (0..).zip(&mut kind.shards) {
                let is_gone =
                    |name: &Arc<str>| !keys.contains(&*Key::Shard(name.clone(), number).text());
                if shard.is_some() && is_gone(name) {
                    *shard = None;
                    is_different = true;
                }
            }
        }
        is_different
    }

    /// Applies a record, unless a later state of it is known. Returns true if something else than
    /// the beat of a member has changed.
    fn apply_one(
        &mut self,
        record: &Record,
        changed: &mut impl FnMut(&NodeName, Option<u64>),
    ) -> bool {
        let Some(key) = Key::read(&record.key) else {
            return false;
        };
        match key {
            Key::Member(name) => {
                let before = self.members.get(&name);
                if before.is_some_and(|before| before.revision >= record.revision) {
                    return false;
                }
                let now = self.read(record);
                changed(&name, now.is_some().then_some(record.revision));
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
                without_beat(before) != without_beat(now)
            }
            Key::Kind(name) => {
                let now: Option<Seen<KindRecord>> = self.read(record);
                let now = now.filter(|now| (1..=SHARDS_MAX).contains(&now.value.shards));
                let kind = self.kinds.entry(name).or_default();
                apply_to(&mut kind.record, now, record.revision)
            }
            Key::Shard(name, number) => {
                let now = self.read(record);
                let kind = self.kinds.entry(name).or_default();
                let number = number as usize;
                if kind.shards.len() <= number {
                    kind.shards.resize(number + 1, None);
                }
                apply_to(&mut kind.shards[number], now, record.revision)
            }
        }
    }

    /// Decodes a record. Returns `None` if it was deleted.
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

/// Replaces a value, unless a later one is known. Returns true if it was replaced.
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
