//! The table of all metrics that are exported to Prometheus and to OpenTelemetry.
//!
//! Names contain the unit, which is always a base unit, such as seconds or bytes. Counters are
//! totals since the start. A value that the source does not know is omitted.
//!
//! Labels are short names. `place` and `node` together identify a node, and `message` identifies a
//! kind of message of this node. `channel`, `sponsor` and `journal` each identify an item of that
//! kind. `local` identifies a node of a cluster in this process. `local` with `peer` identifies a
//! member or the link to it, and `local` with `kind` identifies a kind of entities.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use crate::alert::LONG_TURN_SECONDS;
use crate::snapshot::{
    Alert, Edge, JournalPhase, JournalStatus, KindStatus, Level, LinkState, LinkStatus,
    MemberState, MemberStatus, MessageStatus, Node, OwnMember, Snapshot, SponsorStatus, State,
};

/// Kind of a metric: counter or gauge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A value that only grows.
    Counter,
    /// A value that can also fall.
    Gauge,
}

/// The part of a snapshot that contains the values of a metric.
#[derive(Debug, Clone, Copy)]
enum Read {
    Build,
    Process(fn(&Snapshot) -> Option<f64>),
    Node(fn(&Node) -> Option<f64>),
    Message(fn(&MessageStatus) -> f64),
    Edge(fn(&Edge) -> Option<f64>),
    Sponsor(fn(&SponsorStatus) -> Option<f64>),
    Journal(fn(&JournalStatus) -> Option<f64>),
    Member(fn(&MemberStatus) -> Option<f64>),
    Own(fn(&OwnMember) -> Option<f64>),
    Link(fn(&LinkStatus) -> Option<f64>),
    Kind(fn(&KindStatus) -> Option<f64>),
    LongTurns,
    Alerts,
    Refused,
}

/// A metric with one value for each set of labels: one row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Family {
    /// Name of the metric, without the `_total` that Prometheus appends to a counter's name.
    pub(crate) name: &'static str,
    /// Description of the metric.
    pub(crate) help: &'static str,
    pub(crate) kind: Kind,
    read: Read,
}

/// The names and values of the labels that distinguish one value of a metric from another.
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

fn whole(count: Option<u64>) -> Option<f64> {
    count.and_then(known)
}

fn flag(is: bool) -> Option<f64> {
    Some(f64::from(u8::from(is)))
}

/// The version of Garrick.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The build profile of Garrick.
const PROFILE: &str = if cfg!(debug_assertions) {
    "debug"
} else {
    "release"
};

/// The table of all metrics.
#[rustfmt::skip] // Keeps the columns of the table aligned.
pub(crate) const FAMILIES: &[Family] = &[
    gauge("garrick_build_info", "Always 1. The labels are the version of Garrick, and the profile that it was built in: debug (with debug assertions) or release.", Read::Build),
    gauge("garrick_uptime_seconds", "Time since the start of the telemetry.", Read::Process(|s| Some(s.uptime))),
    gauge("garrick_window_seconds", "Length of the time window of the metrics whose names contain p80 or p95.", Read::Process(|s| Some(s.window))),

    counter("process_cpu_seconds", "Total user and system CPU time of the process in seconds.", Read::Process(|s| s.process.cpu_seconds)),
    gauge("process_resident_memory_bytes", "Resident memory of the process in bytes.", Read::Process(|s| whole(s.process.resident_bytes))),
    gauge("process_virtual_memory_bytes", "Virtual memory of the process in bytes.", Read::Process(|s| whole(s.process.virtual_bytes))),
    gauge("process_open_fds", "Number of open file descriptors of the process.", Read::Process(|s| whole(s.process.open_files))),
    gauge("process_max_fds", "Maximum number of open file descriptors of the process.", Read::Process(|s| whole(s.process.open_files_max))),
    gauge("process_start_time_seconds", "Time at which the process started, in seconds since 1970-01-01, UTC.", Read::Process(|s| s.process.started_unix_seconds)),
    gauge("process_threads", "Number of threads of the process.", Read::Process(|s| whole(s.process.threads))),

    counter("garrick_node_messages", "Messages that the stage took from its channels, or sent if it has no input channel. For actors: turns, which are the handled messages and the starts of actors.", Read::Node(|n| known(n.messages))),
    counter("garrick_node_turns", "Steps that the stage ran, or turns that the actors ran.", Read::Node(|n| known(n.turns))),
    counter("garrick_node_busy_seconds", "Time in which the stage or the actors used a core, in seconds.", Read::Node(|n| n.busy_seconds)),
    counter("garrick_node_starved_seconds", "Time for which the stage waited for messages, in seconds.", Read::Node(|n| n.starved_seconds)),
    counter("garrick_node_back_pressured_seconds", "Time for which the stage waited for room in an output channel, in seconds, even if it also lacked messages.", Read::Node(|n| n.back_pressured_seconds)),
    counter("garrick_node_message_turns", "Turns that handled a message of this kind. Estimated if turns of the actors take less than 4 µs on average, because only some turns are measured.", Read::Message(|m| m.turns as f64)),
    counter("garrick_node_message_busy_seconds", "Duration of the turns that handled a message of this kind, in seconds. Estimated if turns of the actors take less than 4 µs on average, because only some turns are measured.", Read::Message(|m| m.busy_seconds)),
    counter("garrick_node_failures", "Turns of actors that panicked or returned an error, or panics of the stage.", Read::Node(|n| known(n.failures))),
    counter("garrick_node_restarts", "Actors that their supervisors replaced by new ones, or restarts of the stage.", Read::Node(|n| known(n.restarts))),
    counter("garrick_node_slow_turns", "Turns of actors that took 100 ms or longer, or steps of the stage that took at least the time that its graph sets.", Read::Node(|n| known(n.slow))),
    gauge("garrick_node_actors", "Number of actors that are alive.", Read::Node(|n| whole(n.alive))),
    gauge("garrick_node_mailbox_messages", "Number of messages in the mailboxes of the actors.", Read::Node(|n| whole(n.waiting))),
    gauge("garrick_node_mailbox_longest_messages", "Number of messages in the longest mailbox of the actors.", Read::Node(|n| whole(n.longest))),
    gauge("garrick_node_held_seconds", "Longest time for which a running turn has held its worker so far, in seconds. 0 if no turn is running.", Read::Node(|n| n.held_seconds)),
    gauge("garrick_node_away_turns", "Number of turns that are blocked in cx.blocking while their workers run other actors.", Read::Node(|n| whole(n.away))),
    gauge("garrick_node_away_seconds", "Longest time for which a turn has been blocked in cx.blocking so far, in seconds. 0 if no turn is blocked.", Read::Node(|n| n.away_seconds)),
    gauge("garrick_node_running", "1 while the node is working or idle, 0 after it has ended.", Read::Node(|n| flag(n.state == State::Running))),
    gauge("garrick_node_failed", "1 if the node has ended because of a failure, otherwise 0.", Read::Node(|n| flag(n.state == State::Failed))),

    counter("garrick_channel_messages", "Messages that the receiver took from the channel.", Read::Edge(|e| known(e.total))),
    counter("garrick_channel_sender_stalls", "Times that the sender waited because the channel had too little free space.", Read::Edge(|e| known(e.sender_stalls))),
    counter("garrick_channel_receiver_stalls", "Times that the receiver waited because the channel had too few messages.", Read::Edge(|e| known(e.receiver_stalls))),
    gauge("garrick_channel_capacity_messages", "Capacity of the channel in messages.", Read::Edge(|e| known(e.capacity))),
    gauge("garrick_channel_fill_messages", "Number of messages in the channel.", Read::Edge(|e| known(e.fill))),
    gauge("garrick_channel_fill_p80_ratio", "Filled share of the channel's capacity, from 0 to 1: 80th percentile of the samples in the window.", Read::Edge(|e| Some(e.fill_p80))),
    gauge("garrick_channel_fill_p95_ratio", "Filled share of the channel's capacity, from 0 to 1: 95th percentile of the samples in the window.", Read::Edge(|e| Some(e.fill_p95))),
    gauge("garrick_channel_closed", "1 if the channel is closed, otherwise 0.", Read::Edge(|e| flag(e.closed))),

    counter("garrick_sponsor_turns", "Turns that the worker threads ran.", Read::Sponsor(|s| known(s.turns))),
    counter("garrick_sponsor_idle_seconds", "Time that the worker threads slept in seconds, summed over all worker threads.", Read::Sponsor(|s| s.idle_seconds)),
    counter("garrick_sponsor_published", "Times that a worker gave an actor with waiting messages to other workers.", Read::Sponsor(|s| known(s.published))),
    counter("garrick_sponsor_claimed", "Times that a worker took an actor with waiting messages from another worker.", Read::Sponsor(|s| known(s.claimed))),
    counter("garrick_sponsor_parks", "Times that a worker thread went to sleep.", Read::Sponsor(|s| known(s.parks))),
    counter("garrick_sponsor_rescues", "Turns that a worker ran for another worker, which was in a long turn.", Read::Sponsor(|s| known(s.rescues))),
    counter("garrick_sponsor_dead_letters", "Accepted messages that were not handled.", Read::Sponsor(|s| known(s.dead_letters))),
    gauge("garrick_sponsor_ready_actors", "Number of actors that are ready to run.", Read::Sponsor(|s| whole(s.ready))),
    gauge("garrick_sponsor_workers", "Number of worker threads.", Read::Sponsor(|s| known(s.workers))),

    counter("garrick_journal_groups", "Groups of turns that the journal wrote, each with one sync.", Read::Journal(|j| known(j.groups))),
    counter("garrick_journal_failed_groups", "Groups of turns that the journal could not write. Their turns were undone.", Read::Journal(|j| known(j.failed_groups))),
    counter("garrick_journal_turns", "Turns of durable actors in the groups that the journal wrote.", Read::Journal(|j| known(j.turns))),
    counter("garrick_journal_events", "Events in the groups that the journal wrote.", Read::Journal(|j| known(j.events))),
    counter("garrick_journal_event_bytes", "Bytes of the events in the groups that the journal wrote, without what the log adds.", Read::Journal(|j| known(j.event_bytes))),
    counter("garrick_journal_syncs", "Syncs of files and of the folder: for groups, new files, saved states and compactions.", Read::Journal(|j| known(j.syncs))),
    counter("garrick_journal_written_bytes", "Bytes that the journal wrote to the disk: groups, new files, saved states and copies.", Read::Journal(|j| known(j.written_bytes))),
    counter("garrick_journal_writing_seconds", "Time in which the journal wrote and synced groups, in seconds.", Read::Journal(|j| Some(j.writing_seconds))),
    counter("garrick_journal_compactions", "Compactions that removed files of the journal.", Read::Journal(|j| known(j.compactions))),
    counter("garrick_journal_copied_bytes", "Bytes that compactions copied, because they were still needed.", Read::Journal(|j| known(j.copied_bytes))),
    counter("garrick_journal_saved_states", "States of entities that were saved.", Read::Journal(|j| known(j.saved_states))),
    counter("garrick_journal_notices", "Errors that lost nothing: saved states that could not be written, read or removed, and compactions that failed.", Read::Journal(|j| known(j.notices))),
    counter("garrick_journal_recoveries", "Times that an entity read its state.", Read::Journal(|j| known(j.recoveries))),
    counter("garrick_journal_recovered_events", "Events that entities read for their states.", Read::Journal(|j| known(j.recovered_events))),
    counter("garrick_journal_recovery_seconds", "Time in which entities read their states, in seconds, summed over all entities.", Read::Journal(|j| Some(j.recovery_seconds))),
    gauge("garrick_journal_waiting_turns", "Number of turns that wait until their events are durable.", Read::Journal(|j| known(j.waiting_turns))),
    gauge("garrick_journal_oldest_wait_seconds", "Time for which the oldest of these turns has waited, at most, in seconds. 0 if no turn waits.", Read::Journal(|j| Some(j.oldest_wait_seconds))),
    gauge("garrick_journal_longest_group_seconds", "Time of the group that took longest since the journal was opened, in seconds.", Read::Journal(|j| Some(j.longest_group_seconds))),
    gauge("garrick_journal_entities", "Number of entities that exist.", Read::Journal(|j| known(j.entities))),
    gauge("garrick_journal_segments", "Number of files with events.", Read::Journal(|j| known(j.segments))),
    gauge("garrick_journal_size_bytes", "Size of the files with events in bytes.", Read::Journal(|j| known(j.size_bytes))),
    gauge("garrick_journal_open", "1 while the journal is open and not broken, otherwise 0.", Read::Journal(|j| flag(j.phase == JournalPhase::Open))),
    gauge("garrick_journal_broken", "1 if the log must be opened again, or could not be opened, otherwise 0.", Read::Journal(|j| flag(matches!(j.phase, JournalPhase::Broken | JournalPhase::Failed)))),
    gauge("garrick_journal_opening_bytes", "Size of the log that is being opened, in bytes. Omitted otherwise.", Read::Journal(|j| whole(j.opening_bytes))),
    gauge("garrick_journal_opening_read_bytes", "Bytes that were read of the log that is being opened. Omitted otherwise.", Read::Journal(|j| whole(j.opening_read_bytes))),

    gauge("garrick_cluster_member_up", "1 while the node is a member, 0 before it has joined, and after it was removed or has left.", Read::Member(|m| flag(is_member(m)))),
    gauge("garrick_cluster_member_suspect", "1 if the member was silent, so that others have taken over its shards of fenced kinds, otherwise 0.", Read::Member(|m| flag(m.state == MemberState::Suspect))),
    gauge("garrick_cluster_member_draining", "1 if the member hands its shards over, otherwise 0.", Read::Member(|m| flag(m.state == MemberState::Draining))),
    gauge("garrick_cluster_member_removed", "1 if the node was removed from the cluster because it was silent, otherwise 0. Exported for 5 minutes after the removal.", Read::Member(|m| flag(m.state == MemberState::Removed))),
    gauge("garrick_cluster_member_silent_seconds", "Time since the member was last seen to renew its membership, in seconds. Omitted for nodes that are gone.", Read::Member(|m| m.silent_seconds)),
    gauge("garrick_cluster_member_shards", "Number of shards that the member owns, of all kinds.", Read::Member(|m| known(m.owned_shards))),

    gauge("garrick_cluster_lease_seconds", "Time until the lease of this node ends, in seconds. 0 if the lease has ended or the membership is lost. Omitted before the node has joined and after it has left.", Read::Own(|o| o.lease_seconds)),
    gauge("garrick_cluster_held_turns", "Number of turns of entities whose effects wait for a renewal of the lease.", Read::Own(|o| known(o.held_turns))),
    counter("garrick_cluster_joins", "Times that this node has become a member.", Read::Own(|o| known(o.joined))),
    counter("garrick_cluster_memberships_lost", "Times that this node has lost its membership and all its shards.", Read::Own(|o| known(o.lost))),
    counter("garrick_cluster_fenced", "Times that this node has lost its shards of fenced kinds, because it was silent.", Read::Own(|o| known(o.fenced))),
    counter("garrick_cluster_members_removed", "Members that this node has removed because they were silent.", Read::Own(|o| known(o.removed))),
    counter("garrick_cluster_claimed_shards", "Shards that this node has claimed because they had no owner.", Read::Own(|o| known(o.claimed_shards))),
    counter("garrick_cluster_handed_over_shards", "Shards that this node has handed over to other nodes.", Read::Own(|o| known(o.handed_over_shards))),

    gauge("garrick_cluster_link_up", "1 while the nodes are connected, otherwise 0.", Read::Link(|l| flag(matches!(l.state, LinkState::Up | LinkState::Gap)))),
    gauge("garrick_cluster_link_down", "1 if the other node was silent for too long, and nothing has arrived from it since, otherwise 0. Exported for 5 minutes.", Read::Link(|l| flag(l.state == LinkState::Down))),
    gauge("garrick_cluster_link_gap", "1 while the nodes agree on which frames were lost, otherwise 0.", Read::Link(|l| flag(l.state == LinkState::Gap))),
    gauge("garrick_cluster_link_silent_seconds", "Time since the last frame has arrived from the other node, in seconds. Omitted if no frame has arrived.", Read::Link(|l| l.silent_seconds)),
    counter("garrick_cluster_link_connects", "Times that the nodes were connected, including the first time.", Read::Link(|l| known(l.connects))),
    counter("garrick_cluster_link_sent_messages", "Messages, answers and refusals of questions in the frames that were sent.", Read::Link(|l| known(l.sent_messages))),
    counter("garrick_cluster_link_sent_frames", "Frames that were sent, including frames without messages.", Read::Link(|l| known(l.sent_frames))),
    counter("garrick_cluster_link_sent_bytes", "Bytes in the frames that were sent.", Read::Link(|l| known(l.sent_bytes))),
    counter("garrick_cluster_link_received_messages", "Messages, answers and refusals of questions in the frames of the other node that were handled.", Read::Link(|l| known(l.received_messages))),
    counter("garrick_cluster_link_received_frames", "Frames of the other node that were handled.", Read::Link(|l| known(l.received_frames))),
    counter("garrick_cluster_link_received_bytes", "Bytes in the frames of the other node that were handled.", Read::Link(|l| known(l.received_bytes))),
    counter("garrick_cluster_link_lost_messages", "Messages that were lost: in frames that the other node has reported as lost, or still on this node when the other node was lost.", Read::Link(|l| known(l.lost_messages))),
    counter("garrick_cluster_link_lost_frames", "Sent frames that the other node has reported as lost.", Read::Link(|l| known(l.lost_frames))),
    counter("garrick_cluster_link_unconfirmed_messages", "Messages that may be lost: the other node was lost before it had confirmed their frames.", Read::Link(|l| known(l.unconfirmed_messages))),
    counter("garrick_cluster_link_missing_frames", "Frames of the other node that have not arrived.", Read::Link(|l| known(l.missing_frames))),
    counter("garrick_cluster_link_refused_messages", "Messages to or from the other node that could not be encoded, decoded or delivered.", Read::Link(|l| known(l.refused_messages))),
    counter("garrick_cluster_link_refused_frames", "Times that the network has refused a frame. The link sends the frame later.", Read::Link(|l| known(l.refused_frames))),
    gauge("garrick_cluster_link_waiting_frames", "Number of frames that wait until they can be sent.", Read::Link(|l| known(l.waiting_frames))),
    gauge("garrick_cluster_link_waiting_bytes", "Number of bytes that wait until they can be sent.", Read::Link(|l| known(l.waiting_bytes))),
    gauge("garrick_cluster_link_unconfirmed_bytes", "Number of bytes in sent frames that the other node has not confirmed.", Read::Link(|l| known(l.unconfirmed_bytes))),
    gauge("garrick_cluster_link_credit_bytes", "Number of bytes that may still be sent before the other node confirms a frame.", Read::Link(|l| known(l.credit_bytes))),
    gauge("garrick_cluster_link_questions", "Number of questions to the other node that have no answer yet.", Read::Link(|l| known(l.questions))),

    gauge("garrick_cluster_kind_entities", "Number of entities of the kind that run on this node.", Read::Kind(|k| known(k.entities))),
    counter("garrick_cluster_kind_created_entities", "Times that an entity was created on this node.", Read::Kind(|k| known(k.created))),
    counter("garrick_cluster_kind_passivated_entities", "Entities that this node has stopped because they were idle.", Read::Kind(|k| known(k.passivated))),
    counter("garrick_cluster_kind_abandoned_entities", "Entities that had not ended when their shard was handed over. Their turns have no effect after that.", Read::Kind(|k| known(k.abandoned_entities))),
    gauge("garrick_cluster_kind_shards", "Number of shards of the kind in the cluster.", Read::Kind(|k| known(k.shards))),
    gauge("garrick_cluster_kind_owned_shards", "Number of shards that this node owns.", Read::Kind(|k| known(k.owned_shards))),
    gauge("garrick_cluster_kind_unowned_shards", "Number of shards that no node owns, as this node sees it.", Read::Kind(|k| known(k.unowned_shards))),
    gauge("garrick_cluster_kind_handing_over_shards", "Number of shards that this node is handing over.", Read::Kind(|k| known(k.handing_over_shards))),
    gauge("garrick_cluster_kind_waiting_messages", "Number of messages that wait on this node for an owner of their shard, or for the end of an entity.", Read::Kind(|k| known(k.waiting_messages))),
    counter("garrick_cluster_kind_stray_messages", "Messages that were dropped because this node did not own their shard.", Read::Kind(|k| known(k.stray_messages))),
    counter("garrick_cluster_kind_expired_messages", "Messages that were dropped because no node took them within 10 seconds.", Read::Kind(|k| known(k.expired_messages))),
    counter("garrick_cluster_kind_refused_messages", "Messages that were dropped on this node because the mailbox of their entity was full.", Read::Kind(|k| known(k.refused_messages))),

    gauge("garrick_worker_turn_seconds", "Time for which the running turn has held its worker so far, in seconds. Only times above one second are exported.", Read::LongTurns),

    gauge("garrick_alert_level", "Level of the worst alert for the value: 1 for a warning, 2 for critical. Values within their limits are not exported.", Read::Alerts),

    counter("garrick_metrics_refused", "Uses of the program's own metrics that were refused. The reason is: series (too many), name (bad or reserved), kind (the name belongs to another kind of metric), or labels (too many, or a bad name).", Read::Refused),
];

/// A snapshot, and indices of its items by their identifiers.
#[derive(Debug)]
pub(crate) struct Exported<'a> {
    pub(crate) snapshot: &'a Snapshot,
    nodes: HashMap<&'a str, &'a Node>,
    /// The kind, the place and the label of each item. Created for the first alert, because most
    /// snapshots have no alert.
    items: OnceCell<HashMap<&'a str, Item<'a>>>,
}

/// The kind, the place and the label of an item that an alert can be about.
type Item<'a> = [&'a str; 3];

impl<'a> Exported<'a> {
    /// Prepares the values of `snapshot` for export.
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        let nodes = snapshot.nodes.iter().map(|node| (&*node.id, node));
        Self {
            snapshot,
            nodes: nodes.collect(),
            items: OnceCell::new(),
        }
    }

    /// Returns the labels of a channel: the labels of the channel itself, of its sender and of its
    /// receiver.
    pub(crate) fn edge_labels(&self, edge: &'a Edge) -> Labels<'a> {
        let label = |id: &Option<String>| {
            let node = id.as_deref().and_then(|id| self.nodes.get(id));
            node.map_or("", |node| &*node.label)
        };
        vec![
            ("channel", &edge.label),
            ("from", label(&edge.from)),
            ("to", label(&edge.to)),
        ]
    }

    /// Returns the labels of an alert: the kind, place and label of the item that the alert is
    /// about, and the name of the value that is beyond a threshold.
    fn alert_labels(&self, alert: &'a Alert) -> Labels<'a> {
        let process = ["process", "", &self.snapshot.process.name];
        let items = self.items.get_or_init(|| items_of(self.snapshot));
        let [kind, place, on] = items.get(&*alert.on).copied().unwrap_or(process);
        vec![
            ("kind", kind),
            ("place", place),
            ("on", on),
            ("probe", &*alert.probe),
        ]
    }
}

/// Returns the kind, the place and the label of each item of a snapshot, by its identifier.
fn items_of<'a>(snapshot: &'a Snapshot) -> HashMap<&'a str, Item<'a>> {
    let mut items = HashMap::new();
    // If a source has reported two items with one identifier, the first one counts.
    let mut add = |id: &'a str, item: Item<'a>| {
        items.entry(id).or_insert(item);
    };
    for node in &snapshot.nodes {
        add(&node.id, ["node", &node.place, &node.label]);
    }
    for edge in &snapshot.edges {
        add(&edge.id, ["channel", "", &edge.label]);
    }
    for sponsor in &snapshot.sponsors {
        add(&sponsor.id, ["sponsor", "", &sponsor.label]);
    }
    for journal in &snapshot.journals {
        add(&journal.id, ["journal", "", &journal.label]);
    }
    for member in &snapshot.members {
        add(&member.id, ["member", &member.local, &member.label]);
    }
    for link in &snapshot.links {
        add(&link.id, ["link", &link.local, &link.label]);
    }
    for kind in &snapshot.kinds {
        add(&kind.id, ["entities", &kind.local, &kind.label]);
    }
    items
}

impl Family {
    /// Calls `found` with each value of the metric.
    pub(crate) fn each(&self, exported: &Exported<'_>, mut found: impl FnMut(&Labels<'_>, f64)) {
        let snapshot = exported.snapshot;
        match self.read {
            Read::Build => found(&vec![("version", VERSION), ("profile", PROFILE)], 1.0),
            Read::Process(read) => {
                if let Some(value) = read(snapshot) {
                    found(&Vec::new(), value);
                }
            }
            Read::Node(read) => all(&snapshot.nodes, read, node_labels, found),
            Read::Message(read) => {
                for node in &snapshot.nodes {
                    for message in &node.messages_by_kind {
                        let mut labels = node_labels(node);
                        labels.push(("message", &message.name));
                        found(&labels, read(message));
                    }
                }
            }
            Read::Edge(read) => {
                let labels = |edge| exported.edge_labels(edge);
                all(&snapshot.edges, read, labels, found);
            }
            Read::Sponsor(read) => all(&snapshot.sponsors, read, sponsor_labels, found),
            Read::Journal(read) => all(&snapshot.journals, read, journal_labels, found),
            Read::Member(read) => all(&snapshot.members, read, member_labels, found),
            Read::Own(read) => {
                for member in &snapshot.members {
                    if let Some(value) = member.own.as_ref().and_then(read) {
                        found(&vec![("local", &*member.local)], value);
                    }
                }
            }
            Read::Link(read) => all(&snapshot.links, read, link_labels, found),
            Read::Kind(read) => all(&snapshot.kinds, read, kind_labels, found),
            Read::LongTurns => {
                for sponsor in &snapshot.sponsors {
                    long_turns(exported, sponsor, &mut found);
                }
            }
            Read::Alerts => {
                // Several thresholds can have an alert for one value. The worst comes first.
                let mut told = HashSet::new();
                for alert in &snapshot.alerts {
                    if told.insert((&alert.on, &alert.probe)) {
                        let level = f64::from(rank(alert.level));
                        found(&exported.alert_labels(alert), level);
                    }
                }
            }
            Read::Refused => {
                for (reason, count) in &snapshot.metrics_refused {
                    found(&vec![("reason", reason)], *count as f64);
                }
            }
        }
    }
}

/// Calls `found` with each turn that has held a worker for longer than [`LONG_TURN_SECONDS`].
/// Shorter turns are not exported, because they would add a value for each combination of a worker
/// and a type of actor.
fn long_turns(
    exported: &Exported<'_>,
    sponsor: &SponsorStatus,
    found: &mut impl FnMut(&Labels<'_>, f64),
) {
    let turns = sponsor.held.iter();
    for held in turns.filter(|held| held.seconds > LONG_TURN_SECONDS) {
        let worker = held.worker.to_string();
        let node = exported.nodes.get(&*held.node);
        let node = node.map_or(&*held.name, |node| &*node.label);
        let mut labels = sponsor_labels(sponsor);
        labels.extend([("worker", &*worker), ("node", node)]);
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

/// Returns the labels of a node.
pub(crate) fn node_labels(node: &Node) -> Labels<'_> {
    vec![("place", &node.place), ("node", &node.label)]
}

fn journal_labels(journal: &JournalStatus) -> Labels<'_> {
    vec![("journal", &journal.label)]
}

fn member_labels(member: &MemberStatus) -> Labels<'_> {
    vec![("local", &member.local), ("peer", &member.label)]
}

fn link_labels(link: &LinkStatus) -> Labels<'_> {
    vec![("local", &link.local), ("peer", &link.label)]
}

fn kind_labels(kind: &KindStatus) -> Labels<'_> {
    vec![("local", &kind.local), ("kind", &kind.label)]
}

/// Returns true if a node is a member of its cluster.
fn is_member(member: &MemberStatus) -> bool {
    match member.state {
        MemberState::Up | MemberState::Suspect | MemberState::Draining => true,
        MemberState::Joining | MemberState::Removed | MemberState::Left => false,
    }
}

pub(crate) fn sponsor_labels(sponsor: &SponsorStatus) -> Labels<'_> {
    vec![("sponsor", &sponsor.label)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_beyond_two_thresholds_is_one_series_with_the_worst_level() {
        let alert = |level| Alert {
            on: "0.s1".to_owned(),
            probe: "busy".to_owned(),
            level,
            ..Alert::default()
        };
        let snapshot = Snapshot {
            nodes: vec![Node {
                id: "0.s1".to_owned(),
                place: "team".to_owned(),
                label: "reader".to_owned(),
                ..Node::default()
            }],
            alerts: vec![alert(Level::Critical), alert(Level::Warning)],
            ..Snapshot::default()
        };
        let exported = Exported::new(&snapshot);
        let mut found = Vec::new();
        let family = FAMILIES.iter().find(|f| f.name == "garrick_alert_level");
        let family = family.expect("it is in the table");
        family.each(&exported, |labels, value| {
            found.push((format!("{labels:?}"), value));
        });
        let labels =
            r#"[("kind", "node"), ("place", "team"), ("on", "reader"), ("probe", "busy")]"#;
        assert_eq!(found, [(labels.to_owned(), 2.0)]);
    }

    #[test]
    fn an_alert_has_the_labels_of_its_item() {
        let mut snapshot = Snapshot::default();
        snapshot.process.name = "shop".to_owned();
        macro_rules! add {
            ($items:ident: $item:ident { $($field:ident),* }, $id:literal) => {
                snapshot.$items.push($item {
                    id: $id.to_owned(),
                    label: format!("label of {}", $id),
                    $($field: format!("{} of {}", stringify!($field), $id),)*
                    ..$item::default()
                })
            };
        }
        add!(nodes: Node { place }, "n");
        add!(edges: Edge {}, "e");
        add!(sponsors: SponsorStatus {}, "s");
        add!(journals: JournalStatus {}, "j");
        add!(members: MemberStatus { local }, "m");
        add!(links: LinkStatus { local }, "l");
        add!(kinds: KindStatus { local }, "k");
        // A second item with an identifier that is taken.
        add!(kinds: KindStatus { local }, "n");
        let expected = [
            ("n", "node", "place of n"),
            ("e", "channel", ""),
            ("s", "sponsor", ""),
            ("j", "journal", ""),
            ("m", "member", "local of m"),
            ("l", "link", "local of l"),
            ("k", "entities", "local of k"),
            ("process", "process", ""),
        ];
        let alert = |on: &str| Alert {
            on: on.to_owned(),
            probe: "busy".to_owned(),
            ..Alert::default()
        };
        snapshot.alerts = expected.iter().map(|(on, ..)| alert(on)).collect();
        let exported = Exported::new(&snapshot);
        for (alert, (on, kind, place)) in snapshot.alerts.iter().zip(expected) {
            let label = match on {
                "process" => "shop".to_owned(),
                on => format!("label of {on}"),
            };
            let labels = [
                ("kind", kind),
                ("place", place),
                ("on", &label),
                ("probe", "busy"),
            ];
            assert_eq!(exported.alert_labels(alert), labels);
        }
    }

    #[test]
    fn names_are_unique_and_have_no_total() {
        let mut names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        assert!(names.iter().all(|name| !name.ends_with("_total")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FAMILIES.len());
    }
}
