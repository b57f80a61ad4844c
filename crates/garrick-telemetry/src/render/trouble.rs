//! Renders dead letters and restarted children in the formats of Prometheus.

use std::collections::BTreeMap;

use crate::snapshot::Snapshot;

use super::exposition::{Exposition, Type};

/// Adds the counters of dead letters and of restarted children.
pub(super) fn add(to: &mut Exposition, snapshot: &Snapshot) {
    add_dead_letters(to, snapshot);
    add_child_restarts(to, snapshot);
}

fn add_dead_letters(to: &mut Exposition, snapshot: &Snapshot) {
    const NAME: &str = "garrick_dead_letters";
    let help = "Accepted messages that were not handled, by type of the receiver and by reason.";
    to.head(NAME, Type::Counter, help);
    // Two types may have the same short name.
    let mut counts: BTreeMap<[&str; 3], u64> = BTreeMap::new();
    for letters in &snapshot.dead_letters {
        let key = [&*letters.place, &*letters.name, &*letters.reason];
        *counts.entry(key).or_default() += letters.count;
    }
    for ([place, name, reason], count) in counts {
        let labels = [("place", place), ("type", name), ("reason", reason)];
        to.counter(NAME, &labels, count as f64);
    }
}

fn add_child_restarts(to: &mut Exposition, snapshot: &Snapshot) {
    const NAME: &str = "garrick_child_restarts";
    let help = "Restarts of a child by its supervisor. Only the 100 children with the most restarts are exported.";
    to.head(NAME, Type::Counter, help);
    for child in &snapshot.supervision.restarted {
        to.counter(NAME, &[("path", &child.path)], child.restarts as f64);
    }
}
