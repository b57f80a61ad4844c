//! Amounts of work, and their division among several kinds of tasks.

use crate::world::Nanos;

/// An amount of work: a time, and numbers of turns and activations.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Work {
    pub(super) time: Nanos,
    pub(super) turns: u64,
    pub(super) activations: u64,
}

impl Work {
    pub(super) fn add(&mut self, other: Self) {
        self.time = self.time.saturating_add(other.time);
        self.turns = self.turns.saturating_add(other.turns);
        self.activations = self.activations.saturating_add(other.activations);
    }

    /// Returns work of which only the time is known.
    pub(super) fn of(time: Nanos) -> Self {
        Self {
            time,
            turns: 0,
            activations: 0,
        }
    }

    pub(super) fn times(self, factor: u64) -> Self {
        Self {
            time: self.time.saturating_mul(factor),
            turns: self.turns.saturating_mul(factor),
            activations: self.activations.saturating_mul(factor),
        }
    }

    /// Returns the smaller of two amounts of work: time, turns and activations are compared
    /// separately.
    pub(super) fn min(self, other: Self) -> Self {
        Self {
            time: self.time.min(other.time),
            turns: self.turns.min(other.turns),
            activations: self.activations.min(other.activations),
        }
    }

    pub(super) fn less(self, other: Self) -> Self {
        Self {
            time: self.time.saturating_sub(other.time),
            turns: self.turns.saturating_sub(other.turns),
            activations: self.activations.saturating_sub(other.activations),
        }
    }
}

/// Work of several kinds of tasks. Each entry has the index of a kind, and its work.
pub(super) type Entries = Vec<(usize, Work)>;

/// Adds `work` to the work of the kind of task with the index `place`.
pub(super) fn add_to(entries: &mut Entries, place: usize, work: Work) {
    match entries.iter_mut().find(|(known, _)| *known == place) {
        Some((_, sum)) => sum.add(work),
        None => entries.push((place, work)),
    }
}

pub(super) fn sum_of(entries: &Entries) -> Work {
    let mut sum = Work::default();
    entries.iter().for_each(|(_, work)| sum.add(*work));
    sum
}

/// Divides the time and the turns of `amount` among the entries, in proportion to the times of the
/// entries. If all these times are 0, divides `amount` in proportion to the turns of the entries.
pub(super) fn divided(amount: Work, entries: &Entries) -> Entries {
    let (mut left, mut parts) = (amount, sum_of(entries));
    let is_timeless = parts.time == 0;
    let mut all = Entries::new();
    for &(place, work) in entries {
        let time = if is_timeless {
            share(left.time, work.turns, parts.turns)
        } else {
            share(left.time, work.time, parts.time)
        };
        let part = Work {
            time,
            turns: share(left.turns, work.turns, parts.turns),
            activations: 0,
        };
        (left, parts) = (left.less(part), parts.less(work));
        all.push((place, part));
    }
    all
}

/// Halves the work of each entry, so that older work counts less.
pub(super) fn fade(entries: &mut Entries) {
    for (_, work) in entries.iter_mut() {
        (work.time, work.turns) = (work.time / 2, work.turns / 2);
    }
    entries.retain(|(_, work)| *work != Work::default());
}

/// Returns the fraction `part / all` of `amount`, or 0 if `all` is 0.
pub(super) fn share(amount: u64, part: u64, all: u64) -> u64 {
    let share = u128::from(amount) * u128::from(part) / u128::from(all.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}
