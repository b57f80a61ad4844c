//! How long to wait before a restart, and how many restarts are too many.

use std::collections::VecDeque;
use std::time::Duration;

use garrick_sched::Nanos;

/// Waits before restarts: the first one short, each further one twice as long, up to a limit, and each shortened by
/// chance so that children that failed together do not come back together.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::Backoff;
///
/// let backoff = Backoff::exponential(Duration::from_millis(10), Duration::from_secs(1)).jitter(0.0);
/// let waits: Vec<_> = (0..9).map(|restarts| backoff.wait(restarts, 0).as_millis()).collect();
/// assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    /// The part of a wait that is left to chance, 0 to 1.
    jitter: f64,
    /// A child that was up for so long begins with the first wait again.
    reset_after: Duration,
}

impl Backoff {
    /// No waits.
    pub const NONE: Self = Self {
        first: Duration::ZERO,
        max: Duration::ZERO,
        jitter: 0.0,
        reset_after: Duration::ZERO,
    };

    /// Waits of `first`, twice that, and so on up to `max`, with a jitter of 0.2. A child that was up for `max` begins
    /// with `first` again.
    #[must_use]
    pub fn exponential(first: Duration, max: Duration) -> Self {
        Self {
            first,
            max,
            jitter: 0.2,
            reset_after: max,
        }
    }

    /// The part of each wait that is left to chance: with 0.2, a wait is 80 % to 100 % of what it would be.
    ///
    /// # Panics
    /// If it is not between 0 and 1.
    #[must_use]
    #[track_caller]
    pub fn jitter(mut self, part: f64) -> Self {
        assert!(
            (0.0..=1.0).contains(&part),
            "the jitter is a part of the wait, from 0 to 1, not {part}"
        );
        self.jitter = part;
        self
    }

    /// How long a child must have been up to begin with the first wait again.
    #[must_use]
    pub fn reset_after(mut self, up: Duration) -> Self {
        self.reset_after = up;
        self
    }

    /// The wait before a restart that follows `restarts` others; `random` is any number, and decides the jitter.
    #[must_use]
    pub fn wait(&self, restarts: u32, random: u64) -> Duration {
        let factor = 1u32.checked_shl(restarts).unwrap_or(u32::MAX);
        let whole = self.first.saturating_mul(factor).min(self.max);
        let chance = mix(random) as f64 / u64::MAX as f64;
        whole.mul_f64(1.0 - self.jitter * chance)
    }

    /// See the field.
    pub(super) fn resets_after(&self) -> Duration {
        self.reset_after
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::NONE
    }
}

/// Spreads numbers over all numbers, as the splitmix64 generator does.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Counts restarts in a window of time that ends now.
#[derive(Debug, Clone)]
pub(super) struct Intensity {
    pub(super) restarts_max: usize,
    pub(super) within: Duration,
    /// When the restarts were that are still in the window, oldest first; never more than `restarts_max`.
    recent: VecDeque<Nanos>,
}

impl Intensity {
    pub(super) fn new(restarts_max: usize, within: Duration) -> Self {
        Self {
            restarts_max,
            within,
            recent: VecDeque::new(),
        }
    }

    /// Counts a restart; false if that is one too many.
    pub(super) fn count(&mut self, now: Nanos) -> bool {
        let window = self.within.as_nanos();
        while let Some(&oldest) = self.recent.front()
            && u128::from(now - oldest) >= window
        {
            self.recent.pop_front();
        }
        if self.recent.len() >= self.restarts_max {
            return false;
        }
        self.recent.push_back(now);
        true
    }

    pub(super) fn forget(&mut self) {
        self.recent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_only_shortens() {
        let backoff =
            Backoff::exponential(Duration::from_secs(1), Duration::from_secs(8)).jitter(0.5);
        let mut waits: Vec<_> = (0..1000).map(|random| backoff.wait(1, random)).collect();
        assert!(
            waits
                .iter()
                .all(|wait| (Duration::from_secs(1)..=Duration::from_secs(2)).contains(wait))
        );
        waits.dedup();
        assert!(waits.len() > 900, "they differ");
        assert_eq!(Backoff::NONE.wait(70, 7), Duration::ZERO);
        assert!(backoff.wait(u32::MAX, 7) <= Duration::from_secs(8));
    }

    #[test]
    fn restarts_leave_the_window_one_by_one() {
        let mut intensity = Intensity::new(2, Duration::from_nanos(10));
        let counted = [0, 1, 2, 9, 10, 11, 12, 20].map(|now| intensity.count(now));
        assert_eq!(counted, [true, true, false, false, true, true, false, true]);
        assert!(!Intensity::new(0, Duration::MAX).count(0));
    }
}
