//! History of the last minutes with one point per second, in bounded memory.
//!
//! ```text
//!   times     t0  t1  t2  t3  t4  ....  tn
//!   series a  v   v   v   v   v   ....  v
//!   series b              v   v   ....  v      began later: no earlier points
//! ```
//!
//! All series end at the newest point. When the node, edge or other item of a series no longer
//! exists, the series is dropped. When the maximum number of series is reached, new series are only
//! counted, not recorded.

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::snapshot::Snapshot;
use crate::window::Nanos;

/// Maximum number of points: ten minutes with one point per second.
const POINTS_MAX: usize = 600;

/// Maximum number of series. With four bytes per point, all series together take at most 5 MB.
const SERIES_MAX: usize = 2048;

/// Time between two points.
const STEP: Nanos = 1_000_000_000;

/// The history of the last ten minutes, with one point per second. The server returns it as JSON at
/// `/history.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HistoryReport {
    /// Times of the points, the oldest first, in milliseconds since 1970-01-01, UTC.
    pub unix_ms: Vec<u64>,
    /// One series for each recorded value, in the order in which the series began.
    pub series: Vec<Series>,
    /// Number of values that were not recorded at the newest point, because the maximum of 2048
    /// series was reached.
    pub omitted: u64,
}

/// The history of one value of the process, or of one of its parts: a node (a stage or a group of
/// actors), an edge (a channel), a sponsor (a thread pool or thread), a journal, a link or a kind
/// of entities.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Series {
    /// Identifier of the node, edge, sponsor or other item that the value belongs to. `process` for
    /// a value of the process.
    pub id: String,
    /// Name of the value, such as `rate` or `waiting`. The values `rate`, `turn_rate`, `sent_rate`
    /// and `received_rate` are averages over the time since the previous point. `fill` is a share
    /// of the channel's capacity, from 0 to 1.
    pub probe: String,
    /// The values at the times in [`HistoryReport::unix_ms`]. A value is `None` (`null` in JSON) if
    /// it was unknown, or if the item did not exist yet.
    pub values: Vec<Option<f32>>,
}

/// A series, with the data that is needed to extend it.
#[derive(Debug, Default)]
struct Track {
    /// Sequence number of the series, in the order of creation.
    order: u64,
    /// The latest values, up to the newest point. An unknown value is NaN.
    values: VecDeque<f32>,
    /// Total count at the previous point, from which the rate at the next point is computed.
    count: Option<u64>,
    /// Sequence number of the latest point at which this series had a value.
    seen: u64,
}

/// Collects the history of the last minutes.
#[derive(Debug, Default)]
pub(crate) struct History {
    times: VecDeque<u64>,
    tracks: HashMap<(String, &'static str), Track>,
    /// Number of points taken so far.
    points: u64,
    /// Time of the newest point. `None` if there is no point yet.
    last: Option<Nanos>,
    /// Number of series that have been begun so far.
    begun: u64,
    /// Number of series that were not recorded at the newest point, because the maximum number was
    /// reached.
    omitted: u64,
}

/// Value for a point: a value to record as it is, or a total count, whose growth is recorded.
#[derive(Debug, Clone, Copy)]
enum Value {
    Is(Option<f64>),
    Counts(u64),
}

impl History {
    /// Adds a point, unless less than [`STEP`] has passed since the newest point.
    pub(crate) fn take(&mut self, snapshot: &Snapshot, now: Nanos) {
        if self
            .last
            .is_some_and(|last| now.saturating_sub(last) < STEP)
        {
            return;
        }
        let seconds = self.last.map_or(0.0, |last| (now - last) as f64 / 1e9);
        self.last = Some(now);
        self.points += 1;
        self.omitted = 0;
        push(&mut self.times, snapshot.unix_ms);
        each_value(snapshot, |id, probe, value| {
            self.add(id, probe, value, seconds);
        });
        let points = self.points;
        self.tracks.retain(|_, track| track.seen == points);
    }

    fn add(&mut self, id: &str, probe: &'static str, value: Value, seconds: f64) {
        let room = self.tracks.len() < SERIES_MAX;
        let key = (id.to_owned(), probe);
        if !room && !self.tracks.contains_key(&key) {
            self.omitted += 1;
            return;
        }
        let track = self.tracks.entry(key).or_insert_with(|| {
            self.begun += 1;
            Track {
                order: self.begun,
                ..Track::default()
            }
        });
        if track.seen == self.points {
            // A source has reported two items with one identifier. Only the first one counts, so
            // that a series never has more values than there are points.
            return;
        }
        track.seen = self.points;
        let value = track.value(value, seconds);
        push(&mut track.values, value);
    }

    /// Returns the number of points taken so far. The report stays the same until the next point.
    pub(crate) fn points(&self) -> u64 {
        self.points
    }

    /// Returns a copy of the history collected so far. To convert the copy takes much longer, and
    /// needs no lock.
    pub(crate) fn copied(&self) -> Copied {
        let series = self.tracks.iter().map(|((id, probe), track)| CopiedSeries {
            order: track.order,
            id: id.clone(),
            probe,
            values: track.values.iter().copied().collect(),
        });
        Copied {
            times: self.times.iter().copied().collect(),
            series: series.collect(),
            omitted: self.omitted,
        }
    }

    /// Returns the history collected so far.
    #[cfg(test)]
    fn report(&self) -> HistoryReport {
        self.copied().into_report()
    }
}

/// A copy of a [`History`].
pub(crate) struct Copied {
    times: Vec<u64>,
    series: Vec<CopiedSeries>,
    omitted: u64,
}

/// A copy of a series.
struct CopiedSeries {
    order: u64,
    id: String,
    probe: &'static str,
    values: Vec<f32>,
}

impl Copied {
    /// Returns the history as users see it.
    pub(crate) fn into_report(mut self) -> HistoryReport {
        self.series.sort_unstable_by_key(|series| series.order);
        let points = self.times.len();
        let series = self.series.into_iter().map(|series| Series {
            id: series.id,
            probe: series.probe.to_owned(),
            values: padded(&series.values, points),
        });
        HistoryReport {
            series: series.collect(),
            unix_ms: self.times,
            omitted: self.omitted,
        }
    }
}

/// Returns the values of all points. Those before the beginning of a series are unknown.
fn padded(values: &[f32], points: usize) -> Vec<Option<f32>> {
    let missing = points - values.len();
    let known = values.iter().map(|v| v.is_finite().then_some(*v));
    std::iter::repeat_n(None, missing).chain(known).collect()
}

impl Track {
    fn value(&mut self, value: Value, seconds: f64) -> f32 {
        match value {
            Value::Is(value) => value.map_or(f32::NAN, |value| value as f32),
            Value::Counts(count) => {
                let before = self.count.replace(count);
                before.map_or(f32::NAN, |before| {
                    (count.saturating_sub(before) as f64 / seconds) as f32
                })
            }
        }
    }
}

fn push<T>(points: &mut VecDeque<T>, point: T) {
    if points.len() == POINTS_MAX {
        points.pop_front();
    }
    points.push_back(point);
}

/// Calls `add` with each value that has a history.
fn each_value(snapshot: &Snapshot, mut add: impl FnMut(&str, &'static str, Value)) {
    let process = &snapshot.process;
    let resident = process.resident_bytes.map(|bytes| bytes as f64);
    add("process", "resident_bytes", Value::Is(resident));
    add("process", "cpu", Value::Is(process.cpu));
    for node in &snapshot.nodes {
        add(&node.id, "rate", Value::Counts(node.messages));
        add(&node.id, "busy", Value::Is(node.busy));
        if let Some(waiting) = node.waiting {
            add(&node.id, "waiting", Value::Is(Some(waiting as f64)));
        }
    }
    for edge in &snapshot.edges {
        let fill = edge.fill as f64 / edge.capacity.max(1) as f64;
        add(&edge.id, "rate", Value::Counts(edge.total));
        add(&edge.id, "fill", Value::Is(Some(fill)));
    }
    for sponsor in &snapshot.sponsors {
        add(&sponsor.id, "turn_rate", Value::Counts(sponsor.turns));
        add(&sponsor.id, "idle", Value::Is(sponsor.idle));
    }
    for journal in &snapshot.journals {
        let waiting = journal.waiting_turns as f64;
        add(&journal.id, "turn_rate", Value::Counts(journal.turns));
        add(&journal.id, "writing", Value::Is(journal.writing));
        add(&journal.id, "waiting", Value::Is(Some(waiting)));
    }
    for link in &snapshot.links {
        let waiting = link.waiting_bytes as f64;
        add(&link.id, "sent_rate", Value::Counts(link.sent_messages));
        add(
            &link.id,
            "received_rate",
            Value::Counts(link.received_messages),
        );
        add(&link.id, "waiting", Value::Is(Some(waiting)));
    }
    for kind in &snapshot.kinds {
        add(&kind.id, "entities", Value::Is(Some(kind.entities as f64)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Edge;

    fn at(second: u64, edges: &[&str]) -> Snapshot {
        let edge = |id: &&str| Edge {
            id: (*id).to_owned(),
            capacity: 10,
            fill: 5,
            total: second * 100,
            ..Edge::default()
        };
        Snapshot {
            unix_ms: second * 1000,
            edges: edges.iter().map(edge).collect(),
            ..Snapshot::default()
        }
    }

    fn series<'a>(report: &'a HistoryReport, id: &str, probe: &str) -> &'a [Option<f32>] {
        let mut all = report.series.iter();
        let found = all.find(|series| series.id == id && series.probe == probe);
        found.map_or(&[], |series| &series.values)
    }

    #[test]
    fn series_end_together_and_what_is_gone_is_dropped() {
        let mut history = History::default();
        history.take(&at(0, &["a", "gone"]), 0);
        history.take(&at(0, &["a"]), STEP / 2);
        history.take(&at(1, &["a", "b"]), STEP);
        history.take(&at(2, &["a", "b"]), 2 * STEP);
        let report = history.report();
        assert_eq!(report.unix_ms, [0, 1000, 2000]);
        assert_eq!(
            series(&report, "a", "rate"),
            [None, Some(100.0), Some(100.0)]
        );
        assert_eq!(series(&report, "b", "fill"), [None, Some(0.5), Some(0.5)]);
        assert!(series(&report, "gone", "fill").is_empty());
    }

    #[test]
    fn memory_is_bounded_in_time_and_number() {
        let names: Vec<String> = (0..3000).map(|n| format!("e{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut history = History::default();
        history.take(&at(0, &names), 0);
        assert_eq!(history.tracks.len(), SERIES_MAX);
        assert_eq!(history.report().omitted, 2 + 6000 - SERIES_MAX as u64);
        let mut history = History::default();
        for second in 0..2000 {
            history.take(&at(second, &["a"]), second * STEP);
        }
        let report = history.report();
        assert_eq!(
            (report.unix_ms.len(), report.unix_ms[0]),
            (POINTS_MAX, 1_400_000)
        );
        assert!(report.series.iter().all(|s| s.values.len() == POINTS_MAX));
    }
}
