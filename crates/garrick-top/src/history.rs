//! Recent rates, for the graph of a row.

use std::collections::{HashMap, VecDeque};

use garrick_telemetry::Snapshot;

/// Maximum number of rates kept per row, which is one for each column of the widest screen.
const RATES_MAX: usize = 256;

/// Maximum number of rows whose rates are kept. They take at most 20 MB.
const ROWS_MAX: usize = 20_000;

/// Recent rates by id.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    rates: HashMap<String, VecDeque<f32>>,
}

impl History {
    /// Adds the rates of `snapshot`, and removes all ids that are not in it.
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

    /// Returns the rates of `id`, newest first.
    pub(crate) fn of(&self, id: &str) -> impl Iterator<Item = f32> + use<'_> {
        let line = self.rates.get(id).into_iter();
        line.flat_map(|line| line.iter().rev().copied())
    }
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
    fn what_has_gone_is_forgotten() {
        let (mut history, mut snapshot) = (History::default(), sample::snapshot());
        history.push(&snapshot);
        snapshot.nodes.remove(0);
        history.push(&snapshot);
        assert_eq!((history.of("n0").count(), history.of("n1").count()), (0, 2));
    }
}
