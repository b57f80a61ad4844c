//! Values that a threshold can apply to.

use crate::snapshot::{Edge, Level, Node, Snapshot, SponsorStatus, State};

use super::Of;

/// A kind of value that a [`Threshold`](crate::Threshold) checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Probe {
    /// Share of a channel's capacity that is filled now, 0 to 1.
    Fill,
    /// 80th percentile of [`Fill`](Self::Fill) over the window.
    FillP80,
    /// 95th percentile of [`Fill`](Self::Fill) over the window.
    FillP95,
    /// Messages per second of an edge or node.
    Rate,
    /// Turns or steps per second of a node or sponsor.
    TurnRate,
    /// Share of one core that a node uses. It can exceed 1 for a group of actors.
    Busy,
    /// Share of the window during which a sponsor's worker threads slept, 0 to 1. This is the
    /// average over the threads.
    Idle,
    /// Average number of messages that are in an actor's mailbox when a turn of the actor begins.
    /// The average is over a group of actors.
    Depth,
    /// Number of actors of a group that are alive.
    Alive,
    /// Total number of restarts of a node.
    Restarts,
    /// Total number of slow turns or steps of a node.
    Slow,
    /// Time in seconds for which a running turn of a group of actors has occupied its worker. If
    /// several turns are running, the longest time counts.
    HeldSeconds,
    /// Number of turns of a group of actors that are now blocked in `cx.blocking`, while their
    /// workers run other actors.
    Away,
    /// Time in seconds for which a turn of a group of actors has been blocked in `cx.blocking`. If
    /// several turns are blocked, the longest time counts.
    AwaySeconds,
    /// 1 for a failed node, 0 for any other node.
    Failed,
    /// Resident memory of the process in bytes.
    ResidentBytes,
    /// Number of cores that the process uses.
    Cpu,
}

/// A value, and the item that it belongs to: a node, an edge, a sponsor or the process.
pub(super) struct Found<'a> {
    pub(super) of: Of,
    /// Identifier of the item, or `process` for the process.
    pub(super) id: &'a str,
    pub(super) name: Name<'a>,
    pub(super) value: f64,
}

/// Name of an item. The name of an edge is composed only on demand, since most names are never
/// shown.
#[derive(Clone, Copy)]
pub(super) enum Name<'a> {
    Is(&'a str),
    OfEdge(&'a Snapshot, &'a Edge),
}

impl Name<'_> {
    /// Returns the name. An edge without a name is called `sender -> receiver`.
    pub(super) fn text(self) -> String {
        let (snapshot, edge) = match self {
            Self::Is(name) => return name.to_owned(),
            Self::OfEdge(snapshot, edge) => (snapshot, edge),
        };
        let named = |id: &Option<String>| {
            let mut nodes = snapshot.nodes.iter();
            let node = nodes.find(|node| Some(&node.id) == id.as_ref());
            node.map_or("?", |node| node.name.as_str())
        };
        let name = edge.name.clone();
        name.unwrap_or_else(|| format!("{} -> {}", named(&edge.from), named(&edge.to)))
    }
}

impl Probe {
    /// Returns the name of the probe in alerts. If the snapshot has a field for the value, the name
    /// equals the name of the field.
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
            Self::HeldSeconds => "held_seconds",
            Self::Away => "away",
            Self::AwaySeconds => "away_seconds",
            Self::Failed => "failed",
            Self::ResidentBytes => "resident_bytes",
            Self::Cpu => "cpu",
        }
    }

    /// Calls `found` with each value of this probe in `snapshot`.
    pub(super) fn each(self, snapshot: &Snapshot, mut found: impl FnMut(&Found<'_>)) {
        let mut tell = |of, id, name, value: Option<f64>| {
            if let Some(value) = value {
                found(&Found {
                    of,
                    id,
                    name,
                    value,
                });
            }
        };
        for node in &snapshot.nodes {
            tell(
                Of::Nodes,
                &node.id,
                Name::Is(&node.name),
                self.of_node(node),
            );
        }
        for edge in &snapshot.edges {
            let name = Name::OfEdge(snapshot, edge);
            tell(Of::Edges, &edge.id, name, self.of_edge(edge));
        }
        for sponsor in &snapshot.sponsors {
            let name = Name::Is(&sponsor.name);
            tell(Of::Sponsors, &sponsor.id, name, self.of_sponsor(sponsor));
        }
        let name = Name::Is(&snapshot.process.name);
        tell(Of::Process, "process", name, self.of_process(snapshot));
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
            Self::HeldSeconds => node.held_seconds,
            Self::Away => node.away.map(|away| away as f64),
            Self::AwaySeconds => node.away_seconds,
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

/// Raises the level of the node or edge `id` to `level`, unless its level is already worse.
pub(super) fn mark(snapshot: &mut Snapshot, id: &str, level: Level) {
    let nodes = snapshot.nodes.iter_mut().filter(|node| node.id == id);
    nodes.for_each(|node| node.level = node.level.max(level));
    let edges = snapshot.edges.iter_mut().filter(|edge| edge.id == id);
    edges.for_each(|edge| edge.level = edge.level.max(level));
}
