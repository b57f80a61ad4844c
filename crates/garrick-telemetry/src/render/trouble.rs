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
    // Two systems may have the same name, and a system may be watched twice. Prometheus refuses
    // everything if two series have the same labels.
    let mut restarts: BTreeMap<&str, u64> = BTreeMap::new();
    for child in &snapshot.supervision.restarted {
        let most = restarts.entry(&child.path).or_default();
        *most = child.restarts.max(*most);
    }
    for (path, count) in restarts {
        to.counter(NAME, &[("path", path)], count as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RestartedChild;
    use crate::render::exposition::Format;

    #[test]
    fn a_child_that_is_known_twice_has_one_series() {
        let mut snapshot = Snapshot::default();
        snapshot.supervision.restarted = [3, 5, 2]
            .map(|restarts| RestartedChild {
                path: "pool/user/shop#1".to_owned(),
                restarts,
            })
            .into();
        let mut to = Exposition::new(Format::Text);
        add_child_restarts(&mut to, &snapshot);
        let text = to.end();
        let series: Vec<&str> = (text.lines())
            .filter(|line| !line.starts_with('#'))
            .collect();
        assert_eq!(series.len(), 1, "{text}");
        assert!(series[0].ends_with(" 5"), "{text}");
    }
}
