//! The overview of a cluster, made from the records of its members, kinds and shards.

use std::collections::BTreeMap;
use std::time::Duration;

use super::record::{Key, encode};
use super::view::View;
use crate::name::NodeName;
use crate::placement::{Change, Record};

/// Members, kinds and shards of a cluster, as the records of its placement describe them.
///
/// Any program that can read the records can create an overview, even if it is not a member. With
/// NATS, use `NatsObserver`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overview {
    /// The members, sorted by name.
    pub members: Vec<MemberOverview>,
    /// The kinds of entities, sorted by name.
    pub kinds: Vec<KindOverview>,
    /// Number of records that could not be decoded.
    pub unreadable: u64,
}

/// A member of a cluster, as its record describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberOverview {
    /// Name of the node.
    pub name: NodeName,
    /// Number of the node's incarnation, which grows each time the node starts.
    pub life: u64,
    /// Number that identifies the node's membership. The number grows when the node loses its
    /// membership and joins again.
    pub epoch: u64,
    /// Number of times that the node has renewed its membership.
    pub beat: u64,
    /// True if the node is handing its shards over to other nodes.
    pub is_draining: bool,
    /// Names of the kinds of entities that the node runs.
    pub hosts: Vec<String>,
    /// Kinds of entities to which the node sends messages.
    pub uses: Vec<String>,
    /// Number of shards of all kinds that the node owns.
    pub owned: usize,
    /// Time from the last change of the member's record to the newest change of any record. The
    /// actual silence of the member is longer if no record has changed recently. `None` if the
    /// times of the changes are not known, as after [`Overview::read`].
    pub silent_for: Option<Duration>,
}

/// A kind of entities and its shards, as the records describe them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindOverview {
    /// Name of the kind of entities.
    pub name: String,
    /// The shards, sorted by index. Empty if the number of shards is not set yet.
    pub shards: Vec<ShardOverview>,
}

/// The owner of a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardOverview {
    /// No node owns the shard.
    Nobody,
    /// A node owns the shard.
    Owned(NodeName),
    /// A node owns the shard, and is handing it over.
    HandedOver(NodeName),
}

/// Result of [`Overview::drain`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DrainOrder {
    /// The change of the member's record that orders the node to drain.
    Change(Change),
    /// The node is already draining.
    Given,
    /// No member has this name.
    NoMember,
}

impl KindOverview {
    /// Returns the number of shards of the kind that no node owns.
    #[must_use]
    pub fn unowned(&self) -> usize {
        let is_unowned = |shard: &&ShardOverview| **shard == ShardOverview::Nobody;
        self.shards.iter().filter(is_unowned).count()
    }

    /// Returns the number of shards of the kind that are being handed over.
    #[must_use]
    pub fn handed_over(&self) -> usize {
        let is_handed_over = |shard: &&ShardOverview| shard.is_handed_over();
        self.shards.iter().filter(is_handed_over).count()
    }
}

impl ShardOverview {
    /// Returns the owner of the shard, if there is one.
    #[must_use]
    pub fn owner(&self) -> Option<&NodeName> {
        match self {
            Self::Nobody => None,
            Self::Owned(node) | Self::HandedOver(node) => Some(node),
        }
    }

    /// Returns true if the owner is handing the shard over.
    #[must_use]
    pub fn is_handed_over(&self) -> bool {
        matches!(self, Self::HandedOver(_))
    }
}

impl Overview {
    /// Creates an overview from all records of a placement. Ignores records that are not about
    /// members, kinds or shards.
    #[must_use]
    pub fn read(records: &[Record]) -> Self {
        let view = view(records);
        let kinds = names(records).into_iter().map(|kind| KindOverview {
            shards: shards(&view, kind),
            name: kind.to_owned(),
        });
        let kinds: Vec<_> = kinds.collect();
        let mut owned: BTreeMap<&NodeName, usize> = BTreeMap::new();
        for owner in kinds.iter().flat_map(|kind| &kind.shards) {
            if let Some(owner) = owner.owner() {
                *owned.entry(owner).or_default() += 1;
            }
        }
        let members = view.members().map(|(name, seen)| MemberOverview {
            name: name.clone(),
            life: seen.value.life,
            epoch: seen.epoch(),
            beat: seen.value.beat,
            is_draining: seen.value.is_draining,
            hosts: seen.value.hosts.clone(),
            uses: seen.value.uses.clone(),
            owned: owned.get(name).copied().unwrap_or(0),
            silent_for: None,
        });
        let mut members: Vec<_> = members.collect();
        members.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Self {
            members,
            kinds,
            unreadable: view.unreadable(),
        }
    }

    /// Returns the change that orders a node to [drain](crate::Entities::drain). The change applies
    /// to the member's record of that node. `records` must contain all records of the placement.
    /// The node renews its record each second, so the change may be refused. If the change is
    /// refused, read the records again, and retry. A node with an older version of Garrick does not
    /// know this order, and overwrites the change.
    #[must_use]
    pub fn drain(records: &[Record], node: &str) -> DrainOrder {
        let view = view(records);
        let member = NodeName::new(node).ok();
        let Some(seen) = member.as_ref().and_then(|name| view.member(name)) else {
            return DrainOrder::NoMember;
        };
        if seen.value.is_draining {
            return DrainOrder::Given;
        }
        let mut value = seen.value.clone();
        // Only the first record of a membership has no epoch.
        value.epoch = seen.epoch();
        value.is_draining = true;
        DrainOrder::Change(Change {
            key: format!("member.{node}").into(),
            expected: seen.revision,
            value: Some(encode(value)),
            ticket: 0,
        })
    }
}

fn view(records: &[Record]) -> View {
    let mut view = View::default();
    view.apply(records, 1, true, |_, _| {});
    view
}

/// Returns the names of all kinds that occur in the records, sorted.
fn names(records: &[Record]) -> Vec<&str> {
    let kind = |record: &'_ Record| match Key::read(&record.key) {
        Some(Key::Kind(_) | Key::Shard(..)) => true,
        Some(Key::Member(_)) | None => false,
    };
    let named = records
        .iter()
        .filter(|record| record.value.is_some() && kind(record));
    let mut names: Vec<&str> = named
        .filter_map(|record| record.key.split('.').nth(1))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn shards(view: &View, kind: &str) -> Vec<ShardOverview> {
    let count = view.shards(kind).unwrap_or(0);
    let shard = |number| match view.owner(kind, number) {
        None => ShardOverview::Nobody,
        Some((node, seen)) if seen.value.is_draining => ShardOverview::HandedOver(node.clone()),
        Some((node, _)) => ShardOverview::Owned(node.clone()),
    };
    (0..count).map(shard).collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::{KindRecord, Member, Shard, decode};
    use super::{Change, DrainOrder, NodeName, Overview, Record, ShardOverview, encode};

    const KIND: KindRecord = KindRecord {
        shards: 4,
        version: 1,
    };

    fn record(key: &str, revision: u64, value: bytes::Bytes) -> Record {
        Record {
            key: key.into(),
            revision,
            value: Some(value),
        }
    }

    fn member(epoch: u64) -> Member {
        Member {
            life: 7,
            attempt: 1,
            epoch,
            beat: 3,
            hosts: vec!["account".into()],
            ..Member::default()
        }
    }

    fn shard(node: &str, epoch: u64, is_draining: bool) -> bytes::Bytes {
        encode(Shard {
            node: node.into(),
            epoch,
            is_draining,
            ..Shard::default()
        })
    }

    fn records() -> Vec<Record> {
        vec![
            record("kind.account", 1, encode(KIND)),
            record("member.b", 2, encode(member(0))),
            record("shard.account.0", 3, shard("a", 9, false)),
            record("shard.account.1", 4, shard("b", 2, true)),
            record("shard.account.2", 5, shard("b", 1, false)),
            record("member.a", 12, encode(member(9))),
            record("member.c", 13, bytes::Bytes::from_static(b"?")),
            record("other.c", 14, bytes::Bytes::from_static(b"?")),
        ]
    }

    #[test]
    fn an_overview_has_members_and_the_owners_of_shards() {
        let overview = Overview::read(&records());
        let [a, b] = ["a", "b"].map(|name| NodeName::new(name).unwrap());
        let members = overview.members.iter();
        let members: Vec<_> =
            (members.map(|member| (&member.name, member.epoch, member.owned))).collect();
        assert_eq!(members, [(&a, 9, 1), (&b, 2, 1)]);
        let [kind] = &overview.kinds[..] else {
            panic!("{overview:?}")
        };
        // The owner of the third shard had an earlier membership, and the fourth has no record.
        let shards = [
            ShardOverview::Owned(a),
            ShardOverview::HandedOver(b),
            ShardOverview::Nobody,
            ShardOverview::Nobody,
        ];
        assert_eq!(
            (kind.name.as_str(), &kind.shards[..]),
            ("account", &shards[..])
        );
        assert_eq!((kind.unowned(), kind.handed_over()), (2, 1));
        assert_eq!(overview.unreadable, 1);
        assert_eq!(Overview::read(&[]), Overview::default());
    }

    #[test]
    fn an_order_to_drain_keeps_the_membership() {
        let records = records();
        let DrainOrder::Change(change) = Overview::drain(&records, "b") else {
            panic!("b is a member")
        };
        let Change {
            key,
            expected,
            value,
            ..
        } = change;
        assert_eq!((&*key, expected), ("member.b", 2));
        let value = value.unwrap();
        let ordered = Member {
            is_draining: true,
            ..member(2)
        };
        assert_eq!(decode(&value), Some(ordered));
        let after = [record("member.b", 3, value)];
        assert_eq!(Overview::drain(&after, "b"), DrainOrder::Given);
        for name in ["c", "d", "", "a.b"] {
            assert_eq!(Overview::drain(&records, name), DrainOrder::NoMember);
        }
    }
}
