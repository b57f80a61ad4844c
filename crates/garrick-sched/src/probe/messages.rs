//! Counters of the kinds of messages that the tasks of one kind have handled.

use garrick_core::prim::atomic::{AtomicU64, Ordering::Relaxed};

use super::MessageSample;
use super::work::share;
use crate::world::Nanos;

/// Maximum number of kinds of messages that are counted separately for one kind of task. All
/// further kinds of messages are counted together.
pub(super) const MESSAGES_MAX: usize = 32;

/// Number and duration of turns, estimated from the measured turns.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Measured {
    /// Number of turns, including those that the measured turns represent.
    pub(super) turns: u64,
    /// Total duration of all turns that are counted in `turns`.
    pub(super) busy: Nanos,
    /// Duration of the longest measured turn.
    pub(super) longest: Nanos,
}

impl Measured {
    /// Adds the totals in `other`, and keeps the longer of the two longest durations.
    pub(super) fn add(&mut self, other: Self) {
        self.turns = self.turns.saturating_add(other.turns);
        self.busy = self.busy.saturating_add(other.busy);
        self.longest = self.longest.max(other.longest);
    }
}

/// Counters of one kind of message, with the meanings of the fields of [`Measured`]. Written by one
/// worker, read by any thread.
#[derive(Default)]
struct Counts {
    turns: AtomicU64,
    busy: AtomicU64,
    longest: AtomicU64,
}

/// Counters for each kind of message that one kind of task handles. Written by one worker, read by
/// any thread.
pub(super) struct Messages {
    names: &'static [&'static str],
    /// Counters for each kind of message that has a name, up to [`MESSAGES_MAX`] kinds. The last
    /// counters are for all other messages.
    places: Box<[Counts]>,
}

impl Messages {
    /// Creates counters for the kinds of messages with the given names.
    pub(super) fn new(names: &'static [&'static str]) -> Self {
        let names = &names[..names.len().min(MESSAGES_MAX)];
        let places = (0..=names.len()).map(|_| Counts::default()).collect();
        Self { names, places }
    }

    /// Adds turns that handled messages of the kind with the index `kind`. Only the thread that
    /// owns the counters may call this.
    pub(super) fn add(&self, kind: usize, measured: Measured) {
        let counts = &self.places[kind.min(self.names.len())];
        // Relaxed, all: one writer, and each counter is independent.
        let turns = counts.turns.load(Relaxed).wrapping_add(measured.turns);
        counts.turns.store(turns, Relaxed);
        let busy = counts.busy.load(Relaxed).wrapping_add(measured.busy);
        counts.busy.store(busy, Relaxed);
        let longest = counts.longest.load(Relaxed).max(measured.longest);
        counts.longest.store(longest, Relaxed);
    }

    /// Adds turns whose kinds of messages are not known. Divides the turns among the kinds of
    /// messages in the ratio of the times that were counted so far. If no time was counted yet,
    /// adds the turns to the place for all other messages. Only the thread that owns the counters
    /// may call this.
    pub(super) fn divide(&self, turns: u64, busy: Nanos) {
        let time_of = |counts: &Counts| counts.busy.load(Relaxed);
        let mut parts: u64 = self.places.iter().map(time_of).sum();
        let mut left = Measured {
            turns,
            busy,
            longest: 0,
        };
        let last = self.places.len() - 1;
        for (kind, counts) in self.places.iter().enumerate() {
            let part = time_of(counts);
            let more = if kind == last {
                left
            } else {
                Measured {
                    turns: share(left.turns, part, parts),
                    busy: share(left.busy, part, parts),
                    longest: 0,
                }
            };
            self.add(kind, more);
            (left.turns, left.busy) = (left.turns - more.turns, left.busy - more.busy);
            parts -= part;
        }
    }

    /// Adds the counts of each kind of message to `samples`. The name of a kind identifies its
    /// sample. Skips kinds of messages that were never handled.
    pub(super) fn add_to(&self, samples: &mut Vec<MessageSample>) {
        for (place, counts) in self.places.iter().enumerate() {
            let measured = Measured {
                turns: counts.turns.load(Relaxed),
                busy: counts.busy.load(Relaxed),
                longest: counts.longest.load(Relaxed),
            };
            if measured.turns > 0 {
                let name = self.names.get(place).copied();
                add(samples, name.unwrap_or(MessageSample::OTHER), measured);
            }
        }
    }
}

/// Adds `more` to the sample with this name, which stands for a kind of message. If there are too
/// many names, adds `more` to the sample of all other messages.
pub(super) fn add(samples: &mut Vec<MessageSample>, name: &'static str, more: Measured) {
    let place = samples.iter().position(|known| known.name == name);
    let is_new = place.is_none() && name != MessageSample::OTHER;
    let named = samples
        .iter()
        .filter(|known| known.name != MessageSample::OTHER);
    if is_new && named.count() == MESSAGES_MAX {
        return add(samples, MessageSample::OTHER, more);
    }
    let place = place.unwrap_or_else(|| {
        samples.push(MessageSample {
            name,
            ..MessageSample::default()
        });
        samples.len() - 1
    });
    let sample = &mut samples[place];
    sample.turns = sample.turns.saturating_add(more.turns);
    sample.busy = sample.busy.saturating_add(more.busy);
    sample.longest = sample.longest.max(more.longest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(turns: u64, busy: Nanos) -> Measured {
        Measured {
            turns,
            busy,
            longest: busy,
        }
    }

    #[test]
    fn kinds_without_a_name_are_counted_together() {
        let messages = Messages::new(&["a", "b"]);
        messages.add(1, measured(2, 10));
        messages.add(2, measured(1, 5));
        messages.add(usize::MAX, measured(1, 7));
        let mut samples = Vec::new();
        messages.add_to(&mut samples);
        let found: Vec<_> = samples.iter().map(|s| (s.name, s.turns, s.busy)).collect();
        assert_eq!(found, [("b", 2, 10), (MessageSample::OTHER, 2, 12)]);
        assert_eq!(samples[1].longest, 7);
    }

    #[test]
    fn turns_with_unknown_messages_are_divided() {
        let messages = Messages::new(&["a", "b", "c"]);
        messages.divide(3, 30);
        messages.add(0, measured(10, 100));
        messages.add(2, measured(5, 300));
        messages.divide(43, 860);
        let mut samples = Vec::new();
        messages.add_to(&mut samples);
        let found: Vec<_> = samples.iter().map(|s| (s.name, s.turns, s.busy)).collect();
        let expected = [
            ("a", 20, 300),
            ("c", 35, 900),
            (MessageSample::OTHER, 6, 90),
        ];
        assert_eq!(found, expected);
        assert_eq!(samples[0].longest, 100, "nobody knows how long they took");
    }

    #[test]
    fn a_sample_has_a_bounded_number_of_names() {
        const NAMES: [&str; 40] = ["x"; 40];
        assert_eq!(Messages::new(&NAMES).places.len(), MESSAGES_MAX + 1);
        let mut samples = Vec::new();
        for number in 0..100_u64 {
            let name: &'static str = Box::leak(number.to_string().into_boxed_str());
            add(&mut samples, name, measured(1, number));
            add(&mut samples, "0", measured(1, 0));
        }
        assert_eq!(samples.len(), MESSAGES_MAX + 1);
        assert_eq!(samples.iter().map(|sample| sample.turns).sum::<u64>(), 200);
        assert_eq!(samples[0].turns, 101);
    }
}
