//! How long to wait before a restart, and how many restarts are too many.
//!
//! What supervisors of actors and stages of pipelines have in common. Plain values: nothing here is shared
//! between threads.

use std::collections::VecDeque;
use std::time::Duration;

use crate::random::mix;

/// Waits before restarts: the first one short, each further one twice as long, up to a limit, and each shortened by
/// chance so that children that failed together do not come back together.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_core::backoff::Backoff;
///
/// let backoff = Backoff::exponential(Duration::from_millis(10), Duration::from_secs(1)).jitter(0.0);
/// let waits: Vec<_> = (0..9).map(|restarts| backoff.wait(restarts, 0).as_millis()).collect();
/// assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// The first wait.
    first: Duration,
    /// No wait is longer.
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
        let seconds = whole.as_secs_f64() * (1.0 - self.jitter * chance);
        // The longest times round up to more than a duration holds.
        Duration::try_from_secs_f64(seconds).map_or(whole, |wait| wait.min(whole))
    }

    /// How long a child must have been up to begin with the first wait again.
    pub fn resets_after(&self) -> Duration {
        self.reset_after
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::NONE
    }
}

/// Counts restarts in a window of time that ends now.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_core::backoff::Intensity;
///
/// let mut intensity = Intensity::new(2, Duration::from_nanos(10));
/// assert!(intensity.count(0) && intensity.count(1));
/// assert!(!intensity.count(9));
/// assert!(intensity.count(10));
/// ```
#[derive(Debug, Clone)]
pub struct Intensity {
    /// So many restarts are not too many.
    restarts_max: usize,
    /// How long the window is.
    within: Duration,
    /// When the restarts were that are still in the window, oldest first, in nanoseconds; never more than
    /// `restarts_max`.
    recent: VecDeque<u64>,
}

impl Intensity {
    /// No restart so far, of at most `restarts_max` within such a time.
    pub fn new(restarts_max: usize, within: Duration) -> Self {
        Self {
            restarts_max,
            within,
            recent: VecDeque::new(),
        }
    }

    /// Counts a restart at `now`, in nanoseconds; false if that is one too many.
    pub fn count(&mut self, now: u64) -> bool {
        let window = self.within.as_nanos();
        while let Some(&oldest) = self.recent.front()
            && u128::from(now.saturating_sub(oldest)) >= window
        {
            self.recent.pop_front();
        }
        if self.recent.len() >= self.restarts_max {
            return false;
        }
        self.recent.push_back(now);
        true
    }

    /// Begins anew.
    pub fn forget(&mut self) {
        self.recent.clear();
    }

    /// So many restarts are not too many.
    pub fn restarts_max(&self) -> usize {
        self.restarts_max
    }

    /// How long the window is.
    pub fn within(&self) -> Duration {
        self.within
    }
}

#[cfg(all(test, not(garrick_loom)))]
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
    fn the_longest_wait_is_no_panic() {
        let backoff = Backoff::exponential(Duration::MAX, Duration::MAX);
        assert_eq!(backoff.jitter(0.0).wait(0, 7), Duration::MAX);
        assert!(backoff.wait(u32::MAX, 7) > Duration::MAX / 2);
    }

    #[test]
    fn restarts_leave_the_window_one_by_one() {
        let mut intensity = Intensity::new(2, Duration::from_nanos(10));
        let counted = [0, 1, 2, 9, 10, 11, 12, 20].map(|now| intensity.count(now));
        assert_eq!(counted, [true, true, false, false, true, true, false, true]);
        assert!(!Intensity::new(0, Duration::MAX).count(0));
    }
}
