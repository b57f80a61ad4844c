//! The rules of disks: their space, their speed, and their faults.

use garrick_sched::Nanos;
use std::ops::Range;

/// The rule of a disk: its space, its speed and its faults.
#[derive(Debug, Clone, Default)]
pub(super) struct Rule {
    /// Maximum total length of all files in bytes. `None` if the disk has no limit.
    pub(super) full: Option<u64>,
    pub(super) tears: bool,
    pub(super) reorders: bool,
    /// True if a crash loses all unsynced data.
    pub(super) loses_all: bool,
    /// Probability in per mille that the node crashes at an operation.
    pub(super) crashes: u32,
    /// Probability in per mille that an operation other than a sync fails.
    pub(super) fails: u32,
    /// Probability in per mille that a sync fails.
    pub(super) sync_fails: u32,
    /// Probability in per mille that a sync does nothing.
    pub(super) sync_lies: u32,
    /// Range of the time that an operation takes. `None` if operations take no time.
    pub(super) slow: Option<Range<Nanos>>,
}

/// The rules of all disks of a run.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// The rules, each with the name of the node whose disk it describes. A rule with `None`
    /// applies to the disks of all nodes that have no rule of their own.
    rules: Vec<(Option<String>, Rule)>,
}

impl Rules {
    /// Returns the rule for the disk of `node`, or for the disks of all nodes if `node` is `None`.
    /// Creates the rule if it does not exist.
    pub(super) fn entry(&mut self, node: Option<&str>) -> &mut Rule {
        let at = self.position(node).unwrap_or_else(|| {
            self.rules.push((node.map(str::to_owned), Rule::default()));
            self.rules.len() - 1
        });
        &mut self.rules[at].1
    }

    /// Returns the rule for the disk of `node`: its own rule, or else the rule for all nodes.
    /// Returns the default rule if there is neither.
    pub(super) fn of(&self, node: &str) -> Rule {
        let found = self.position(Some(node)).or_else(|| self.position(None));
        found.map_or_else(Rule::default, |at| self.rules[at].1.clone())
    }

    /// Returns the names of the nodes that have their own rules.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter_map(|(node, _)| node.as_deref())
    }

    fn position(&self, node: Option<&str>) -> Option<usize> {
        self.rules
            .iter()
            .position(|(name, _)| name.as_deref() == node)
    }
}
