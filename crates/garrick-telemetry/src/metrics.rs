//! The table of all metrics that are exported to Prometheus and to OpenTelemetry.
//!
//! Names contain the unit, which is always a base unit, such as seconds or bytes. Counters are
//! totals since the start. A value that the source does not know is omitted.

use crate::alert::LONG_TURN_SECONDS;
use crate::snapshot::{Edge, Level, Node, Snapshot, SponsorStatus, State};

/// Kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A value that only grows.
    Counter,
    /// A value that can also fall.
    Gauge,
}

/// Position of a metric's values within a snapshot.
#[derive(Debug, Clone, Copy)]
enum Read {
    Process(fn(&Snapshot) -> Option<f64>),
    Node(fn(&Node) -> Option<f64>),
    Edge(fn(&Edge) -> Option<f64>),
    Sponsor(fn(&SponsorStatus) -> Option<f64>),
    LongTurns,
    Alerts,
}

/// A metric with one value for each set of labels: one row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Family {
    /// Name, without the `_total` that Prometheus appends to a counter's name.
    pub(crate) name: &'static str,
    /// Description.
    pub(crate) help: &'static str,
    /// Kind of the metric.
    pub(crate) kind: Kind,
    read: Read,
}

/// Label names and values that distinguish one value of a family from another.
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
    gauge("garrick_window_seconds", "Length of the time window over which rates and percentiles are computed.", Read::Process(|s| Some(s.window))),
    gauge("garrick_process_resident_memory_bytes", "Resident memory of the process.", Read::Process(|s| s.process.resident_bytes.map(|n| n as f64))),
    gauge("garrick_process_cpu_cores", "Number of cores that the process uses.", Read::Process(|s| s.process.cpu)),
    gauge("garrick_process_threads", "Number of threads of the process.", Read::Process(|s| s.process.threads.map(|n| n as f64))),

    counter("garrick_node_messages", "Messages that the node has taken, or has sent if it has no input.", Read::Node(|n| known(n.messages))),
    counter("garrick_node_turns", "Turns or steps of the node.", Read::Node(|n| known(n.turns))),
    counter("garrick_node_failures", "Turns of actors that panicked or returned an error, or panics of the stage.", Read::Node(|n| known(n.failures))),
    counter("garrick_node_restarts", "Restarts of the node.", Read::Node(|n| known(n.restarts))),
    counter("garrick_node_slow_turns", "Slow turns or steps of the node.", Read::Node(|n| known(n.slow))),
    gauge("garrick_node_busy_ratio", "Share of one core that the node used.", Read::Node(|n| n.busy)),
    gauge("garrick_node_actors", "Number of actors of the group that are alive.", Read::Node(|n| n.alive.map(|n| n as f64))),
    gauge("garrick_node_mailbox_messages", "Average number of messages in an actor's mailbox when its turn begins.", Read::Node(|n| n.depth.map(|n| n as f64))),
    gauge("garrick_node_away_turns", "Number of turns that are blocked in cx.blocking while their workers run other actors.", Read::Node(|n| n.away.map(|n| n as f64))),
    gauge("garrick_node_away_seconds", "Longest time for which a turn has been blocked in cx.blocking.", Read::Node(|n| n.away_seconds)),
    gauge("garrick_node_running", "1 while the node is running or idle, 0 after it has ended.", Read::Node(|n| flag(n.state == State::Running))),
    gauge("garrick_node_failed", "1 if the node has failed, otherwise 0.", Read::Node(|n| flag(n.state == State::Failed))),

    counter("garrick_channel_messages", "Messages taken from the channel.", Read::Edge(|e| known(e.total))),
    counter("garrick_channel_sender_stalls", "Number of times that the sender waited for free space in the channel.", Read::Edge(|e| known(e.sender_stalls))),
    counter("garrick_channel_receiver_stalls", "Number of times that the receiver waited for messages.", Read::Edge(|e| known(e.receiver_stalls))),
    gauge("garrick_channel_capacity_messages", "Capacity of the channel in messages.", Read::Edge(|e| known(e.capacity))),
    gauge("garrick_channel_fill_messages", "Number of messages in the channel.", Read::Edge(|e| known(e.fill))),
    gauge("garrick_channel_fill_p80_ratio", "80th percentile of the filled share of the channel over the window.", Read::Edge(|e| Some(e.fill_p80))),
    gauge("garrick_channel_fill_p95_ratio", "95th percentile of the filled share of the channel over the window.", Read::Edge(|e| Some(e.fill_p95))),
    gauge("garrick_channel_closed", "1 if the channel is closed, otherwise 0.", Read::Edge(|e| flag(e.closed))),

    counter("garrick_sponsor_turns", "Turns that the sponsor's worker threads have run.", Read::Sponsor(|s| known(s.turns))),
    counter("garrick_sponsor_published", "Ready actors that a worker has given away to other workers.", Read::Sponsor(|s| known(s.published))),
    counter("garrick_sponsor_claimed", "Ready actors that a worker has taken over from another worker.", Read::Sponsor(|s| known(s.claimed))),
    counter("garrick_sponsor_parks", "Number of times that a worker thread went to sleep.", Read::Sponsor(|s| known(s.parks))),
    counter("garrick_sponsor_dead_letters", "Accepted messages that were not handled.", Read::Sponsor(|s| known(s.dead_letters))),
    gauge("garrick_sponsor_workers", "Number of worker threads of the sponsor.", Read::Sponsor(|s| known(s.workers))),
    gauge("garrick_sponsor_idle_ratio", "Share of the window during which the worker threads slept.", Read::Sponsor(|s| s.idle)),

    gauge("garrick_worker_turn_seconds", "Time for which the current turn has occupied its worker. Only times above one second are exported.", Read::LongTurns),

    gauge("garrick_alert_level", "Level of the alert: 1 for a warning, 2 for critical.", Read::Alerts),
];

impl Family {
    /// Calls `found` with each value of the family in `snapshot`.
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
/// Shorter turns are not exported, since they would add a value for each combination of a worker
/// and a type of actor.
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

/// Returns the labels of a channel. They contain the names of the sender and the receiver instead
/// of their identifiers, so that graphs of several runs can be compared.
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
