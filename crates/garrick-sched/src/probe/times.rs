//! Number of turns in each class of durations.

use crate::world::Nanos;

/// Number of turns in each class of durations. The limits of a class are two successive powers of
/// two, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnTimes {
    counts: [u64; Self::LEN],
}

impl TurnTimes {
    /// Number of classes.
    pub const LEN: usize = 28;

    /// Exponent of the limit of class 0, which is a power of two.
    const FIRST_BITS: u32 = 8;

    /// Returns the number of turns in each class. Class `k` contains the durations from [`limit(k -
    /// 1)`](Self::limit) to just below [`limit(k)`](Self::limit). Class 0 begins at 0. The last
    /// class also contains all longer durations.
    #[must_use]
    pub fn counts(&self) -> &[u64; Self::LEN] {
        &self.counts
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

    /// Adds `more(class)` to the number of each class.
    pub(super) fn add(&mut self, more: impl Fn(usize) -> u64) {
        for (class, count) in self.counts.iter_mut().enumerate() {
            *count += more(class);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TurnTimes;

    #[test]
    fn each_duration_is_below_the_limit_of_its_class_and_not_below_the_one_before() {
        for bits in 0..35 {
            for time in [(1 << bits) - 1, 1 << bits, (1 << bits) + 1] {
                let class = TurnTimes::place_of(time);
                assert!(time < TurnTimes::limit(class), "{time}");
                assert!(class == 0 || time >= TurnTimes::limit(class - 1), "{time}");
            }
        }
        assert_eq!(TurnTimes::place_of(u64::MAX), TurnTimes::LEN - 1);
    }
}
