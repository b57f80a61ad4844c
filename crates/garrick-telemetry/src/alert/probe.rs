//! Values that a threshold can apply to.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use crate::snapshot::{
    Edge, JournalPhase, JournalStatus, KindStatus, Level, LinkState, LinkStatus, MemberState,
    MemberStatus, Node, Snapshot, SponsorStatus, State,
};

/// The kind of item that a [`Threshold`](crate::Threshold) applies to: nodes, edges, sponsors or
/// journals; members, links or kinds of entities of clusters; or the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Of {
    /// The threshold applies to items of all kinds, if they have the value that the threshold
    /// checks.
    Anything,
    /// The threshold applies only to nodes: stages of pipelines, and groups of actors.
    Nodes,
    /// The threshold applies only to edges: channels from one node to another.
    Edges,
    /// The threshold applies only to sponsors. A sponsor is the thread pool of a
    /// [`System`](garrick_actor::System), or the thread of a [`Local`](garrick_actor::Local).
    Sponsors,
    /// The threshold applies only to journals of durable actors.
    Journals,
    /// The threshold applies only to members of clusters.
    Members,
    /// The threshold applies only to links to other nodes of clusters.
    Links,
    /// The threshold applies only to the kinds of entities of a cluster.
    Kinds,
    /// The threshold applies only to the process itself.
    Process,
}

/// A kind of value that a [`Threshold`](crate::Threshold) checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Probe {
    /// Currently filled share of a channel's capacity, from 0 to 1.
    Fill,
    /// 80th percentile of [`Fill`](Self::Fill) over the [window](crate::Settings::window).
    FillP80,
    /// 95th percentile of [`Fill`](Self::Fill) over the [window](crate::Settings::window).
    FillP95,
    /// Time in seconds for which a channel has been at least three quarters full while its receiver
    /// took nothing from it: the [`Edge::stalled_seconds`](crate::Edge::stalled_seconds) of the
    /// channel.
    StalledSeconds,
    /// Messages per second: the [`Edge::rate`](crate::Edge::rate) of a channel, or the
    /// [`Node::rate`](crate::Node::rate) of a stage or group of actors.
    Rate,
    /// A rate per second: the steps of a stage, the turns of a group of actors, the turns of a
    /// sponsor (a set of threads that run actors), or the turns that a journal writes to its log. A
    /// turn is the handling of one message, or the start of an actor.
    TurnRate,
    /// Share of one core that a stage or group of actors uses. For a group of actors, the share can
    /// exceed 1.
    Busy,
    /// Share of the [window](crate::Settings::window) that the worker threads of a sponsor (a set
    /// of threads that run actors) slept, from 0 to 1. The share is the average over all of these
    /// threads.
    Idle,
    /// Number of messages in all mailboxes of a group of actors.
    Waiting,
    /// Number of messages in the longest mailbox of a group of actors.
    Longest,
    /// Growth of [`Waiting`](Self::Waiting) over the [window](crate::Settings::window), in messages
    /// per second.
    Growth,
    /// Number of living actors in a group of actors.
    Alive,
    /// Total number of failures of a stage or of the actors in a group.
    Failures,
    /// Total number of restarts of a stage or of the actors in a group.
    Restarts,
    /// Total number of slow steps of a stage, or of slow turns of a group of actors: the
    /// [`Node::slow`](crate::Node::slow) of the stage or group.
    Slow,
    /// Time in seconds that the running turn of an actor has occupied its worker so far. If several
    /// actors of a group are running, the value is the longest of their times.
    HeldSeconds,
    /// Number of actors in a group that are now blocked in a call of
    /// [`cx.blocking`](garrick_actor::Context::blocking). During such a call, the worker runs other
    /// actors.
    Away,
    /// Time in seconds that an actor has been blocked in a call of
    /// [`cx.blocking`](garrick_actor::Context::blocking) so far. If several actors of a group are
    /// blocked, the value is the longest of their times.
    AwaySeconds,
    /// 1 if a stage has failed, and otherwise 0. The value is always 0 for a group of actors.
    Failed,
    /// Number of actors of a group that failed in the [window](crate::Settings::window) and were
    /// not restarted. For a sponsor (a set of threads that run actors), the value is
    /// [`SponsorStatus::lost`](crate::SponsorStatus::lost).
    Lost,
    /// Largest number of restarts that a single actor of a group had in the
    /// [window](crate::Settings::window).
    RestartsOfOne,
    /// Number of failed attempts of a journal to write a group of turns, since its most recent
    /// successful write: the
    /// [`JournalStatus::failing_groups`](crate::JournalStatus::failing_groups) of the journal. 0 if
    /// an I/O error has broken the log of the journal.
    FailingGroups,
    /// 1 if a journal could not be opened, or if an I/O error has broken its log. Otherwise 0.
    Broken,
    /// Number of notices of a journal in the [window](crate::Settings::window). A notice is an
    /// error without loss of data.
    NewNotices,
    /// Number of turns of a journal that wait until their events are durable.
    WaitingTurns,
    /// Upper limit for the time in seconds that the oldest waiting turn of a journal has waited.
    OldestWaitSeconds,
    /// Time in seconds since another member of a cluster was last seen to renew its membership.
    SilentSeconds,
    /// 1 if another node was removed from the cluster because it was silent, and otherwise 0.
    Removed,
    /// Time in seconds until the lease of a node of this process ends. 0 if the node has lost its
    /// membership.
    LeaseSeconds,
    /// 1 if the link to another node is down, and otherwise 0.
    LinkDown,
    /// Number of messages that a link to another node has lost in the
    /// [window](crate::Settings::window).
    NewLostMessages,
    /// Number of shards of one kind of entities that no node owns.
    UnownedShards,
    /// Resident memory of the process in bytes.
    ResidentBytes,
    /// Average number of cores that the process used over the [window](crate::Settings::window).
    Cpu,
}

/// A value, and the item that it belongs to, such as a node, an edge or the process.
pub(super) struct Found<'a> {
    pub(super) of: Of,
    /// Identifier of the item, or `process` for the process.
    pub(super) id: &'a str,
    pub(super) name: Name<'a>,
    pub(super) value: f64,
    /// For a value of a journal, a clause that says what is wrong with the journal.
    pub(super) why: Option<String>,
}

/// A snapshot, and the positions of its nodes. With the positions, the names of thousands of edges
/// are composed quickly.
pub(super) struct Indexed<'a> {
    snapshot: &'a Snapshot,
    /// Index of each node in the snapshot, by its identifier. Created when the name of an edge is
    /// first needed, because most names are never shown.
    nodes: OnceCell<HashMap<String, usize>>,
}

impl<'a> Indexed<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        Self {
            snapshot,
            nodes: OnceCell::new(),
        }
    }

    /// Returns the name of the node `id`, or `?` if there is no such node.
    fn node(&self, id: Option<&str>) -> &'a str {
        let nodes = &self.snapshot.nodes;
        let ids = || nodes.iter().map(|node| node.id.clone()).zip(0..).collect();
        let index = id.and_then(|id| self.nodes.get_or_init(ids).get(id));
        index.map_or("?", |index| nodes[*index].name.as_str())
    }
}

/// Name of an item. The name of an edge is composed only when it is needed.
#[derive(Clone, Copy)]
pub(super) enum Name<'a> {
    Is(&'a str),
    OfEdge(&'a Indexed<'a>, &'a Edge),
}

impl Name<'_> {
    /// Returns the name of the item. An edge without a name is called `sender -> receiver`.
    pub(super) fn text(self) -> String {
        let (indexed, edge) = match self {
            Self::Is(name) => return name.to_owned(),
            Self::OfEdge(indexed, edge) => (indexed, edge),
        };
        let named = |id: &Option<String>| indexed.node(id.as_deref());
        let name = edge.name.clone();
        name.unwrap_or_else(|| format!("{} -> {}", named(&edge.from), named(&edge.to)))
    }
}

impl Probe {
    /// Returns the name that [`Alert::probe`](crate::Alert::probe) contains for this kind of value.
    /// If the snapshot has a field for the value, the name of the field is used, for example
    /// `fill_p80`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::FillP80 => "fill_p80",
            Self::FillP95 => "fill_p95",
            Self::StalledSeconds => "stalled_seconds",
            Self::Rate => "rate",
            Self::TurnRate => "turn_rate",
            Self::Busy => "busy",
            Self::Idle => "idle",
            Self::Waiting => "waiting",
            Self::Longest => "longest",
            Self::Growth => "growth",
            Self::Alive => "alive",
            Self::Failures => "failures",
            Self::Restarts => "restarts",
            Self::Slow => "slow",
            Self::HeldSeconds => "held_seconds",
            Self::Away => "away",
            Self::AwaySeconds => "away_seconds",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::RestartsOfOne => "restarts_of_one",
            Self::FailingGroups => "failing_groups",
            Self::Broken => "broken",
            Self::NewNotices => "new_notices",
            Self::WaitingTurns => "waiting_turns",
            Self::OldestWaitSeconds => "oldest_wait_seconds",
            Self::SilentSeconds => "silent_seconds",
            Self::Removed => "removed",
            Self::LeaseSeconds => "lease_seconds",
            Self::LinkDown => "link_down",
            Self::NewLostMessages => "new_lost_messages",
            Self::UnownedShards => "unowned_shards",
            Self::ResidentBytes => "resident_bytes",
            Self::Cpu => "cpu",
        }
    }

    /// Calls `found` with each value of this kind in the snapshot.
    pub(super) fn each(self, indexed: &Indexed<'_>, mut found: impl FnMut(&Found<'_>)) {
        let snapshot = indexed.snapshot;
        for journal in &snapshot.journals {
            if let Some(value) = self.of_journal(journal) {
                found(&Found {
                    of: Of::Journals,
                    id: &journal.id,
                    name: Name::Is(&journal.name),
                    value,
                    why: Some(why(journal, self)),
                });
            }
        }
        let mut tell = |of, id, name, value: Option<f64>| {
            if let Some(value) = value {
                found(&Found {
                    of,
                    id,
                    name,
                    value,
                    why: None,
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
            let name = Name::OfEdge(indexed, edge);
            tell(Of::Edges, &edge.id, name, self.of_edge(edge));
        }
        for sponsor in &snapshot.sponsors {
            let name = Name::Is(&sponsor.name);
            tell(Of::Sponsors, &sponsor.id, name, self.of_sponsor(sponsor));
        }
        for member in &snapshot.members {
            let name = Name::Is(&member.name);
            tell(Of::Members, &member.id, name, self.of_member(member));
        }
        for link in &snapshot.links {
            tell(
                Of::Links,
                &link.id,
                Name::Is(&link.name),
                self.of_link(link),
            );
        }
        for kind in &snapshot.kinds {
            tell(
                Of::Kinds,
                &kind.id,
                Name::Is(&kind.name),
                self.of_kind(kind),
            );
        }
        let name = Name::Is(&snapshot.process.name);
        tell(Of::Process, "process", name, self.of_process(snapshot));
    }

    fn of_node(self, node: &Node) -> Option<f64> {
        match self {
            Self::Rate => Some(node.rate),
            Self::TurnRate => Some(node.turn_rate),
            Self::Busy => node.busy,
            Self::Waiting => node.waiting.map(|waiting| waiting as f64),
            Self::Longest => node.longest.map(|longest| longest as f64),
            Self::Growth => node.growth,
            Self::Alive => node.alive.map(|alive| alive as f64),
            Self::Failures => Some(node.failures as f64),
            Self::Restarts => Some(node.restarts as f64),
            Self::Slow => Some(node.slow as f64),
            Self::HeldSeconds => node.held_seconds,
            Self::Away => node.away.map(|away| away as f64),
            Self::AwaySeconds => node.away_seconds,
            Self::Failed => Some(f64::from(u8::from(node.state == State::Failed))),
            Self::Lost => Some(node.lost as f64),
            Self::RestartsOfOne => Some(node.restarts_of_one as f64),
            _ => None,
        }
    }

    fn of_edge(self, edge: &Edge) -> Option<f64> {
        match self {
            Self::Fill => Some(edge.fill as f64 / edge.capacity.max(1) as f64),
            Self::FillP80 => Some(edge.fill_p80),
            Self::FillP95 => Some(edge.fill_p95),
            Self::StalledSeconds => Some(edge.stalled_seconds),
            Self::Rate => Some(edge.rate),
            _ => None,
        }
    }

    fn of_sponsor(self, sponsor: &SponsorStatus) -> Option<f64> {
        match self {
            Self::Idle => sponsor.idle,
            Self::TurnRate => Some(sponsor.turn_rate),
            Self::Lost => Some(sponsor.lost as f64),
            _ => None,
        }
    }

    fn of_journal(self, journal: &JournalStatus) -> Option<f64> {
        match self {
            Self::TurnRate => Some(journal.turn_rate),
            Self::WaitingTurns => Some(journal.waiting_turns as f64),
            Self::OldestWaitSeconds => Some(journal.oldest_wait_seconds),
            Self::NewNotices => Some(journal.new_notices as f64),
            // A broken journal has an alert of its own.
            Self::FailingGroups if journal.phase == JournalPhase::Broken => Some(0.0),
            Self::FailingGroups => Some(journal.failing_groups as f64),
            Self::Broken => {
                let is = matches!(journal.phase, JournalPhase::Broken | JournalPhase::Failed);
                Some(f64::from(u8::from(is)))
            }
            _ => None,
        }
    }

    fn of_member(self, member: &MemberStatus) -> Option<f64> {
        match (self, &member.own) {
            (Self::SilentSeconds, None) => member.silent_seconds,
            (Self::Removed, None) => flag(member.state == MemberState::Removed),
            (Self::LeaseSeconds, Some(own)) => own.lease_seconds,
            _ => None,
        }
    }

    fn of_link(self, link: &LinkStatus) -> Option<f64> {
        match self {
            Self::LinkDown => flag(link.state == LinkState::Down),
            Self::NewLostMessages => Some(link.new_lost_messages as f64),
            _ => None,
        }
    }

    fn of_kind(self, kind: &KindStatus) -> Option<f64> {
        match self {
            Self::UnownedShards => Some(kind.unowned_shards as f64),
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

fn flag(is: bool) -> Option<f64> {
    Some(f64::from(u8::from(is)))
}

/// Returns a clause that states what is wrong with a journal.
fn why(journal: &JournalStatus, probe: Probe) -> String {
    let text = |text: &Option<String>| {
        let text = text.as_deref();
        text.unwrap_or("no reason is known").to_owned()
    };
    match (probe, journal.phase) {
        (Probe::NewNotices, _) => text(&journal.notice),
        (_, JournalPhase::Broken) => format!(
            "is broken, and must be opened again: {}",
            text(&journal.failure)
        ),
        (_, JournalPhase::Failed) => format!("cannot be opened: {}", text(&journal.failure)),
        _ => format!("cannot write: {}", text(&journal.failure)),
    }
}

/// Returns the identifiers of all items of the snapshot.
pub(super) fn ids(snapshot: &Snapshot) -> HashSet<&str> {
    let Snapshot {
        nodes,
        edges,
        sponsors,
        journals,
        members,
        links,
        kinds,
        ..
    } = snapshot;
    let mut ids = HashSet::from(["process"]);
    ids.extend(nodes.iter().map(|node| &*node.id));
    ids.extend(edges.iter().map(|edge| &*edge.id));
    ids.extend(sponsors.iter().map(|sponsor| &*sponsor.id));
    ids.extend(journals.iter().map(|journal| &*journal.id));
    ids.extend(members.iter().map(|member| &*member.id));
    ids.extend(links.iter().map(|link| &*link.id));
    ids.extend(kinds.iter().map(|kind| &*kind.id));
    ids
}

/// Sets the alert level of each item to its level in `levels`, unless the item's level is already
/// worse. The keys of `levels` are identifiers. Sponsors (sets of threads that run actors) and the
/// process have no level.
pub(super) fn mark(snapshot: &mut Snapshot, levels: &HashMap<&str, Level>) {
    let raise = |level: &mut Level, id: &str| {
        *level = levels
            .get(id)
            .map_or(*level, |raised| (*level).max(*raised));
    };
    let Snapshot {
        nodes,
        edges,
        journals,
        members,
        links,
        kinds,
        ..
    } = snapshot;
    (nodes.iter_mut()).for_each(|node| raise(&mut node.level, &node.id));
    (edges.iter_mut()).for_each(|edge| raise(&mut edge.level, &edge.id));
    (journals.iter_mut()).for_each(|journal| raise(&mut journal.level, &journal.id));
    (members.iter_mut()).for_each(|member| raise(&mut member.level, &member.id));
    (links.iter_mut()).for_each(|link| raise(&mut link.level, &link.id));
    (kinds.iter_mut()).for_each(|kind| raise(&mut kind.level, &kind.id));
}
