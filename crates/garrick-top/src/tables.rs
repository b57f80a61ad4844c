//! Tables: their columns and their cells.

pub(crate) mod clusters;
pub(crate) mod journals;
pub(crate) mod metrics;

use std::collections::HashMap;

use garrick_telemetry::{Alert, Edge, Held, Node, NodeKind, Snapshot, SponsorStatus, State};

use crate::text;
use crate::values::{BAR_WIDTH, Mark, Value};

/// A table that the user can select.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tab {
    #[default]
    Nodes,
    Channels,
    Sponsors,
    Alerts,
    /// Metrics that the process itself records.
    Metrics,
    /// Journals of durable actors.
    Journals,
    /// Members of clusters.
    Members,
    /// Links to other nodes of clusters.
    Links,
    /// Kinds of entities in clusters.
    Kinds,
}

impl Tab {
    pub(crate) const ALL: [Self; 9] = [
        Self::Nodes,
        Self::Channels,
        Self::Sponsors,
        Self::Alerts,
        Self::Metrics,
        Self::Journals,
        Self::Members,
        Self::Links,
        Self::Kinds,
    ];

    /// Returns the tables for `snapshot`. A table of metrics, of journals or of clusters is
    /// included only if it has rows. For most processes, these tables have no rows.
    pub(crate) fn offered(snapshot: &Snapshot) -> Vec<Self> {
        let is_usual = |tab: &Self| *tab as usize <= Self::Alerts as usize;
        let tabs = Self::ALL.into_iter();
        tabs.filter(|tab| is_usual(tab) || tab.len(snapshot) > 0)
            .collect()
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Nodes => "Stages & actors",
            Self::Channels => "Channels",
            Self::Sponsors => "Sponsors",
            Self::Alerts => "Alerts",
            Self::Metrics => "Metrics",
            Self::Journals => "Journals",
            Self::Members => "Members",
            Self::Links => "Links",
            Self::Kinds => "Entities",
        }
    }

    /// Returns the total number of rows.
    pub(crate) fn len(self, snapshot: &Snapshot) -> usize {
        match self {
            Self::Nodes => snapshot.nodes.len(),
            Self::Channels => snapshot.edges.len(),
            Self::Sponsors => snapshot.sponsors.len(),
            Self::Alerts => snapshot.alerts.len(),
            Self::Metrics => metrics::all(snapshot).count(),
            Self::Journals => snapshot.journals.len(),
            Self::Members => snapshot.members.len(),
            Self::Links => snapshot.links.len(),
            Self::Kinds => snapshot.kinds.len(),
        }
    }

    /// Returns the index of the column by which the rows are sorted by default, largest values
    /// first. The column shows the load of a stage, a group of actors, a sponsor, a journal or a
    /// link, the fill of a channel, or the number of running entities of a kind. Returns `None` for
    /// alerts, metrics and members, because their rows are not sorted by default.
    pub(crate) fn load_column(self) -> Option<usize> {
        let title = match self {
            Self::Nodes => "BUSY",
            Self::Channels => "FILL",
            Self::Sponsors | Self::Journals => "TURNS/S",
            Self::Links => "SENT/S",
            Self::Kinds => "RUNNING",
            Self::Alerts | Self::Metrics | Self::Members => return None,
        };
        let mut columns = self.columns().iter();
        columns.position(|column| column.title == title)
    }

    pub(crate) fn columns(self) -> &'static [Column] {
        match self {
            Self::Nodes => NODES,
            Self::Channels => CHANNELS,
            Self::Sponsors => SPONSORS,
            Self::Alerts => ALERTS,
            Self::Metrics => metrics::COLUMNS,
            Self::Journals => journals::COLUMNS,
            Self::Members => clusters::MEMBERS,
            Self::Links => clusters::LINKS,
            Self::Kinds => clusters::KINDS,
        }
    }

    pub(crate) fn rows(self, snapshot: &Snapshot) -> Vec<Row> {
        let names = Names::new(snapshot);
        match self {
            Self::Nodes => snapshot.nodes.iter().map(node).collect(),
            Self::Channels => snapshot
                .edges
                .iter()
                .map(|edge| channel(edge, &names))
                .collect(),
            Self::Sponsors => snapshot.sponsors.iter().map(sponsor).collect(),
            Self::Alerts => {
                let row = |(id, alert)| self::alert(alert, id, &names, snapshot.unix_ms);
                alerts(snapshot).map(row).collect()
            }
            Self::Metrics => metrics::all(snapshot).map(metrics::row).collect(),
            Self::Journals => snapshot.journals.iter().map(journals::row).collect(),
            Self::Members => snapshot.members.iter().map(clusters::member).collect(),
            Self::Links => snapshot.links.iter().map(clusters::link).collect(),
            Self::Kinds => snapshot.kinds.iter().map(clusters::kind).collect(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// Width on a screen. For the first column this is the minimum width, because the first column
    /// gets the remaining width of the line.
    pub(crate) width: usize,
    /// True if the column contains figures, which are aligned to the right.
    pub(crate) is_figure: bool,
    /// Rank of the column. If the screen is narrow, the columns with the highest ranks are dropped
    /// first.
    pub(crate) rank: u8,
}

const fn text_column(title: &'static str, width: usize, rank: u8) -> Column {
    Column {
        title,
        width,
        is_figure: false,
        rank,
    }
}

const fn figure(title: &'static str, width: usize, rank: u8) -> Column {
    Column {
        title,
        width,
        is_figure: true,
        rank,
    }
}

/// Columns of the table of stages and actors. On a narrow screen, the columns for failures,
/// restarts and long turns are dropped later than most other columns.
static NODES: &[Column] = &[
    text_column("NAME", 12, 0),
    text_column("KIND", 6, 8),
    text_column("PLACE", 12, 6),
    figure("RATE/S", 7, 0),
    figure("MESSAGES", 9, 1),
    figure("BUSY", BAR_WIDTH, 1),
    figure("STARVED", 8, 5),
    figure("PRESSED", 8, 5),
    figure("TURNS/S", 8, 7),
    figure("TURNS", 7, 10),
    figure("ALIVE", 7, 8),
    figure("QUEUE", 7, 2),
    figure("WAIT P99", 9, 9),
    figure("FAILURES", 9, 3),
    figure("RESTARTS", 9, 3),
    figure("SLOW", 6, 9),
    figure("TURN", 8, 4),
    figure("AWAY", 5, 9),
];

fn node(node: &Node) -> Row {
    let kind = match node.kind {
        NodeKind::Stage => "stage",
        NodeKind::Actors => "actors",
    };
    Row {
        id: node.id.clone(),
        mark: Mark::of(node.state, node.level),
        values: vec![
            Value::text(&node.name),
            Value::text(kind),
            Value::text(&node.place),
            Value::Rate(node.rate),
            Value::Count(node.messages),
            Value::bar(node.busy),
            Value::share(node.starved),
            Value::share(node.back_pressured),
            Value::Rate(node.turn_rate),
            Value::Count(node.turns),
            Value::count(node.alive),
            Value::count(node.waiting),
            Value::time(node.wait_seconds.as_ref().and_then(|waits| waits.p99)),
            Value::Count(node.failures),
            Value::Count(node.restarts),
            Value::Count(node.slow),
            Value::time(node.held_seconds),
            Value::count(node.away),
        ],
    }
}

static CHANNELS: &[Column] = &[
    text_column("CHANNEL", 16, 0),
    text_column("MESSAGE", 12, 3),
    figure("CAPACITY", 9, 4),
    figure("RATE/S", 7, 0),
    figure("TOTAL", 7, 1),
    figure("FILL", BAR_WIDTH, 1),
    figure("P80", 5, 2),
    figure("P95", 5, 5),
    figure("BATCH", 7, 6),
    figure("WAITS OUT", 10, 7),
    figure("WAITS IN", 9, 7),
];

fn channel(edge: &Edge, names: &Names<'_>) -> Row {
    let state = if edge.closed {
        State::Ended
    } else {
        State::Running
    };
    Row {
        id: edge.id.clone(),
        mark: Mark::of(state, edge.level),
        values: vec![
            Value::Text(names.channel(edge)),
            Value::text(&edge.message),
            Value::Count(edge.capacity),
            Value::Rate(edge.rate),
            Value::Count(edge.total),
            Value::Bar(fill(edge)),
            Value::Share(edge.fill_p80),
            Value::Share(edge.fill_p95),
            batch(edge),
            Value::Count(edge.sender_stalls),
            Value::Count(edge.receiver_stalls),
        ],
    }
}

/// Returns the share of the channel's capacity that is in use now.
pub(crate) fn fill(edge: &Edge) -> f64 {
    edge.fill as f64 / edge.capacity.max(1) as f64
}

/// Returns the median number of messages in a batch of the channel, rounded to a power of two.
fn batch(edge: &Edge) -> Value {
    let total: u64 = edge
        .batches
        .counts
        .iter()
        .fold(0, |sum, count| sum.saturating_add(*count));
    let mut seen = 0u64;
    let middle = edge.batches.counts.iter().position(|count| {
        seen = seen.saturating_add(*count);
        seen > total / 2
    });
    let size = middle.and_then(|power| 1u64.checked_shl(u32::try_from(power).ok()?));
    Value::count(size)
}

static SPONSORS: &[Column] = &[
    text_column("SPONSOR", 12, 0),
    figure("WORKERS", 8, 1),
    figure("IDLE", BAR_WIDTH, 1),
    figure("TURNS/S", 8, 0),
    figure("TURNS", 7, 2),
    figure("GIVEN", 7, 4),
    figure("TAKEN", 7, 4),
    figure("PARKS", 7, 3),
    figure("DEAD", 6, 5),
    figure("READY", 6, 7),
    figure("RESCUES", 8, 8),
    figure("WAIT P99", 9, 6),
    figure("TURN", 8, 2),
    text_column("OF", 16, 3),
];

/// Returns the turns that hold a worker, longest first. Skips turns that have just begun.
pub(crate) fn longest(sponsor: &SponsorStatus) -> impl Iterator<Item = &Held> {
    let turns = sponsor.held.iter().filter(|held| held.seconds > 0.0);
    let mut turns: Vec<_> = turns.collect();
    turns.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    turns.into_iter()
}

fn sponsor(sponsor: &SponsorStatus) -> Row {
    let turn = longest(sponsor).next();
    Row {
        id: sponsor.id.clone(),
        mark: Mark::Ok,
        values: vec![
            Value::text(&sponsor.name),
            Value::Count(sponsor.workers),
            Value::bar(sponsor.idle),
            Value::Rate(sponsor.turn_rate),
            Value::Count(sponsor.turns),
            Value::Count(sponsor.published),
            Value::Count(sponsor.claimed),
            Value::Count(sponsor.parks),
            Value::Count(sponsor.dead_letters),
            Value::count(sponsor.ready),
            Value::Count(sponsor.rescues),
            Value::time(sponsor.wait_seconds.as_ref().and_then(|waits| waits.p99)),
            Value::time(turn.map(|turn| turn.seconds)),
            turn.map_or(Value::None, |turn| Value::text(&turn.name)),
        ],
    }
}

static ALERTS: &[Column] = &[
    text_column("ON", 16, 0),
    text_column("VALUE", 12, 1),
    text_column("LEVEL", 8, 2),
    figure("NOW", 8, 0),
    figure("LIMIT", 8, 1),
    figure("FOR", 11, 3),
];

/// Returns the alerts, each with the id of its row. Several thresholds can apply to one value, so
/// the id also contains a number.
pub(crate) fn alerts(snapshot: &Snapshot) -> impl Iterator<Item = (String, &Alert)> {
    let mut counts = HashMap::new();
    snapshot.alerts.iter().map(move |alert| {
        let count = counts.entry((&alert.on, &alert.probe)).or_insert(0);
        *count += 1;
        (format!("{} {} {count}", alert.on, alert.probe), alert)
    })
}

fn alert(alert: &Alert, id: String, names: &Names<'_>, now_ms: u64) -> Row {
    let mark = Mark::from(alert.level);
    let since_ms = now_ms.saturating_sub(alert.since_unix_ms);
    Row {
        id,
        mark,
        values: vec![
            Value::Text(names.of(&alert.on)),
            Value::text(&alert.probe),
            Value::text(mark.word()),
            Value::Number(alert.value),
            Value::Number(alert.threshold),
            Value::Span(since_ms as f64 / 1e3),
        ],
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// Id of the row, the same in every snapshot.
    pub(crate) id: String,
    /// Mark of the row, such as a warning.
    pub(crate) mark: Mark,
    /// Cells of the row, one for each column.
    pub(crate) values: Vec<Value>,
}

impl Row {
    /// Returns true if a text of the row contains `words`, or if the row's mark is `words`. `words`
    /// must be in lower case.
    pub(crate) fn matches(&self, words: &str) -> bool {
        words.is_empty()
            || self.mark.word() == words
            || self.values.iter().any(|value| match value {
                Value::Text(text) => text.to_lowercase().contains(words),
                _ => false,
            })
    }
}

/// Names of nodes, channels and other items, by id.
struct Names<'a> {
    nodes: HashMap<&'a str, &'a str>,
    others: HashMap<&'a str, String>,
}

impl<'a> Names<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let nodes = snapshot.nodes.iter();
        let mut names = Self {
            nodes: nodes.map(|node| (&*node.id, &*node.name)).collect(),
            others: HashMap::new(),
        };
        if !snapshot.alerts.is_empty() {
            let edges = snapshot.edges.iter();
            let edges = edges.map(|edge| (&*edge.id, names.channel(edge)));
            let sponsors = snapshot.sponsors.iter();
            let sponsors = sponsors.map(|sponsor| (&*sponsor.id, sponsor.name.clone()));
            let journals = snapshot.journals.iter();
            let journals = journals.map(|journal| (&*journal.id, journal.name.clone()));
            let members = snapshot.members.iter();
            let members = members.map(|member| (&*member.id, member.name.clone()));
            let links = snapshot.links.iter();
            let links = links.map(|link| (&*link.id, link.name.clone()));
            let kinds = snapshot.kinds.iter();
            let kinds = kinds.map(|kind| (&*kind.id, kind.name.clone()));
            let usual = edges.chain(sponsors).chain(journals);
            names.others = usual.chain(members).chain(links).chain(kinds).collect();
        }
        names
    }

    fn of(&self, id: &str) -> String {
        let node = self.nodes.get(id).map(|name| (*name).to_owned());
        node.or_else(|| self.others.get(id).cloned())
            .unwrap_or_else(|| text::safe(id))
    }

    /// Returns the channel's name. If the channel has no name, returns the names of its sender and
    /// receiver.
    fn channel(&self, edge: &Edge) -> String {
        let end = |id: &Option<String>| id.as_deref().and_then(|id| self.nodes.get(id).copied());
        edge.name.clone().unwrap_or_else(|| {
            let (from, to) = (end(&edge.from), end(&edge.to));
            format!("{} -> {}", from.unwrap_or("?"), to.unwrap_or("?"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn every_row_has_a_value_for_each_column() {
        let snapshot = sample::with_all();
        for tab in Tab::ALL {
            let rows = tab.rows(&snapshot);
            assert_eq!(rows.len(), tab.len(&snapshot), "{tab:?}");
            assert!(!rows.is_empty(), "{tab:?}");
            for row in rows {
                assert_eq!(row.values.len(), tab.columns().len(), "{tab:?}");
            }
            let first = &tab.columns()[0];
            assert!(
                !first.is_figure && first.rank == 0,
                "the first column is the name"
            );
            for column in tab.columns() {
                assert!(
                    column.width > column.title.len(),
                    "{}: no room for the sign",
                    column.title
                );
            }
        }
    }

    #[test]
    fn two_alerts_of_one_value_have_two_rows() {
        let mut snapshot = sample::snapshot();
        let twin = snapshot.alerts[0].clone();
        snapshot.alerts.insert(0, twin);
        let rows = Tab::Alerts.rows(&snapshot);
        assert_ne!(rows[0].id, rows[1].id);
    }

    #[test]
    fn channels_without_a_name_are_called_by_their_ends() {
        let snapshot = sample::snapshot();
        let rows = Tab::Channels.rows(&snapshot);
        assert_eq!(rows[0].values[0], Value::text("generator -> worker"));
        assert_eq!(rows[1].values[0], Value::text("messages"));
        assert_eq!(
            Tab::Alerts.rows(&snapshot)[0].values[0],
            Value::text("messages")
        );
        let alone = Edge::default();
        assert_eq!(Names::new(&Snapshot::default()).channel(&alone), "? -> ?");
    }

    #[test]
    fn the_middle_batch_is_that_of_most() {
        let sized = |counts: &[u64]| {
            let mut edge = Edge::default();
            edge.batches.counts = counts.to_vec();
            batch(&edge)
        };
        assert_eq!(sized(&[]), Value::None);
        assert_eq!(sized(&[0, 0]), Value::None);
        assert_eq!(sized(&[1, 0, 0, 5, 20]), Value::Count(16));
        assert_eq!(sized(&[u64::MAX, u64::MAX]), Value::Count(1));
    }

    #[test]
    fn filters_look_at_texts_and_marks() {
        let rows = Tab::Nodes.rows(&sample::snapshot());
        let found = |words| rows.iter().filter(|row| row.matches(words)).count();
        assert_eq!(
            [
                found(""),
                found("work"),
                found("actors"),
                found("failed"),
                found("161")
            ],
            [4, 1, 1, 1, 0]
        );
    }
}
