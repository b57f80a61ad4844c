//! Details of the selected row.

use garrick_measure::units;
use garrick_telemetry::{
    Edge, Histogram, JournalStatus, KindStatus, LinkStatus, MemberStatus, Node, NodeKind, Snapshot,
    SponsorStatus,
};

use crate::tables::{Row, Tab, alerts, clusters, fill, journals, longest, metrics};
use crate::values::{Mark, Value};

/// Maximum number of running turns that are listed for a sponsor (a thread pool). No line has room
/// for more.
const TURNS_MAX: usize = 4;

/// Smallest share of a core that the details of a row mention.
const BUSY_MIN: f64 = 0.05;

/// Details of the selected row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Detail {
    /// Name of the row.
    pub(crate) title: String,
    /// Text about the row. The text contains the values that have no column in the table, and the
    /// values that have a column on wide screens only.
    pub(crate) facts: String,
    /// Text about the remarkable actors of a group, such as the actor with the longest mailbox. The
    /// text is shown only on a high screen.
    pub(crate) outstanding: String,
    /// A share to draw as a bar: its label, the share, and a text to show next to it.
    pub(crate) gauge: Option<(&'static str, f64, String)>,
    /// Rate per second, such as the rate of messages, turns or created entities.
    pub(crate) rate: Option<f64>,
}

/// Returns the details of `row`, which is a row of the table `tab`.
pub(crate) fn of(tab: Tab, row: &Row, snapshot: &Snapshot) -> Detail {
    let detail = match tab {
        Tab::Nodes => snapshot
            .nodes
            .iter()
            .find(|node| node.id == row.id)
            .map(|node| self::node(node, snapshot)),
        Tab::Channels => snapshot
            .edges
            .iter()
            .find(|edge| edge.id == row.id)
            .map(channel),
        Tab::Sponsors => {
            let mut sponsors = snapshot.sponsors.iter();
            sponsors.find(|sponsor| sponsor.id == row.id).map(sponsor)
        }
        Tab::Alerts => {
            let alert = alerts(snapshot).find(|(id, _)| *id == row.id);
            alert.map(|(_, alert)| Detail {
                facts: alert.text.clone(),
                ..Detail::default()
            })
        }
        Tab::Metrics => {
            let own = metrics::all(snapshot).find(|own| metrics::id(*own) == row.id);
            own.map(|(metric, series)| Detail {
                facts: metric.help.to_string(),
                rate: series.rate,
                ..Detail::default()
            })
        }
        Tab::Journals => {
            let mut journals = snapshot.journals.iter();
            journals.find(|journal| journal.id == row.id).map(journal)
        }
        Tab::Members => {
            let mut members = snapshot.members.iter();
            members.find(|member| member.id == row.id).map(member)
        }
        Tab::Links => {
            let mut links = snapshot.links.iter();
            links.find(|link| link.id == row.id).map(link)
        }
        Tab::Kinds => {
            let mut kinds = snapshot.kinds.iter();
            kinds.find(|kind| kind.id == row.id).map(kind)
        }
    };
    Detail {
        title: row.values.first().map(Value::short).unwrap_or_default(),
        ..detail.unwrap_or_default()
    }
}

fn node(node: &Node, snapshot: &Snapshot) -> Detail {
    let mark = Mark::of(node.state, node.level).word();
    let mut facts = match (node.kind, node.alive) {
        (NodeKind::Actors, Some(alive)) => {
            format!("{} actors on {}", units::whole(alive), node.place)
        }
        (NodeKind::Actors, None) => format!("actors on {}", node.place),
        (NodeKind::Stage, _) => format!("stage on {}", node.place),
    };
    facts.push_str(&format!(", {mark}"));
    if let Some(note) = &node.note {
        facts.push_str(&format!(": {note}"));
    }
    if let Some(held) = node.held_seconds.filter(|held| *held > 0.0) {
        facts.push_str(&format!("; in a turn for {}", Value::Time(held).full()));
    }
    if let Some(away) = node.away.filter(|away| *away > 0) {
        let longest = Value::time(node.away_seconds).full();
        facts.push_str(&format!(
            "; {away} in cx.blocking, the longest for {longest}"
        ));
    }
    facts.push_str(&format!("; {} messages", units::whole(node.messages)));
    facts.push_str(&waited(node.wait_seconds.as_ref()));
    Detail {
        facts,
        outstanding: outstanding(node, snapshot),
        gauge: node.busy.map(|busy| ("busy", busy, waits(node))),
        rate: Some(node.rate),
        ..Detail::default()
    }
}

/// Describes the remarkable actors of a group: the actors with the latest failure, the longest
/// mailbox, the oldest waiting message and the highest load.
fn outstanding(node: &Node, snapshot: &Snapshot) -> String {
    let mut failures = snapshot.recent_failures.iter();
    let last = failures.find(|one| one.name == node.name && one.place == node.place);
    let last = last.map(|one| {
        let path = one.path.as_ref().unwrap_or(&one.name);
        format!("last failure of {path}: {}", one.reason)
    });
    let actors = || snapshot.actors.iter().filter(|one| one.node == node.id);
    let longest = actors().max_by_key(|one| one.waiting);
    let longest = longest.filter(|one| one.waiting > 0);
    let longest = longest.map(|one| format!("{} wait for {}", units::whole(one.waiting), one.name));
    let ages = actors().filter_map(|one| Some((one.oldest_seconds?, one)));
    let oldest = ages.max_by(|(one, _), (other, _)| one.total_cmp(other));
    let oldest = oldest.map(|(seconds, one)| {
        let seconds = Value::Time(seconds).full();
        format!("a message for {} has waited for {seconds}", one.name)
    });
    let busy = actors().filter_map(|one| Some((one.busy?, one)));
    let busiest = busy.max_by(|(one, _), (other, _)| one.total_cmp(other));
    let busiest = busiest.filter(|(busy, _)| *busy >= BUSY_MIN);
    let busiest = busiest.map(|(busy, one)| {
        let busy = Value::Share(busy).full();
        format!("{} is busy for {busy}", one.name)
    });
    let words: Vec<_> = [last, longest, oldest, busiest]
        .into_iter()
        .flatten()
        .collect();
    words.join("; ")
}

/// Returns a text with the median, the 99th percentile and the maximum of the times that messages
/// have waited.
fn waited(waits: Option<&Histogram>) -> String {
    let of = |waits: &Histogram| Some((waits.p50?, waits.p99?, waits.max?));
    waits
        .and_then(of)
        .map_or_else(String::new, |(p50, p99, max)| {
            let [p50, p99, max] = [p50, p99, max].map(|seconds| Value::Time(seconds).full());
            format!("; messages waited {p50} (median), {p99} (99 %), at most {max}")
        })
}

/// Returns a text with two percentages: how much of the time a stage waited for messages, and how
/// much of the time it waited for room in output channels. The percentages refer to the period over
/// which rates are computed.
fn waits(node: &Node) -> String {
    let share = |share, name| Value::share(share).full() + name;
    match (node.starved, node.back_pressured) {
        (None, None) => String::new(),
        (starved, pressed) => {
            let (starved, pressed) = (
                share(starved, " starved"),
                share(pressed, " back-pressured"),
            );
            format!("  {starved}, {pressed}")
        }
    }
}

fn channel(edge: &Edge) -> Detail {
    let closed = if edge.closed { ", closed" } else { "" };
    let (p80, p95) = (
        Value::Share(edge.fill_p80).full(),
        Value::Share(edge.fill_p95).full(),
    );
    Detail {
        facts: format!(
            "{} of {} slots full{closed}; {} messages; the sender waited {} times, the receiver {}",
            units::whole(edge.fill),
            units::whole(edge.capacity),
            units::whole(edge.total),
            units::whole(edge.sender_stalls),
            units::whole(edge.receiver_stalls),
        ),
        gauge: Some(("fill", fill(edge), format!("  p80 {p80}  p95 {p95}"))),
        rate: Some(edge.rate),
        ..Detail::default()
    }
}

fn sponsor(sponsor: &SponsorStatus) -> Detail {
    Detail {
        facts: format!(
            "{}{} workers, {} turns, {} actors given away, {} taken over, {} parks, {} rescues{}",
            turns(sponsor),
            sponsor.workers,
            units::whole(sponsor.turns),
            units::whole(sponsor.published),
            units::whole(sponsor.claimed),
            units::whole(sponsor.parks),
            units::whole(sponsor.rescues),
            waited(sponsor.wait_seconds.as_ref()),
        ),
        gauge: sponsor.idle.map(|idle| ("busy", 1.0 - idle, String::new())),
        rate: Some(sponsor.turn_rate),
        ..Detail::default()
    }
}

fn journal(journal: &JournalStatus) -> Detail {
    let mut facts = journals::word(journal.phase).to_owned();
    if let (Some(read), Some(all)) = (journal.opening_read_bytes, journal.opening_bytes) {
        let (read, all) = (units::bytes(read), units::bytes(all));
        facts.push_str(&format!("; {read} of {all} were read"));
    }
    for (name, text) in [("failure", &journal.failure), ("notice", &journal.notice)] {
        if let Some(text) = text {
            facts.push_str(&format!("; last {name}: {text}"));
        }
    }
    if let Some(turns) = journal.group_turns {
        facts.push_str(&format!("; {turns:.1} turns in a group"));
    }
    let time = |seconds| Value::Time(seconds).full();
    facts.push_str(&format!(
        "; {} groups, the longest took {}; {} files of {}; {} compactions; {} saved states; {} \
         states were read in {}",
        units::whole(journal.groups),
        time(journal.longest_group_seconds),
        units::whole(journal.segments),
        units::bytes(journal.size_bytes),
        units::whole(journal.compactions),
        units::whole(journal.saved_states),
        units::whole(journal.recoveries),
        time(journal.recovery_seconds),
    ));
    let written = units::bytes(journal.written_bytes);
    Detail {
        facts,
        gauge: (journal.writing).map(|share| ("disk", share, format!("  {written} written"))),
        rate: Some(journal.turn_rate),
        ..Detail::default()
    }
}

fn member(member: &MemberStatus) -> Detail {
    let mut facts = clusters::member_word(member.state).to_owned();
    let shards = member.shards.iter();
    let shards: Vec<_> = shards
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    if !shards.is_empty() {
        facts.push_str(&format!("; shards: {}", shards.join(", ")));
    }
    if let Some(own) = &member.own {
        facts.push_str(&format!(
            "; joined {} times, lost its membership {} times, was fenced {} times, removed {} \
             members",
            own.joined, own.lost, own.fenced, own.removed
        ));
        if let Some(failure) = &own.failure {
            facts.push_str(&format!("; last failure: {failure}"));
        }
    }
    Detail {
        facts,
        ..Detail::default()
    }
}

fn link(link: &LinkStatus) -> Detail {
    let facts = format!(
        "{} for {}; {} messages in {} frames ({}) sent, {} in {} ({}) received; {} lost, {} may be \
         lost, {} refused; {} frames ({}) wait; {} questions are open",
        clusters::link_word(link.state),
        Value::Time(link.state_seconds).full(),
        units::whole(link.sent_messages),
        units::whole(link.sent_frames),
        units::bytes(link.sent_bytes),
        units::whole(link.received_messages),
        units::whole(link.received_frames),
        units::bytes(link.received_bytes),
        units::whole(link.lost_messages),
        units::whole(link.unconfirmed_messages),
        units::whole(link.refused_messages),
        units::whole(link.waiting_frames),
        units::bytes(link.waiting_bytes),
        units::whole(link.questions),
    );
    Detail {
        facts,
        rate: Some(link.sent_rate),
        ..Detail::default()
    }
}

fn kind(kind: &KindStatus) -> Detail {
    let runs = if kind.is_hosted {
        "runs here"
    } else {
        "used here"
    };
    let facts = format!(
        "{runs}; {} of {} shards here, {} without an owner, {} handed over from here, {} by any \
         node; {} entities created, {} stopped because idle, {} did not end in time; {} messages \
         found a full mailbox",
        kind.owned_shards,
        kind.shards,
        kind.unowned_shards,
        kind.handing_over_shards,
        kind.moving_shards,
        units::whole(kind.created),
        units::whole(kind.passivated),
        units::whole(kind.abandoned_entities),
        units::whole(kind.refused_messages),
    );
    Detail {
        facts,
        rate: Some(kind.created_rate),
        ..Detail::default()
    }
}

/// Returns the list of running turns, longest first.
fn turns(sponsor: &SponsorStatus) -> String {
    let mut words = String::new();
    for turn in longest(sponsor).take(TURNS_MAX) {
        let (worker, name, time) = (turn.worker, &turn.name, Value::Time(turn.seconds).full());
        words.push_str(&format!("worker {worker} in {name} for {time}; "));
    }
    words
}

#[cfg(test)]
mod tests {
    use garrick_telemetry::{ActorStatus, RecentFailure};

    use super::*;
    use crate::sample;

    #[test]
    fn every_kind_of_row_has_something_to_say() {
        let snapshot = sample::with_all();
        let said = Tab::ALL.map(|tab| {
            let row = tab.rows(&snapshot).pop().unwrap();
            let Detail {
                title,
                facts,
                gauge,
                ..
            } = of(tab, &row, &snapshot);
            (
                title,
                facts,
                gauge.map(|(name, _, more)| format!("{name}{more}")),
            )
        });
        let expected = [
            (
                "Counter",
                "1,000,000 actors on sponsor-0, ok; in a turn for 2.30 s; 2 in cx.blocking, the longest for 4.50 s; 3,000 messages",
                Some("busy"),
            ),
            (
                "messages",
                "63,569 of 65,536 slots full; 9,650,000,000 messages; the sender waited 1,000 times, the receiver 20",
                Some("fill  p80 97%  p95 97%"),
            ),
            (
                "pipeline",
                "worker 1 in Counter for 2.30 s; worker 3 in worker for 20.0 ms; 2 workers, 5,000 turns, 3 actors given away, 2 taken over, 40 parks, 0 rescues",
                Some("busy"),
            ),
            ("messages", "messages is 97 % full, 90 % is critical", None),
            ("order_seconds", "Time that an order took.", None),
            (
                "bank",
                "open; last failure: no space is left; 12.5 turns in a group; 4,000 groups, the longest took 30.0 ms; 3 files of 12.0 MiB; 1 compactions; 7 saved states; 20 states were read in 15.0 ms",
                Some("disk  16.0 MiB written"),
            ),
            ("bank-2", "removed", None),
            (
                "bank-2",
                "down for 12.0 s; 5,000 messages in 400 frames (1.00 MiB) sent, 4,000 in 300 (512 KiB) received; 17 lost, 3 may be lost, 0 refused; 2 frames (4.00 KiB) wait; 1 questions are open",
                None,
            ),
            (
                "account",
                "runs here; 9 of 16 shards here, 7 without an owner, 1 handed over from here, 2 by any node; 1,300 entities created, 60 stopped because idle, 0 did not end in time; 4 messages found a full mailbox",
                None,
            ),
        ];
        for (said, (title, facts, gauge)) in said.into_iter().zip(expected) {
            assert_eq!(
                said,
                (title.to_owned(), facts.to_owned(), gauge.map(str::to_owned))
            );
        }
    }

    #[test]
    fn a_failure_gives_its_reason() {
        let snapshot = sample::snapshot();
        let row = &Tab::Nodes.rows(&snapshot)[2];
        assert!(
            of(Tab::Nodes, row, &snapshot)
                .facts
                .contains("failed: index out of bounds")
        );
    }

    #[test]
    fn a_group_tells_which_of_its_actors_stand_out() {
        let mut snapshot = sample::snapshot();
        let group = snapshot.nodes.iter().find(|node| node.name == "Counter");
        let group = group.unwrap().clone();
        for (name, waiting, busy) in [("/user/a#1", 12_500, 0.03), ("/user/b#2", 7, 0.97)] {
            snapshot.actors.push(ActorStatus {
                node: group.id.clone(),
                name: name.to_owned(),
                waiting,
                busy: Some(busy),
                ..ActorStatus::default()
            });
        }
        for (name, reason) in [
            ("Other", "no"),
            ("Counter", "out of range"),
            ("Counter", "old"),
        ] {
            snapshot.recent_failures.push(RecentFailure {
                name: name.to_owned(),
                place: group.place.clone(),
                path: Some("/user/c#3".to_owned()),
                reason: reason.to_owned(),
                ..RecentFailure::default()
            });
        }
        assert_eq!(
            node(&group, &snapshot).outstanding,
            "last failure of /user/c#3: out of range; 12,500 wait for /user/a#1; /user/b#2 is busy \
             for 97%"
        );
        assert_eq!(node(&group, &Snapshot::default()).outstanding, "");
    }

    #[test]
    fn a_row_that_is_gone_has_its_name_only() {
        let row = &Tab::Nodes.rows(&sample::snapshot())[0];
        let detail = of(Tab::Nodes, row, &Snapshot::default());
        assert_eq!((&*detail.title, &*detail.facts), ("generator", ""));
    }
}
