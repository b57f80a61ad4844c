//! Delays before restarts, and a limit on the number of restarts.
//!
//! Supervisors of actors and stages of pipelines use these types. The types are plain values, and
//! nothing in this module is shared between threads.

use std::collections::VecDeque;
use std::time::Duration;

use crate::random::mix;

/// A policy that determines the delay before each restart of a child. A child is an actor or a
/// pipeline stage. The delays grow exponentially.
///
/// The first delay is short. Each following delay is twice as long as the previous delay, up to a
/// limit. Random jitter shortens each delay, so that children that failed at the same time do not
/// all restart at the same time.
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
    /// Delay before the first restart of a child.
    first: Duration,
    /// Maximum delay.
    max: Duration,
    /// Largest fraction by which a delay is randomly shortened, from 0 to 1.
    jitter: f64,
    /// Time that a child must stay up before its delay is reset to the first delay.
    reset_after: Duration,
}

impl Backoff {
    /// A backoff without delays: each restart happens immediately.
    pub const NONE: Self = Self {
        first: Duration::ZERO,
        max: Duration::ZERO,
        jitter: 0.0,
        reset_after: Duration::ZERO,
    };

    /// Creates a backoff with the delays `first`, twice `first`, and so on, up to `max`. The jitter
    /// is 0.2. After a child has stayed up for at least `max`, its next delay is `first` again.
    #[must_use]
    pub fn exponential(first: Duration, max: Duration) -> Self {
        Self {
            first,
            max,
            jitter: 0.2,
            reset_after: max,
        }
    }

    /// Sets the jitter to `part`, the largest fraction by which a delay is shortened at random.
    /// With a jitter of 0.2, a delay takes 80 % to 100 % of its full length.
    ///
    /// # Panics
    /// Panics if `part` is not between 0 and 1.
    #[must_use]
    #[track_caller]
    pub fn jitter(mut self, part: f64) -> Self {
        assert!(
            (0.0..=1.0).contains(&part),
            "the jitter must be between 0 and 1, but is {part}"
        );
        self.jitter = part;
        self
    }

    /// Sets how long a child must stay up before its delay is reset to the first delay. The time is
    /// counted from the latest start of the child.
    #[must_use]
    pub fn reset_after(mut self, up: Duration) -> Self {
        self.reset_after = up;
        self
    }

    /// Returns the delay before the next restart of a child. `restarts` is the number of restarts
    /// of the child since its delay was last reset. The jitter is computed from `random`, which can
    /// be any number.
    #[must_use]
    pub fn wait(&self, restarts: u32, random: u64) -> Duration {
        let factor = 1u32.checked_shl(restarts).unwrap_or(u32::MAX);
        let whole = self.first.saturating_mul(factor).min(self.max);
        let chance = mix(random) as f64 / u64::MAX as f64;
        let seconds = whole.as_secs_f64() * (1.0 - self.jitter * chance);
        // The longest times round up to more than a `Duration` can hold.
        Duration::try_from_secs_f64(seconds).map_or(whole, |wait| wait.min(whole))
    }

    /// Returns how long a child must stay up before its delay is reset to the first delay.
    pub fn resets_after(&self) -> Duration {
        self.reset_after
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::NONE
    }
}

/// A limit on the number of restarts within a sliding time window.
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
    /// Maximum number of restarts within the window.
    restarts_max: usize,
    /// Length of the window in which restarts are counted.
    within: Duration,
    /// Times of the restarts that are still in the window, oldest first, in nanoseconds. Holds at
    /// most `restarts_max` times.
    recent: VecDeque<u64>,
}

impl Intensity {
    /// Creates a limit of at most `restarts_max` restarts within a window of length `within`.
    pub fn new(restarts_max: usize, within: Duration) -> Self {
        Self {
            restarts_max,
            within,
            recent: VecDeque::new(),
        }
    }

    /// Counts a restart at the time `now` and returns true. If the restart would exceed the limit,
    /// returns false and does not count it. The time is in nanoseconds since an epoch that the
    /// caller chooses.
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

    /// Forgets all restarts counted so far.
    pub fn forget(&mut self) {
        self.recent.clear();
    }

    /// Returns the maximum number of restarts within the window.
    pub fn restarts_max(&self) -> usize {
        self.restarts_max
    }

    /// Returns the length of the window.
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
