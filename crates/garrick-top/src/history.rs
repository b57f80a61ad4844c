//! Recent rates, for the graph of a row.

use std::collections::{HashMap, VecDeque};

use garrick_telemetry::{HistoryReport, Snapshot};

/// Maximum number of rates that are kept per row. A graph shows one rate per column, and no screen
/// has more columns.
const RATES_MAX: usize = 256;

/// Maximum number of rows whose rates are kept. The rates of all rows take at most 20 MB.
const ROWS_MAX: usize = 20_000;

/// Recent rates of each row, by the id of the row.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    rates: HashMap<String, VecDeque<f32>>,
}

impl History {
    /// Adds the rates of `snapshot`, and removes the rates of all rows that are not in `snapshot`.
    pub(crate) fn push(&mut self, snapshot: &Snapshot) {
        let mut old = std::mem::take(&mut self.rates);
        for (id, rate) in rates(snapshot).take(ROWS_MAX) {
            let mut line = old.remove(id).unwrap_or_default();
            if line.len() == RATES_MAX {
                line.pop_front();
            }
            line.push_back(rate as f32);
            self.rates.insert(id.to_owned(), line);
        }
    }

    /// Inserts the rates that the process has recorded, one per second, before the rates that are
    /// already in this history.
    pub(crate) fn begin(&mut self, report: &HistoryReport) {
        for series in report.series.iter().filter(|series| is_rate(&series.probe)) {
            if self.rates.len() >= ROWS_MAX && !self.rates.contains_key(&series.id) {
                continue;
            }
            let line = self.rates.entry(series.id.clone()).or_default();
            let room = RATES_MAX - line.len();
            // Unknown points are skipped, so the graph has no gaps.
            let known = series.values.iter().flatten().rev().take(room);
            known.for_each(|rate| line.push_front(*rate));
        }
    }

    /// Returns the rates of `id`, newest first.
    pub(crate) fn of(&self, id: &str) -> impl Iterator<Item = f32> + use<'_> {
        let line = self.rates.get(id).into_iter();
        line.flat_map(|line| line.iter().rev().copied())
    }
}

/// Returns true if the graph of a row shows the values with the name `probe`.
fn is_rate(probe: &str) -> bool {
    matches!(probe, "rate" | "turn_rate")
}

fn rates(snapshot: &Snapshot) -> impl Iterator<Item = (&str, f64)> {
    let nodes = snapshot.nodes.iter().map(|node| (&*node.id, node.rate));
    let edges = snapshot.edges.iter().map(|edge| (&*edge.id, edge.rate));
    let sponsors = snapshot.sponsors.iter();
    let sponsors = sponsors.map(|sponsor| (&*sponsor.id, sponsor.turn_rate));
    nodes.chain(edges).chain(sponsors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use garrick_telemetry::Series;

    #[test]
    fn the_newest_come_first_and_the_oldest_go() {
        let (mut history, mut snapshot) = (History::default(), sample::snapshot());
        for rate in 0..RATES_MAX + 5 {
            snapshot.nodes[0].rate = rate as f64;
            history.push(&snapshot);
        }
        let rates: Vec<f32> = history.of("n0").collect();
        assert_eq!(rates.len(), RATES_MAX);
        assert_eq!(
            (rates[0], rates[RATES_MAX - 1]),
            ((RATES_MAX + 4) as f32, 5.0)
        );
        assert_eq!(history.of("e0").count(), RATES_MAX);
        assert_eq!(history.of("s0").count(), RATES_MAX);
    }

    #[test]
    fn the_past_of_the_process_comes_first() {
        let (mut history, mut snapshot) = (History::default(), sample::snapshot());
        snapshot.nodes[0].rate = 7.0;
        history.push(&snapshot);
        let series = |id: &str, probe: &str, values: Vec<Option<f32>>| Series {
            id: id.to_owned(),
            probe: probe.to_owned(),
            values,
        };
        let long = (0..600).map(|rate| Some(rate as f32)).collect();
        history.begin(&HistoryReport {
            series: vec![
                series("n0", "rate", vec![None, Some(5.0), Some(6.0)]),
                series("n0", "busy", vec![Some(0.5)]),
                series("s0", "turn_rate", long),
            ],
            ..HistoryReport::default()
        });
        assert_eq!(history.of("n0").collect::<Vec<_>>(), [7.0, 6.0, 5.0]);
        let sponsor: Vec<f32> = history.of("s0").collect();
        assert_eq!((sponsor.len(), sponsor[1]), (RATES_MAX, 599.0));
    }

    #[test]
    fn what_has_gone_is_forgotten() {
        let (mut history, mut snapshot) = (History::default(), sample::snapshot());
        history.push(&snapshot);
        snapshot.nodes.remove(0);
        history.push(&snapshot);
        assert_eq!((history.of("n0").count(), history.of("n1").count()), (0, 2));
    }
}
