//! Counts the turns of a group of actors by the kinds of their messages, and computes rates.

use std::collections::BTreeMap;

use garrick_sched::MessageSample;

use crate::reading::MessageReading;
use crate::snapshot::MessageStatus;
use crate::window::{At, Meter, Nanos};

use super::labels::short;

/// Maximum number of message kinds that are counted separately for a group of actors. All other
/// kinds are counted together as `other`.
const KINDS_MAX: usize = 32;

/// Past counts of one group of actors, by kind of message.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    by_name: BTreeMap<String, Kind>,
    /// Time of the latest sample. A kind of message that first appears in the next sample had no
    /// turns until this time.
    last: Option<Nanos>,
}

#[derive(Debug, Default)]
struct Kind {
    turns: Meter,
    nanos: Meter,
    longest_nanos: u64,
}

/// The counts of one kind of message, as a source has reported them for one sample.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    turns: u64,
    nanos: u64,
    longest_nanos: u64,
}

impl Kinds {
    /// Records the counts that a source has reported for one sample. Returns the values of each
    /// kind. The kind that took the most time in the window comes first.
    pub(super) fn push(&mut self, at: At, readings: &[MessageReading]) -> Vec<MessageStatus> {
        let counts = by_name(readings);
        self.by_name.retain(|name, _| counts.contains_key(name));
        let last = self.last.replace(at.now);
        let new = || Kind::begun(last.map(|now| At { now, ..at }));
        let statuses = counts.into_iter().map(|(name, counts)| {
            let kind = self.by_name.entry(name.clone()).or_insert_with(new);
            kind.push(at, counts);
            kind.status(name)
        });
        let mut statuses: Vec<_> = statuses.collect();
        statuses.sort_by(|a, b| {
            let key =
                |status: &MessageStatus| (status.busy.unwrap_or_default(), status.busy_seconds);
            let (a, b) = (key(a), key(b));
            b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        statuses
    }
}

/// Adds up the counts of kinds with the same short name. The kinds after the first [`KINDS_MAX`]
/// are counted together.
fn by_name(readings: &[MessageReading]) -> BTreeMap<String, Counts> {
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    let mut named = 0;
    for reading in readings {
        let mut name = short(&reading.name);
        let is_new = !counts.contains_key(&name);
        // Prometheus treats an empty label like a missing one.
        if name.trim().is_empty() || is_new && named == KINDS_MAX {
            MessageSample::OTHER.clone_into(&mut name);
        } else if is_new && name != MessageSample::OTHER {
            named += 1;
        }
        let sum = counts.entry(name).or_default();
        sum.turns = sum.turns.saturating_add(reading.turns);
        sum.nanos = sum.nanos.saturating_add(reading.busy_nanos);
        sum.longest_nanos = sum.longest_nanos.max(reading.longest_nanos);
    }
    counts
}

impl Kind {
    /// Creates the counts of a new kind of message. `last` is the time of the previous sample, if
    /// there was one: up to this time, the kind had no turns.
    fn begun(last: Option<At>) -> Self {
        let mut kind = Self::default();
        if let Some(last) = last {
            kind.push(last, Counts::default());
        }
        kind
    }

    fn push(&mut self, at: At, counts: Counts) {
        self.turns.push(at.pace, at.now, counts.turns);
        self.nanos.push(at.pace, at.now, counts.nanos);
        self.longest_nanos = self.longest_nanos.max(counts.longest_nanos);
    }

    fn status(&self, name: String) -> MessageStatus {
        let seconds = |nanos: f64| nanos / 1e9;
        let rate = self.turns.rate().unwrap_or_default();
        let busy = self.nanos.rate().map(seconds);
        let busy_seconds = seconds(self.nanos.total() as f64);
        let turns = self.turns.total();
        let in_window = busy.filter(|_| rate > 0.0).map(|busy| busy / rate);
        let of_all = (turns > 0).then(|| busy_seconds / turns as f64);
        MessageStatus {
            name,
            turns,
            rate,
            busy_seconds,
            busy,
            mean_seconds: in_window.or(of_all),
            longest_seconds: seconds(self.longest_nanos as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Pace;

    const SECOND: u64 = 1_000_000_000;

    fn reading(name: &str, turns: u64, busy_nanos: u64) -> MessageReading {
        MessageReading {
            name: name.to_owned(),
            turns,
            busy_nanos,
            longest_nanos: busy_nanos,
        }
    }

    fn at(now: u64) -> At {
        At {
            pace: Pace::new(10 * SECOND),
            now,
        }
    }

    #[test]
    fn the_most_time_in_the_window_comes_first() {
        let mut kinds = Kinds::default();
        let before = [reading("Get", 100, 2 * SECOND), reading("Add", 10, SECOND)];
        let first = kinds.push(at(0), &before);
        assert_eq!((&*first[0].name, first[0].busy), ("Get", None));
        assert_eq!(first[0].mean_seconds, Some(0.02));
        let after = [
            reading("Get", 100, 2 * SECOND),
            reading("Add", 20, 2 * SECOND),
        ];
        let seen = kinds.push(at(2 * SECOND), &after);
        assert_eq!((&*seen[0].name, seen[0].busy), ("Add", Some(0.5)));
        assert_eq!((seen[0].rate, seen[0].mean_seconds), (5.0, Some(0.1)));
        assert_eq!((seen[0].turns, seen[0].busy_seconds), (20, 2.0));
        // No turn is in the window.
        assert_eq!((seen[1].rate, seen[1].mean_seconds), (0.0, Some(0.02)));
        assert!(kinds.push(at(3 * SECOND), &[]).is_empty());
        assert!(kinds.by_name.is_empty(), "nothing is kept of what is gone");
    }

    #[test]
    fn a_kind_that_appears_later_has_a_rate_at_once() {
        let mut kinds = Kinds::default();
        assert!(kinds.push(at(0), &[]).is_empty());
        let seen = kinds.push(at(2 * SECOND), &[reading("Add", 20, SECOND)]);
        assert_eq!((seen[0].rate, seen[0].busy), (10.0, Some(0.5)));
    }

    #[test]
    fn names_are_short_unique_and_few() {
        let long = "x".repeat(300);
        let mut readings = vec![
            reading("", 1, 1),
            reading(&long, 1, 1),
            reading("a::B", 1, 1),
        ];
        readings.push(reading("c::B", 2, 1));
        readings.push(reading(&format!("{long}y"), 1, 1));
        readings.extend((0..100).map(|number| reading(&number.to_string(), 1, 1)));
        let seen = Kinds::default().push(at(0), &readings);
        assert_eq!(seen.len(), KINDS_MAX + 1);
        let of = |name: &str| {
            seen.iter()
                .find(|one| one.name == name)
                .map(|one| one.turns)
        };
        assert_eq!((of("B"), of("29"), of("30")), (Some(3), Some(1), None));
        assert_eq!(of(MessageSample::OTHER), Some(71));
        assert!(seen.iter().all(|one| one.name.len() <= 80));
    }
}
