//! The table of all numbers that are exported to Prometheus and to OpenTelemetry.
//!
//! Names contain the unit, which is always a base unit, such as seconds or bytes. Counters are
//! totals since the start. A number that the source does not know is omitted.

use crate::alert::LONG_TURN_SECONDS;
use crate::snapshot::{Edge, Level, Node, Snapshot, SponsorStatus, State};

/// Kind of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number that only grows.
    Counter,
    /// A number that can also fall.
    Gauge,
}

/// Source of a number within a snapshot.
#[derive(Debug, Clone, Copy)]
enum Read {
    Process(fn(&Snapshot) -> Option<f64>),
    Node(fn(&Node) -> Option<f64>),
    Edge(fn(&Edge) -> Option<f64>),
    Sponsor(fn(&SponsorStatus) -> Option<f64>),
    LongTurns,
    Alerts,
}

/// A family of numbers: one row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Family {
    /// Name, without the `_total` that Prometheus appends to a counter's name.
    pub(crate) name: &'static str,
    /// Description.
    pub(crate) help: &'static str,
    /// Kind of the numbers.
    pub(crate) kind: Kind,
    read: Read,
}

/// Label names and values that distinguish one number of a family from another.
pub(crate) type Labels<'a> = Vec<(&'static str, &'a str)>;

const fn counter(name: &'static str, help: &'static str, read: Read) -> Family {
    let kind = Kind::Counter;
    Family {
        name,
        help,
        kind,
        read,
    }
}

const fn gauge(name: &'static str, help: &'static str, read: Read) -> Family {
    let kind = Kind::Gauge;
    Family {
        name,
        help,
        kind,
        read,
    }
}

fn known(count: u64) -> Option<f64> {
    Some(count as f64)
}

fn flag(is: bool) -> Option<f64> {
    Some(f64::from(u8::from(is)))
}

/// The table of all families.
#[rustfmt::skip] // Keeps the columns of the table aligned.
pub(crate) const FAMILIES: &[Family] = &[
    gauge("garrick_uptime_seconds", "Time since the start of the telemetry.", Read::Process(|s| Some(s.uptime))),
    gauge("garrick_window_seconds", "Length of the window of rates and percentiles.", Read::Process(|s| Some(s.window))),
    gauge("garrick_process_resident_memory_bytes", "Resident memory.", Read::Process(|s| s.process.resident_bytes.map(|n| n as f64))),
    gauge("garrick_process_cpu_cores", "Cores in use.", Read::Process(|s| s.process.cpu)),
    gauge("garrick_process_threads", "Threads.", Read::Process(|s| s.process.threads.map(|n| n as f64))),

    counter("garrick_node_messages", "Messages taken, or messages sent by a node without an input.", Read::Node(|n| known(n.messages))),
    counter("garrick_node_turns", "Turns or steps.", Read::Node(|n| known(n.turns))),
    counter("garrick_node_restarts", "Restarts of the node.", Read::Node(|n| known(n.restarts))),
    counter("garrick_node_slow_turns", "Slow turns or steps.", Read::Node(|n| known(n.slow))),
    gauge("garrick_node_busy_ratio", "Share of one core that the node was busy.", Read::Node(|n| n.busy)),
    gauge("garrick_node_actors", "Actors alive.", Read::Node(|n| n.alive.map(|n| n as f64))),
    gauge("garrick_node_mailbox_messages", "Messages waiting in the mailbox of an actor when its turn comes, on average.", Read::Node(|n| n.depth.map(|n| n as f64))),
    gauge("garrick_node_away_turns", "Turns that block away from their worker.", Read::Node(|n| n.away.map(|n| n as f64))),
    gauge("garrick_node_away_seconds", "Time that the longest turn away has been away.", Read::Node(|n| n.away_seconds)),
    gauge("garrick_node_running", "1 while the node is running, 0 after it has ended.", Read::Node(|n| flag(n.state == State::Running))),
    gauge("garrick_node_failed", "1 if the node has ended in a failure.", Read::Node(|n| flag(n.state == State::Failed))),

    counter("garrick_channel_messages", "Messages taken.", Read::Edge(|e| known(e.total))),
    counter("garrick_channel_sender_stalls", "Number of times the sender waited for room.", Read::Edge(|e| known(e.sender_stalls))),
    counter("garrick_channel_receiver_stalls", "Number of times the receiver waited for messages.", Read::Edge(|e| known(e.receiver_stalls))),
    gauge("garrick_channel_capacity_messages", "Capacity of the channel in messages.", Read::Edge(|e| known(e.capacity))),
    gauge("garrick_channel_fill_messages", "Messages in the channel.", Read::Edge(|e| known(e.fill))),
    gauge("garrick_channel_fill_p80_ratio", "80th percentile of the filled share over the window.", Read::Edge(|e| Some(e.fill_p80))),
    gauge("garrick_channel_fill_p95_ratio", "95th percentile of the filled share over the window.", Read::Edge(|e| Some(e.fill_p95))),
    gauge("garrick_channel_closed", "1 if the channel is closed.", Read::Edge(|e| flag(e.closed))),

    counter("garrick_sponsor_turns", "Turns of the sponsor's threads.", Read::Sponsor(|s| known(s.turns))),
    counter("garrick_sponsor_published", "Cells that a thread offered to the others.", Read::Sponsor(|s| known(s.published))),
    counter("garrick_sponsor_claimed", "Offered cells that another thread took.", Read::Sponsor(|s| known(s.claimed))),
    counter("garrick_sponsor_parks", "Number of times a thread parked.", Read::Sponsor(|s| known(s.parks))),
    gauge("garrick_sponsor_workers", "Worker threads of the sponsor.", Read::Sponsor(|s| known(s.workers))),
    gauge("garrick_sponsor_idle_ratio", "Share of the window that the threads were parked.", Read::Sponsor(|s| s.idle)),

    gauge("garrick_worker_turn_seconds", "Time that the turn under way has held its worker, if more than a second.", Read::LongTurns),

    gauge("garrick_alert_level", "1 for a warning, 2 for a critical alert.", Read::Alerts),
];

impl Family {
    /// Calls `found` with each number of the family in `snapshot`.
    pub(crate) fn each(&self, snapshot: &Snapshot, mut found: impl FnMut(&Labels<'_>, f64)) {
        match self.read {
            Read::Process(read) => {
                let value = read(snapshot);
                value
                    .into_iter()
                    .for_each(|value| found(&Vec::new(), value));
            }
            Read::Node(read) => all(&snapshot.nodes, read, node_labels, found),
            Read::Edge(read) => {
                let labels = |edge| edge_labels(snapshot, edge);
                all(&snapshot.edges, read, labels, found);
            }
            Read::Sponsor(read) => all(&snapshot.sponsors, read, sponsor_labels, found),
            Read::LongTurns => snapshot
                .sponsors
                .iter()
                .for_each(|s| long_turns(s, &mut found)),
            Read::Alerts => {
                for alert in &snapshot.alerts {
                    let labels = vec![("on", &*alert.on), ("probe", &*alert.probe)];
                    found(&labels, f64::from(rank(alert.level)));
                }
            }
        }
    }
}

/// Calls `found` with each turn that has held a worker for longer than [`LONG_TURN_SECONDS`].
/// Shorter turns are not exported, since that would take a number for each worker and type of
/// actor.
fn long_turns(sponsor: &SponsorStatus, found: &mut impl FnMut(&Labels<'_>, f64)) {
    let turns = sponsor.held.iter();
    for held in turns.filter(|held| held.seconds > LONG_TURN_SECONDS) {
        let worker = held.worker.to_string();
        let mut labels = sponsor_labels(sponsor);
        labels.extend([("worker", &*worker), ("actor", &*held.name)]);
        found(&labels, held.seconds);
    }
}

fn all<'a, T>(
    things: &'a [T],
    read: fn(&T) -> Option<f64>,
    labels: impl Fn(&'a T) -> Labels<'a>,
    mut found: impl FnMut(&Labels<'_>, f64),
) {
    for thing in things {
        if let Some(value) = read(thing) {
            found(&labels(thing), value);
        }
    }
}

fn rank(level: Level) -> u8 {
    match level {
        Level::Ok => 0,
        Level::Warning => 1,
        Level::Critical => 2,
    }
}

fn node_labels(node: &Node) -> Labels<'_> {
    vec![
        ("node", &node.id),
        ("name", &node.name),
        ("place", &node.place),
    ]
}

/// Returns the labels of a channel. They contain the names of its sender and receiver, not their
/// numbers, so that graphs of several runs can be compared.
pub(crate) fn edge_labels<'a>(snapshot: &'a Snapshot, edge: &'a Edge) -> Labels<'a> {
    let name_of = |id: &Option<String>| {
        let mut nodes = snapshot.nodes.iter();
        let node = nodes.find(|node| Some(&node.id) == id.as_ref());
        node.map_or("", |node| &node.name)
    };
    vec![
        ("channel", &edge.id),
        ("name", edge.name.as_deref().unwrap_or_default()),
        ("from", name_of(&edge.from)),
        ("to", name_of(&edge.to)),
    ]
}

fn sponsor_labels(sponsor: &SponsorStatus) -> Labels<'_> {
    vec![("sponsor", &sponsor.id), ("name", &sponsor.name)]
}
