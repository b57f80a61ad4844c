//! The values that a threshold can be set on.

use crate::snapshot::{Edge, Level, Node, Snapshot, SponsorStatus, State};

use super::Of;

/// A value of nodes, edges, sponsors or the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Probe {
    /// The share of a channel's capacity that is full, 0 to 1.
    Fill,
    /// The 80th percentile of that over the window.
    FillP80,
    /// The 95th.
    FillP95,
    /// Messages a second, of edges and nodes.
    Rate,
    /// Turns or steps a second, of nodes and sponsors.
    TurnRate,
    /// The share of a core that a node is busy.
    Busy,
    /// The share of the window that a sponsor's threads rested, 0 to 1.
    Idle,
    /// Messages that wait in the mailboxes of a group of actors.
    Depth,
    /// How many actors a group has.
    Alive,
    /// How often a node was started again.
    Restarts,
    /// How many turns or steps of a node took long.
    Slow,
    /// 1 for a node that has failed, 0 for another.
    Failed,
    /// Resident memory of the process in bytes.
    ResidentBytes,
    /// Cores that the process uses.
    Cpu,
}

/// One value: what it is of, and how to mark that.
pub(super) struct Found<'a> {
    pub(super) of: Of,
    /// The id; of the process, `process`.
    pub(super) id: &'a str,
    pub(super) name: String,
    pub(super) value: f64,
}

impl Probe {
    /// Its name in alerts: that of the field of the snapshot, where there is one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::FillP80 => "fill_p80",
            Self::FillP95 => "fill_p95",
            Self::Rate => "rate",
            Self::TurnRate => "turn_rate",
            Self::Busy => "busy",
            Self::Idle => "idle",
            Self::Depth => "depth",
            Self::Alive => "alive",
            Self::Restarts => "restarts",
            Self::Slow => "slow",
            Self::Failed => "failed",
            Self::ResidentBytes => "resident_bytes",
            Self::Cpu => "cpu",
        }
    }

    /// Calls `found` with each value of this kind in `snapshot`.
    pub(super) fn each(self, snapshot: &Snapshot, mut found: impl FnMut(&Found<'_>)) {
        for node in &snapshot.nodes {
            self.of_node(node).into_iter().for_each(|value| {
                let name = node.name.clone();
                found(&Found {
                    of: Of::Nodes,
                    id: &node.id,
                    name,
                    value,
                });
            });
        }
        for edge in &snapshot.edges {
            self.of_edge(edge).into_iter().for_each(|value| {
                let name = name_of(snapshot, edge);
                found(&Found {
                    of: Of::Edges,
                    id: &edge.id,
                    name,
                    value,
                });
            });
        }
        for sponsor in &snapshot.sponsors {
            self.of_sponsor(sponsor).into_iter().for_each(|value| {
                let name = sponsor.name.clone();
                found(&Found {
                    of: Of::Sponsors,
                    id: &sponsor.id,
                    name,
                    value,
                });
            });
        }
        if let Some(value) = self.of_process(snapshot) {
            let name = snapshot.process.name.clone();
            found(&Found {
                of: Of::Process,
                id: "process",
                name,
                value,
            });
        }
    }

    fn of_node(self, node: &Node) -> Option<f64> {
        match self {
            Self::Rate => Some(node.rate),
            Self::TurnRate => Some(node.turn_rate),
            Self::Busy => node.busy,
            Self::Depth => node.depth.map(|depth| depth as f64),
            Self::Alive => node.alive.map(|alive| alive as f64),
            Self::Restarts => Some(node.restarts as f64),
            Self::Slow => Some(node.slow as f64),
            Self::Failed => Some(f64::from(u8::from(node.state == State::Failed))),
            _ => None,
        }
    }

    fn of_edge(self, edge: &Edge) -> Option<f64> {
        match self {
            Self::Fill => Some(edge.fill as f64 / edge.capacity.max(1) as f64),
            Self::FillP80 => Some(edge.fill_p80),
            Self::FillP95 => Some(edge.fill_p95),
            Self::Rate => Some(edge.rate),
            _ => None,
        }
    }

    fn of_sponsor(self, sponsor: &SponsorStatus) -> Option<f64> {
        match self {
            Self::Idle => sponsor.idle,
            Self::TurnRate => Some(sponsor.turn_rate),
            _ => None,
        }
    }

    fn of_process(self, snapshot: &Snapshot) -> Option<f64> {
        match self {
            Self::ResidentBytes => snapshot.process.resident_bytes.map(|bytes| bytes as f64),
            Self::Cpu => snapshot.process.cpu,
            _ => None,
        }
    }
}

/// An edge's name, or `sender -> receiver`.
fn name_of(snapshot: &Snapshot, edge: &Edge) -> String {
    let named = |id: &Option<String>| {
        let node = snapshot
            .nodes
            .iter()
            .find(|node| Some(&node.id) == id.as_ref());
        node.map_or("?", |node| node.name.as_str())
    };
    let name = edge.name.clone();
    name.unwrap_or_else(|| format!("{} -> {}", named(&edge.from), named(&edge.to)))
}

/// Marks the node or edge `id` as being at `level`, if it is not at a worse one.
pub(super) fn mark(snapshot: &mut Snapshot, id: &str, level: Level) {
    let nodes = snapshot.nodes.iter_mut().filter(|node| node.id == id);
    nodes.for_each(|node| node.level = node.level.max(level));
    let edges = snapshot.edges.iter_mut().filter(|edge| edge.id == id);
    edges.for_each(|edge| edge.level = edge.level.max(level));
}
