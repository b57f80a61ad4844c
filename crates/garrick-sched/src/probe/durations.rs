//! Histograms of durations. A histogram counts how many durations lie in each range of durations.

use garrick_core::prim::atomic::{AtomicU64, Ordering::Relaxed};

use crate::world::Nanos;

/// A histogram: the number of durations in each class. The limits of a class are two successive
/// powers of two, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Durations {
    counts: [u64; Self::LEN],
    total: Nanos,
}

impl Durations {
    /// Number of classes into which durations are sorted.
    pub const LEN: usize = 28;

    /// Binary logarithm of the upper limit of class 0 (the shortest durations), in nanoseconds.
    const FIRST_BITS: u32 = 8;

    /// Returns the number of durations in each class. Class `k` contains the durations from
    /// [`limit(k - 1)`](Self::limit) to just below [`limit(k)`](Self::limit). Class 0 begins at 0.
    /// The last class also contains all longer durations.
    #[must_use]
    pub fn counts(&self) -> &[u64; Self::LEN] {
        &self.counts
    }

    /// Returns the sum of all durations in nanoseconds.
    #[must_use]
    pub fn total(&self) -> Nanos {
        self.total
    }

    /// Returns the upper limit of a class in nanoseconds. The limit of class 0 is 256. The limit of
    /// each following class is twice the previous limit. The limit of the last class is about 34 s,
    /// but this class also contains all longer durations.
    #[must_use]
    pub fn limit(class: usize) -> Nanos {
        1 << (Self::FIRST_BITS + class.min(Self::LEN - 1) as u32)
    }

    /// Returns the class of a duration in nanoseconds.
    pub(super) fn place_of(time: Nanos) -> usize {
        let bits = u64::BITS - time.leading_zeros();
        (bits.saturating_sub(Self::FIRST_BITS) as usize).min(Self::LEN - 1)
    }

    /// Adds the durations that another histogram contains.
    pub fn add_all(&mut self, other: &Self) {
        self.add(|class| other.counts[class]);
        self.total = self.total.saturating_add(other.total);
    }

    /// Adds `more(class)` to the number of durations in each class.
    fn add(&mut self, more: impl Fn(usize) -> u64) {
        for (class, count) in self.counts.iter_mut().enumerate() {
            *count += more(class);
        }
    }
}

/// Counters of durations, one for each class. Written by one thread, read by any thread.
#[derive(Default)]
pub(super) struct Counters {
    counts: [AtomicU64; Durations::LEN],
    total: AtomicU64,
}

impl Counters {
    /// Counts `count` durations, each of which is `time`. Only the thread that owns the counters
    /// may call this.
    pub(super) fn add(&self, time: Nanos, count: u64) {
        let add = |counter: &AtomicU64, by| {
            // Relaxed, both: one writer, and each counter is independent.
            counter.store(counter.load(Relaxed).saturating_add(by), Relaxed);
        };
        add(&self.counts[Durations::place_of(time)], count);
        add(&self.total, time.saturating_mul(count));
    }

    pub(super) fn add_to(&self, durations: &mut Durations) {
        durations.add(|class| self.counts[class].load(Relaxed));
        durations.total = durations.total.saturating_add(self.total.load(Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::Durations;

    #[test]
    fn each_duration_is_below_the_limit_of_its_class_and_not_below_the_one_before() {
        for bits in 0..35 {
            for time in [(1 << bits) - 1, 1 << bits, (1 << bits) + 1] {
                let class = Durations::place_of(time);
                assert!(time < Durations::limit(class), "{time}");
                assert!(class == 0 || time >= Durations::limit(class - 1), "{time}");
            }
        }
        assert_eq!(Durations::place_of(u64::MAX), Durations::LEN - 1);
    }
}
