//! The plan determines which node should own a shard.

use garrick_core::random::mix;

use crate::name::NodeName;

/// Returns a hash of a text. The hash (FNV-1a with mixed bits) is the same on all machines and in
/// all versions.
pub(crate) fn hash(text: &str) -> u64 {
    let fnv = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mix(fnv)
}

/// A node that can own shards, with the hash of its name.
pub(crate) struct Candidate {
    name: NodeName,
    hash: u64,
}

impl Candidate {
    pub(crate) fn new(name: &NodeName) -> Self {
        Self {
            name: name.clone(),
            hash: hash(name.as_str()),
        }
    }
}

/// Returns the node that should own a shard: the node with the largest combined hash of node and
/// shard (rendezvous hashing). `kind` is the hash of the name of the kind of entities. Returns
/// `None` if there are no nodes. If a node joins or leaves, only shards of that node move.
pub(crate) fn ideal(kind: u64, shard: u32, nodes: &[Candidate]) -> Option<&NodeName> {
    let of_shard = mix(kind ^ u64::from(shard));
    let weight = |node: &&Candidate| mix(node.hash ^ of_shard);
    let best = nodes.iter().max_by_key(|node| (weight(node), &node.name));
    best.map(|node| &node.name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{Candidate, NodeName, hash, ideal};

    fn owners(nodes: &[NodeName]) -> Vec<NodeName> {
        let kind = hash("account");
        let nodes: Vec<_> = nodes.iter().map(Candidate::new).collect();
        let owner = |shard| ideal(kind, shard, &nodes).unwrap().clone();
        (0..256).map(owner).collect()
    }

    #[test]
    fn a_hash_never_changes() {
        assert_eq!(hash(""), 0xc381_7c01_6ba4_ff30);
        assert_eq!(hash("alice"), 0x1a04_6f57_3e1e_5475);
    }

    #[test]
    fn only_the_shards_of_a_new_node_move() {
        let nodes: Vec<_> = (0..5)
            .map(|number| NodeName::new(&format!("node-{number}")).unwrap())
            .collect();
        let (before, after) = (owners(&nodes[..4]), owners(&nodes));
        let mut moved = 0;
        for (before, after) in before.iter().zip(&after) {
            if before != after {
                assert_eq!(after, &nodes[4]);
                moved += 1;
            }
        }
        assert!((25..=80).contains(&moved), "{moved}");
        let mut counts: HashMap<&NodeName, u32> = HashMap::new();
        for owner in &after {
            *counts.entry(owner).or_default() += 1;
        }
        assert!(
            counts.values().all(|count| (30..=80).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn without_nodes_there_is_no_owner() {
        assert_eq!(ideal(1, 1, &[]), None);
    }
}
