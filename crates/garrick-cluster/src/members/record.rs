//! Records of members, kinds and shards.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use garrick_wire::{Wire, from_slice, to_vec};

use crate::name::NodeName;

/// Maximum number of kinds that a node can use.
pub(crate) const KINDS_MAX: usize = 256;

/// Maximum number of shards of a kind of entities.
pub(crate) const SHARDS_MAX: u32 = 1_024;

/// Range of the versions of a kind of entities that a node can run.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[wire(name = "garrick.Versions")]
pub(crate) struct Versions {
    /// Oldest version that the node can read.
    pub(crate) min: u32,
    /// Newest version that the node can read.
    pub(crate) max: u32,
}

impl Versions {
    /// Default versions of a kind of entities, for a program that has set no versions.
    pub(crate) const NONE: Self = Self { min: 1, max: 1 };

    /// Returns true if a node with these versions can read `version`.
    pub(crate) fn include(self, version: u32) -> bool {
        (self.min..=self.max).contains(&version)
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

/// Content of the record of a member: a node that runs or uses entities.
#[derive(Wire, Clone, Debug, Default, PartialEq, Eq)]
#[wire(name = "garrick.Member", version = 3)]
pub(crate) struct Member {
    /// Incarnation of the node: a number that differs each time the node starts.
    #[wire(1)]
    pub(crate) life: u64,
    /// Number of this membership in the sequence of all memberships of the same incarnation.
    #[wire(2)]
    pub(crate) attempt: u64,
    /// Revision of the first record of this membership. In this first record itself, the field is
    /// 0.
    #[wire(3)]
    pub(crate) epoch: u64,
    /// Counter that grows with each renewal.
    #[wire(4)]
    pub(crate) beat: u64,
    /// True if the node hands its shards over.
    #[wire(5)]
    pub(crate) is_draining: bool,
    /// Kinds whose entities the node runs.
    #[wire(6)]
    pub(crate) hosts: Vec<String>,
    /// Kinds of entities to which the node sends messages.
    #[wire(7)]
    pub(crate) uses: Vec<String>,
    /// Fence of the node: a number that the records of its shards of fenced kinds contain. If the
    /// node is silent, another member increases the fence. After the increase, these shards have no
    /// owner.
    #[wire(8, default)]
    pub(crate) fence: u64,
    /// True if another member has increased the node's fence, and the node has not renewed its
    /// record since the increase. As long as the field is true, the node gets no shards of fenced
    /// kinds.
    #[wire(9, default)]
    pub(crate) is_suspect: bool,
    /// Kinds that the node runs and whose journals refuse events of earlier owners.
    #[wire(10, default)]
    pub(crate) fenced: Vec<String>,
    /// Versions of the kinds in `hosts`, in the same order.
    #[wire(11, default)]
    pub(crate) versions: Vec<Versions>,
}

/// Content of the record of a kind of entities.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[wire(name = "garrick.Kind", version = 3)]
pub(crate) struct KindRecord {
    /// Number of shards, which never changes.
    #[wire(1)]
    pub(crate) shards: u32,
    /// Newest version of the kind's journals that a node may have written. Never decreases.
    #[wire(2, default = first)]
    pub(crate) version: u32,
}

fn first() -> u32 {
    Versions::NONE.max
}

/// Content of a shard's record.
#[derive(Wire, Clone, Debug, Default, PartialEq, Eq)]
#[wire(name = "garrick.Shard", version = 3)]
pub(crate) struct Shard {
    /// Name of the node that owns the shard.
    #[wire(1)]
    pub(crate) node: String,
    /// Epoch (the number) of the owner's membership. When the membership ends, the shard has no
    /// owner any more.
    #[wire(2)]
    pub(crate) epoch: u64,
    /// True if the owner hands the shard over.
    #[wire(3)]
    pub(crate) is_draining: bool,
    /// Value of the owner's fence (a number that other members increase to take over shards) when
    /// the owner claimed the shard. 0 if the kind is not fenced on the owner. If the owner's
    /// current fence is larger than this value, the shard has no owner.
    #[wire(4, default)]
    pub(crate) fence: u64,
}

/// A parsed key of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Member(NodeName),
    Kind(Arc<str>),
    Shard(Arc<str>, u32),
}

impl Key {
    pub(crate) fn text(&self) -> Arc<str> {
        match self {
            Self::Member(name) => format!("member.{name}").into(),
            Self::Kind(kind) => format!("kind.{kind}").into(),
            Self::Shard(kind, number) => format!("shard.{kind}.{number}").into(),
        }
    }

    /// Parses a key. Returns `None` if the text is not the key of a member, kind or shard.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let key = match (parts.next()?, parts.next()?, parts.next()) {
            ("member", name, None) => Self::Member(NodeName::new(name).ok()?),
            ("kind", kind, None) => Self::Kind(kind.into()),
            ("shard", kind, Some(number)) => {
                let number = number.parse().ok().filter(|number| *number < SHARDS_MAX)?;
                Self::Shard(kind.into(), number)
            }
            _ => return None,
        };
        (parts.next().is_none()).then_some(key)
    }
}

pub(crate) fn encode<R: Wire>(record: R) -> Bytes {
    // These types have no part that cannot be encoded, and are far below all limits.
    to_vec(record).unwrap_or_default().into()
}

/// Decodes the content of a record. Returns `None` if the content is damaged or has another format.
pub(crate) fn decode<R: Wire>(value: &[u8]) -> Option<R> {
    from_slice(value).ok()
}

#[cfg(test)]
mod tests {
    use super::{Key, KindRecord, Member, NodeName, Shard, Versions, Wire, decode, encode};

    /// Content of the record of a kind of entities, as old releases wrote it: without a version.
    #[derive(Wire)]
    #[wire(name = "garrick.Kind", version = 2)]
    struct OlderKind {
        #[wire(1)]
        shards: u32,
    }

    #[test]
    fn keys_are_read_as_they_were_written() {
        let keys = [
            Key::Member(NodeName::new("bank-1").unwrap()),
            Key::Kind("account".into()),
            Key::Shard("account".into(), 255),
        ];
        for key in keys {
            assert_eq!(Key::read(&key.text()), Some(key));
        }
        for text in [
            "",
            "member",
            "member.",
            "member.a.b",
            "kind.a.b",
            "shard.a",
            "shard.a.b",
            "shard.a.-1",
            "shard.a.1024",
            "shard.a.1.2",
            "other.a",
        ] {
            assert_eq!(Key::read(text), None, "{text}");
        }
    }

    #[test]
    fn records_are_decoded_as_they_were_encoded() {
        let member = Member {
            life: 1,
            attempt: 2,
            epoch: 3,
            beat: 4,
            is_draining: true,
            hosts: vec!["a".into()],
            uses: vec!["a".into(), "b".into()],
            fence: 5,
            is_suspect: true,
            fenced: vec!["b".into()],
            versions: vec![Versions { min: 1, max: 2 }],
        };
        assert_eq!(decode(&encode(member.clone())), Some(member));
        assert_eq!(decode::<Shard>(b"other"), None);
    }

    #[test]
    fn a_record_of_an_older_node_has_the_first_version() {
        let older = encode(OlderKind { shards: 7 });
        let (shards, version) = (7, 1);
        assert_eq!(decode(&older), Some(KindRecord { shards, version }));
    }
}
