//! Details of the selected row.

use garrick_measure::units;
use garrick_telemetry::{Edge, Node, NodeKind, Snapshot, SponsorStatus};

use crate::tables::{Row, Tab, fill, longest};
use crate::values::{Mark, Value};

/// Maximum number of turns listed for a sponsor. No line has room for more.
const TURNS_MAX: usize = 4;

/// Details of a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Detail {
    /// Name of the row.
    pub(crate) title: String,
    /// Text about the row, with all values that have no column, or none on a narrow screen.
    pub(crate) facts: String,
    /// Name of a share, the share, and text to show next to it.
    pub(crate) gauge: Option<(&'static str, f64, String)>,
    /// Messages or turns per second.
    pub(crate) rate: Option<f64>,
}

/// Returns the details of `row` in `tab`.
pub(crate) fn of(tab: Tab, row: &Row, snapshot: &Snapshot) -> Detail {
    let detail = match tab {
        Tab::Nodes => snapshot
            .nodes
            .iter()
            .find(|node| node.id == row.id)
            .map(node),
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
            let mut alerts = snapshot.alerts.iter();
            let alert = alerts.find(|alert| row.id == format!("{} {}", alert.on, alert.probe));
            alert.map(|alert| Detail {
                facts: alert.text.clone(),
                ..Detail::default()
            })
        }
    };
    Detail {
        title: row.values.first().map(Value::short).unwrap_or_default(),
        ..detail.unwrap_or_default()
    }
}

fn node(node: &Node) -> Detail {
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
    Detail {
        facts,
        gauge: node.busy.map(|busy| ("busy", busy, String::new())),
        rate: Some(node.rate),
        ..Detail::default()
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
            "{}{} workers, {} turns, {} actors given away, {} taken over, {} parks",
            turns(sponsor),
            sponsor.workers,
            units::whole(sponsor.turns),
            units::whole(sponsor.published),
            units::whole(sponsor.claimed),
            units::whole(sponsor.parks),
        ),
        gauge: sponsor.idle.map(|idle| ("busy", 1.0 - idle, String::new())),
        rate: Some(sponsor.turn_rate),
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
    use super::*;
    use crate::sample;

    #[test]
    fn every_kind_of_row_has_something_to_say() {
        let snapshot = sample::snapshot();
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
                "worker 1 in Counter for 2.30 s; worker 3 in worker for 20.0 ms; 2 workers, 5,000 turns, 3 actors given away, 2 taken over, 40 parks",
                Some("busy"),
            ),
            ("messages", "messages is 97 % full, 90 % is critical", None),
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
    fn a_row_that_is_gone_has_its_name_only() {
        let row = &Tab::Nodes.rows(&sample::snapshot())[0];
        let detail = of(Tab::Nodes, row, &Snapshot::default());
        assert_eq!((&*detail.title, &*detail.facts), ("generator", ""));
    }
}
