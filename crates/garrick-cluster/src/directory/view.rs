//! The view of a directory: the latest known services and names of all members.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::record::{Holder, INSTANCES_MAX, Instance, Key, Registered, Served, ServiceKey};
use garrick_wire::MessageId;

use crate::members::{Member, MemberKey, decode};
use crate::name::NodeName;
use crate::placement::Record;

/// Membership of a node: the incarnation of the node, and the epoch (the number) of the membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Membership {
    pub(super) life: u64,
    pub(super) epoch: u64,
}

/// The record of a key and a node: the actors that the node offers under the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) revision: u64,
    /// The content of the record. `None` if it cannot be decoded.
    pub(super) served: Option<Served>,
}

/// The record of a name: which actor has the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeenName {
    pub(super) revision: u64,
    /// The content of the record. `None` if it cannot be decoded.
    pub(super) registered: Option<Registered>,
}

/// Keys and names whose records may have changed.
#[derive(Default)]
pub(super) struct Changed {
    pub(super) services: BTreeSet<ServiceKey>,
    pub(super) names: BTreeSet<Arc<str>>,
}

/// The latest known services and names of all members. The view can be out of date.
#[derive(Default)]
pub(super) struct View {
    /// Revision up to which the view contains all changes.
    revision: u64,
    /// True after the records were read for the first time.
    is_read: bool,
    members: BTreeMap<NodeName, Membership>,
    services: BTreeMap<ServiceKey, BTreeMap<NodeName, Seen>>,
    names: BTreeMap<Arc<str>, SeenName>,
}

impl View {
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn is_read(&self) -> bool {
        self.is_read
    }

    pub(super) fn member(&self, node: &NodeName) -> Option<Membership> {
        self.members.get(node).copied()
    }

    /// Returns the record of the key `key` and the node `node`: the actors that the node offers
    /// under the key.
    pub(super) fn record(&self, key: &ServiceKey, node: &NodeName) -> Option<&Seen> {
        self.services.get(key)?.get(node)
    }

    /// Returns the keys for which a node has a record.
    pub(super) fn keys_of(&self, node: &NodeName) -> Vec<ServiceKey> {
        let services = self.services.iter();
        let has_record = services.filter(|(_, nodes)| nodes.contains_key(node));
        has_record.map(|(key, _)| key.clone()).collect()
    }

    /// Returns true if the record `seen` of the node `node` is valid: the membership in which the
    /// record was written has not ended.
    fn holds(&self, node: &NodeName, seen: &Seen) -> bool {
        let epoch = seen.served.as_ref().map(|served| served.epoch);
        let member = self.members.get(node);
        member.is_some_and(|member| Some(member.epoch) == epoch)
    }

    /// Returns the actors that members other than `own` offer under a key, sorted by node name.
    pub(super) fn present(&self, key: &ServiceKey, own: &NodeName) -> Vec<Instance> {
        let nodes = self.services.get(key).into_iter().flatten();
        let others = nodes.filter(|(node, seen)| *node != own && self.holds(node, seen));
        let instances = others.flat_map(|(node, seen)| {
            let served = seen.served.iter();
            served.flat_map(move |Served { life, numbers, .. }| {
                let numbers = numbers.iter().take(INSTANCES_MAX);
                numbers.map(move |number| Instance {
                    node: node.clone(),
                    life: *life,
                    number: *number,
                })
            })
        });
        let mut instances: Vec<_> = instances.collect();
        // Another node may be wrong about anything.
        instances.sort_unstable();
        instances.dedup();
        instances
    }

    /// Returns the record of a name.
    pub(super) fn name(&self, name: &str) -> Option<&SeenName> {
        self.names.get(name)
    }

    /// Returns the names for which a node has a record.
    pub(super) fn names_of(&self, node: &NodeName) -> Vec<Arc<str>> {
        let is_of = |seen: &SeenName| {
            let registered = seen.registered.as_ref();
            registered.is_some_and(|registered| registered.node == node.as_str())
        };
        let names = self.names.iter().filter(|(_, seen)| is_of(seen));
        names.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the actor that has a name, if the membership of the actor's node has not ended.
    pub(super) fn holder(&self, name: &str) -> Option<Holder> {
        let registered = self.names.get(name)?.registered.as_ref()?;
        let (node, member) = self.members.get_key_value(registered.node.as_str())?;
        (member.epoch == registered.epoch).then(|| Holder {
            of: MessageId::from_bytes(registered.of.to_be_bytes()),
            instance: Instance {
                node: node.clone(),
                life: registered.life,
                number: registered.number,
            },
        })
    }

    /// Returns the key and the revision of each invalid record of another node. A record is invalid
    /// if it cannot be decoded, or if the membership in which it was written has ended.
    pub(super) fn dead(&self, own: &NodeName) -> Vec<(Arc<str>, u64)> {
        let mut dead = Vec::new();
        for (key, nodes) in &self.services {
            for (node, seen) in nodes {
                if node != own && !self.holds(node, seen) {
                    let key = Key::Served(node.clone(), key.clone());
                    dead.push((key.text(), seen.revision));
                }
            }
        }
        for (name, seen) in &self.names {
            let is_own = seen
                .registered
                .as_ref()
                .is_some_and(|registered| registered.node == own.as_str());
            if !is_own && self.holder(name).is_none() {
                dead.push((Key::Name(name.clone()).text(), seen.revision));
            }
        }
        dead
    }

    /// Applies `records`, which contain all changes up to the revision `revision`, or all records
    /// if `is_whole` is true. Returns the keys and names whose records may have changed.
    pub(super) fn apply(&mut self, records: &[Record], revision: u64, is_whole: bool) -> Changed {
        let mut changed = Changed::default();
        if revision < self.revision {
            // An older answer, which came late.
            return changed;
        }
        if is_whole {
            self.remove_missing(records, &mut changed);
        }
        for record in records {
            self.apply_one(record, &mut changed);
        }
        (self.revision, self.is_read) = (revision, true);
        changed
    }

    /// Removes from the view all records that `records` does not contain.
    fn remove_missing(&mut self, records: &[Record], changed: &mut Changed) {
        let keys: BTreeSet<&str> = records.iter().map(|record| &*record.key).collect();
        let members = self.members.keys().cloned();
        for node in members.collect::<Vec<_>>() {
            if !keys.contains(&*MemberKey::Member(node.clone()).text()) {
                self.set_member(&node, None, changed);
            }
        }
        self.services.retain(|key, nodes| {
            nodes.retain(|node, _| {
                let text = Key::Served(node.clone(), key.clone()).text();
                let stays = keys.contains(&*text);
                if !stays {
                    changed.services.insert(key.clone());
                }
                stays
            });
            !nodes.is_empty()
        });
        self.names.retain(|name, _| {
            let stays = keys.contains(&*Key::Name(name.clone()).text());
            if !stays {
                changed.names.insert(name.clone());
            }
            stays
        });
    }

    /// Applies a change of a record that this node itself has made. Returns the keys and names
    /// whose records may have changed.
    pub(super) fn apply_own(&mut self, record: &Record) -> Changed {
        let mut changed = Changed::default();
        self.apply_one(record, &mut changed);
        changed
    }

    /// Applies a record. Does nothing if a later state of the record is already known.
    fn apply_one(&mut self, record: &Record, changed: &mut Changed) {
        if let Some(MemberKey::Member(node)) = MemberKey::read(&record.key) {
            let member: Option<Member> = record.value.as_ref().and_then(|value| decode(value));
            let member = member.map(|member| Membership {
                life: member.life,
                epoch: match member.epoch {
                    0 => record.revision,
                    epoch => epoch,
                },
            });
            return self.set_member(&node, member, changed);
        }
        let (node, key) = match Key::read(&record.key) {
            Some(Key::Served(node, key)) => (node, key),
            Some(Key::Name(name)) => return self.apply_name(name, record, changed),
            None => return,
        };
        let nodes = self.services.entry(key.clone()).or_default();
        if (nodes.get(&node)).is_some_and(|seen| seen.revision >= record.revision) {
            return;
        }
        match &record.value {
            Some(value) => {
                let (revision, served) = (record.revision, decode(value));
                nodes.insert(node, Seen { revision, served });
            }
            None => drop(nodes.remove(&node)),
        }
        if nodes.is_empty() {
            self.services.remove(&key);
        }
        changed.services.insert(key);
    }

    /// Applies the record of a name to the view. Does nothing if the view already contains a later
    /// state of the record.
    fn apply_name(&mut self, name: Arc<str>, record: &Record, changed: &mut Changed) {
        if (self.names.get(&name)).is_some_and(|seen| seen.revision >= record.revision) {
            return;
        }
        match &record.value {
            Some(value) => {
                let seen = SeenName {
                    revision: record.revision,
                    registered: decode(value),
                };
                self.names.insert(name.clone(), seen);
            }
            None => drop(self.names.remove(&name)),
        }
        changed.names.insert(name);
    }

    fn set_member(&mut self, node: &NodeName, member: Option<Membership>, changed: &mut Changed) {
        let before = match member {
            Some(member) => self.members.insert(node.clone(), member),
            None => self.members.remove(node),
        };
        if before != member {
            changed.services.extend(self.keys_of(node));
            changed.names.extend(self.names_of(node));
        }
    }
}
