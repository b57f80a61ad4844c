//! Compares successive snapshots with the thresholds.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;

use crate::snapshot::{Alert, Level, Snapshot};
use crate::window::Nanos;

use super::probe::{Found, Indexed, ids, mark};
use super::{Threshold, Transition, text};

/// The thresholds, and the values that are beyond a threshold or recently were.
#[derive(Debug)]
pub(crate) struct Rules {
    thresholds: Vec<Threshold>,
    /// Values that are beyond a threshold or recently were, with or without an alert. The key is
    /// the index of the threshold and the identifier of the item that has the value. Other values
    /// have no entry, so the map never has more entries than there are watched values.
    cases: HashMap<(usize, String), Case>,
}

/// A value that is beyond a threshold, or recently was.
#[derive(Debug, Clone)]
struct Case {
    /// A level that differs from the alert's level, and the start of the current period in which
    /// the value is at this level or farther from the alert's level, on the same side. `None` if
    /// the value is at the alert's level.
    moving: Option<(Level, Nanos)>,
    /// Name of the item that has the value.
    name: String,
    /// The alert, with the level that currently applies.
    alert: Alert,
    /// Sequence number of the latest snapshot that contains the value.
    seen: u64,
}

impl Rules {
    /// Creates rules for `thresholds`, without alerts.
    pub(crate) fn new(thresholds: Vec<Threshold>) -> Self {
        Self {
            thresholds,
            cases: HashMap::new(),
        }
    }

    /// Compares the values of `snapshot` with the thresholds. Sets the alerts and levels of the
    /// snapshot, and returns the alert changes.
    pub(crate) fn judge(&mut self, snapshot: &mut Snapshot, now: Nanos) -> Vec<Transition> {
        let mut transitions = Vec::new();
        let at = Moment {
            now,
            unix_ms: snapshot.unix_ms,
            look: snapshot.sequence,
        };
        let indexed = Indexed::new(snapshot);
        for (rule, threshold) in self.thresholds.iter().enumerate() {
            threshold.probe().each(&indexed, |found| {
                if threshold.is_for(found) {
                    transitions.extend(judge_one(&mut self.cases, rule, threshold, found, at));
                }
            });
        }
        transitions.extend(self.forget_what_is_gone(snapshot));
        self.write_to(snapshot);
        transitions
    }

    /// Ends the alerts of items that no longer exist, and of values that are no longer known.
    fn forget_what_is_gone(&mut self, snapshot: &Snapshot) -> Vec<Transition> {
        let gone = self
            .cases
            .extract_if(|_, case| case.seen != snapshot.sequence);
        let raised = gone.filter(|(_, case)| case.alert.level != Level::Ok);
        let known = OnceCell::new();
        let exists = |id: &str| known.get_or_init(|| ids(snapshot)).contains(id);
        let ended = raised.map(|(_, case)| Transition {
            was: case.alert.level,
            alert: Alert {
                level: Level::Ok,
                since_unix_ms: snapshot.unix_ms,
                text: text::gone(&case.alert.probe, &case.name, exists(&case.alert.on)),
                ..case.alert
            },
        });
        ended.collect()
    }

    fn write_to(&self, snapshot: &mut Snapshot) {
        let raised = self.cases.values().map(|case| &case.alert);
        let mut alerts: Vec<Alert> = raised
            .filter(|alert| alert.level != Level::Ok)
            .cloned()
            .collect();
        alerts.sort_by(|a, b| order_of(a).cmp(&order_of(b)));
        // The worst alerts come first.
        let mut levels = HashMap::new();
        for alert in &alerts {
            levels.entry(&*alert.on).or_insert(alert.level);
        }
        if !levels.is_empty() {
            mark(snapshot, &levels);
        }
        snapshot.alerts = alerts;
    }
}

/// Returns the sort key of an alert. The worst alerts come first. Alerts of the same level are
/// sorted by age, the oldest first.
fn order_of(alert: &Alert) -> (Reverse<Level>, u64, &str, &str) {
    (
        Reverse(alert.level),
        alert.since_unix_ms,
        &alert.on,
        &alert.probe,
    )
}

/// Time and sequence number of a snapshot.
#[derive(Debug, Clone, Copy)]
struct Moment {
    now: Nanos,
    unix_ms: u64,
    look: u64,
}

/// Compares one value with one threshold.
fn judge_one(
    cases: &mut HashMap<(usize, String), Case>,
    rule: usize,
    threshold: &Threshold,
    found: &Found<'_>,
    at: Moment,
) -> Option<Transition> {
    let key = (rule, found.id.to_owned());
    let was = cases.get(&key).map_or(Level::Ok, |case| case.alert.level);
    let level = threshold.judge(found.value, was);
    if level == Level::Ok && was == Level::Ok {
        cases.remove(&key);
        return None;
    }
    let case = cases.entry(key).or_insert_with(|| Case {
        moving: None,
        name: found.name.text().to_string(),
        alert: alert_of(threshold, found, Level::Ok, at.unix_ms),
        seen: at.look,
    });
    case.seen = at.look;
    let new = lasting_level(case, level, threshold, at.now);
    if new != was {
        case.alert = alert_of(threshold, found, new, at.unix_ms);
    } else if level >= was {
        let since = case.alert.since_unix_ms;
        case.alert = alert_of(threshold, found, new, since);
    }
    (new != was).then(|| Transition {
        was,
        alert: case.alert.clone(),
    })
}

/// Returns the new level of an alert whose value is now at `level`. A worse level than before
/// applies only after the value has been at this level, or at a still worse one, for long enough. A
/// better level applies only after the value has been at this level, or at a still better one, for
/// long enough.
fn lasting_level(case: &mut Case, level: Level, threshold: &Threshold, now: Nanos) -> Level {
    let was = case.alert.level;
    if level == was {
        case.moving = None;
        return was;
    }
    let is_worse = level > was;
    let same_side = case.moving.filter(|(to, _)| (*to > was) == is_worse);
    let (nearest, since) = same_side.unwrap_or((level, now));
    // A level counts only if the value has been at it, or beyond it, for the whole period.
    let nearest = if is_worse {
        nearest.min(level)
    } else {
        nearest.max(level)
    };
    case.moving = Some((nearest, since));
    if u128::from(now.saturating_sub(since)) < threshold.lasts(is_worse).as_nanos() {
        return was;
    }
    case.moving = None;
    nearest
}

fn alert_of(threshold: &Threshold, found: &Found<'_>, level: Level, since_unix_ms: u64) -> Alert {
    let (name, value, limit) = (
        threshold.probe().name(),
        found.value,
        threshold.limit(level),
    );
    let beyond = (threshold.side(value, level), limit);
    let of = found.name.text();
    let why = found.why.as_deref().unwrap_or_default();
    let text = text::sentence(threshold.probe(), (&of, why), value, level, beyond);
    Alert {
        on: found.id.to_owned(),
        probe: name.to_owned(),
        level,
        threshold: limit,
        value,
        since_unix_ms,
        text,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::alert::{Of, Probe};
    use crate::snapshot::{Edge, MemberStatus, Node, State};

    const SECOND: Nanos = 1_000_000_000;

    fn edge(id: &str, fill: u64) -> Edge {
        Edge {
            id: id.to_owned(),
            capacity: 100,
            fill,
            ..Edge::default()
        }
    }

    /// Passes snapshots of one channel to `rules`, one per second, each with the next value of
    /// `fills`. Returns the levels of the changed alerts.
    fn levels(rules: &mut Rules, fills: &[u64]) -> Vec<(usize, Level)> {
        let mut changes = Vec::new();
        for (second, &fill) in fills.iter().enumerate() {
            let mut snapshot = Snapshot {
                sequence: second as u64,
                unix_ms: second as u64 * 1000,
                edges: vec![edge("e", fill)],
                ..Snapshot::default()
            };
            let found = rules.judge(&mut snapshot, second as Nanos * SECOND);
            changes.extend(found.iter().map(|t| (second, t.alert.level)));
            let worst = snapshot.alerts.first().map_or(Level::Ok, |a| a.level);
            assert_eq!(snapshot.edges[0].level, worst);
        }
        changes
    }

    #[test]
    fn a_value_counts_when_it_has_lasted() {
        let threshold = Threshold::above(Probe::Fill, 0.5).for_at_least(Duration::from_secs(2));
        let mut rules = Rules::new(vec![threshold]);
        let fills = [60, 60, 40, 60, 60, 60, 60, 49, 40, 60];
        let expected = [(5, Level::Warning), (8, Level::Ok)];
        assert_eq!(levels(&mut rules, &fills), expected);
    }

    #[test]
    fn an_alert_ends_when_its_value_has_been_good_for_long_enough() {
        let threshold = Threshold::above(Probe::Fill, 0.5)
            .critical(0.9)
            .for_at_least(Duration::ZERO)
            .ends_after(Duration::from_secs(3));
        let mut rules = Rules::new(vec![threshold]);
        let fills = [60, 0, 0, 60, 0, 0, 0, 0, 0, 95, 0, 60, 0, 10, 0, 0];
        let expected = [
            (0, Level::Warning),
            (7, Level::Ok),
            (9, Level::Critical),
            // The value was at a warning's level for a part of the time.
            (13, Level::Warning),
        ];
        assert_eq!(levels(&mut rules, &fills), expected);
    }

    #[test]
    fn an_alert_that_waits_for_its_end_keeps_its_text() {
        let threshold = Threshold::above(Probe::Fill, 0.5)
            .for_at_least(Duration::ZERO)
            .ends_after(Duration::from_secs(3));
        let mut rules = Rules::new(vec![threshold]);
        let mut texts = Vec::new();
        for (second, fill) in [60, 70, 0, 80, 0].into_iter().enumerate() {
            let mut snapshot = Snapshot {
                sequence: second as u64,
                edges: vec![edge("e", fill)],
                ..Snapshot::default()
            };
            rules.judge(&mut snapshot, second as Nanos * SECOND);
            let alert = &snapshot.alerts[0];
            assert_eq!(alert.since_unix_ms, 0, "one alert");
            texts.push((alert.value, alert.text.contains("above the limit of 50")));
        }
        let expected = [0.6, 0.7, 0.7, 0.8, 0.8].map(|value| (value, true));
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_warning_after_a_critical_alert_has_a_true_text() {
        let threshold = Threshold::above(Probe::Fill, 0.5)
            .critical(0.9)
            .for_at_least(Duration::ZERO)
            .ends_after(Duration::from_secs(2));
        let mut rules = Rules::new(vec![threshold]);
        assert_eq!(levels(&mut rules, &[95, 60]), [(0, Level::Critical)]);
        let mut snapshot = Snapshot {
            sequence: 3,
            edges: vec![edge("e", 10)],
            ..Snapshot::default()
        };
        rules.judge(&mut snapshot, 3 * SECOND);
        let alert = &snapshot.alerts[0];
        assert_eq!(alert.level, Level::Warning);
        let expected = "is 10 % full, recently above the limit of 50 %.";
        assert!(alert.text.ends_with(expected), "{}", alert.text);
    }

    #[test]
    fn it_gets_worse_and_better_by_steps() {
        let threshold = Threshold::above(Probe::Fill, 0.5)
            .critical(0.9)
            .for_at_least(Duration::ZERO);
        let mut rules = Rules::new(vec![threshold]);
        let expected = [
            (0, Level::Warning),
            (1, Level::Critical),
            (3, Level::Warning),
            (4, Level::Ok),
        ];
        assert_eq!(levels(&mut rules, &[60, 95, 89, 80, 10]), expected);
    }

    #[test]
    fn what_is_gone_has_come_back() {
        let mut rules = Rules::new(vec![
            Threshold::above(Probe::Fill, 0.5).for_at_least(Duration::ZERO),
        ]);
        levels(&mut rules, &[60]);
        let mut empty = Snapshot {
            sequence: 1,
            ..Snapshot::default()
        };
        let ended = rules.judge(&mut empty, SECOND);
        assert_eq!(
            (ended[0].was, ended[0].alert.level),
            (Level::Warning, Level::Ok)
        );
        assert!(empty.alerts.is_empty() && rules.cases.is_empty());
    }

    #[test]
    fn texts_say_what_is_true() {
        let at_once = |probe| Threshold::above(probe, 0.5).for_at_least(Duration::ZERO);
        let silent = Threshold::above(Probe::SilentSeconds, 2.0).for_at_least(Duration::ZERO);
        let mut rules = Rules::new(vec![at_once(Probe::Fill), silent]);
        let mut look = |second: u64, fill, silent_seconds| {
            let member = MemberStatus {
                id: "m".to_owned(),
                name: "bank-2".to_owned(),
                silent_seconds,
                ..MemberStatus::default()
            };
            let mut snapshot = Snapshot {
                sequence: second,
                edges: vec![edge("e", fill)],
                members: vec![member],
                ..Snapshot::default()
            };
            let changes = rules.judge(&mut snapshot, second * SECOND);
            let texts = |alerts: Vec<Alert>| alerts.into_iter().map(|alert| alert.text).collect();
            let changed: Vec<String> = texts(changes.into_iter().map(|t| t.alert).collect());
            (texts(snapshot.alerts), changed)
        };
        let (shown, _): (Vec<String>, _) = look(0, 60, Some(3.0));
        assert!(
            shown
                .iter()
                .any(|text| text.contains("above the limit of 50")),
            "{shown:?}"
        );
        // This is not above the limit, but too close to it to end the alert.
        let (shown, changed) = look(1, 49, None);
        assert!(shown[0].ends_with("near the limit of 50 %."), "{shown:?}");
        assert!(
            changed[0].contains("bank-2") && changed[0].contains("unknown now"),
            "{changed:?}"
        );
    }

    #[test]
    fn the_worst_stands_first_and_others_are_left_alone() {
        let mut rules = Rules::new(vec![
            Threshold::above(Probe::Fill, 0.5)
                .critical(0.9)
                .named("a*")
                .for_at_least(Duration::ZERO),
            Threshold::above(Probe::Failed, 0.5)
                .of(Of::Nodes)
                .for_at_least(Duration::ZERO),
        ]);
        let failed = Node {
            id: "n".to_owned(),
            state: State::Failed,
            ..Node::default()
        };
        let mut snapshot = Snapshot {
            nodes: vec![failed],
            edges: vec![edge("a1", 60), edge("a2", 95), edge("b", 99)],
            ..Snapshot::default()
        };
        assert_eq!(rules.judge(&mut snapshot, 0).len(), 3);
        let on: Vec<&str> = snapshot
            .alerts
            .iter()
            .map(|alert| alert.on.as_str())
            .collect();
        assert_eq!(on, ["a2", "a1", "n"]);
        assert_eq!(snapshot.edges[2].level, Level::Ok);
        assert_eq!(snapshot.nodes[0].level, Level::Warning);
    }
}
