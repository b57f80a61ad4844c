//! Reads snapshots of telemetry.

use garrick::telemetry::{Node, Snapshot};

/// Returns the node with the given name.
pub(super) fn node<'a>(seen: &'a Snapshot, name: &str) -> Option<&'a Node> {
    seen.nodes.iter().find(|node| node.name == name)
}

/// Returns the text of the alert about the probe `probe` of a node, if there is such an alert.
pub(super) fn alert<'a>(seen: &'a Snapshot, node: &Node, probe: &str) -> Option<&'a str> {
    let mut alerts = seen.alerts.iter();
    let alert = alerts.find(|alert| alert.on == node.id && alert.probe == probe);
    alert.map(|alert| &*alert.text)
}
