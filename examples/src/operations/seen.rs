//! Reads snapshots of telemetry.

use garrick::telemetry::{Node, Snapshot};

/// Returns the node with this name.
pub(super) fn node<'a>(seen: &'a Snapshot, name: &str) -> Option<&'a Node> {
    seen.nodes.iter().find(|node| node.name == name)
}

/// Returns the sentence of the alert about this value of a node.
pub(super) fn alert<'a>(seen: &'a Snapshot, node: &Node, probe: &str) -> Option<&'a str> {
    let mut alerts = seen.alerts.iter();
    let alert = alerts.find(|alert| alert.on == node.id && alert.probe == probe);
    alert.map(|alert| &*alert.text)
}
