//! Rates and percentiles over the last seconds.
//!
//! ```text
//!   points   (t0, v0) (t1, v1) ...................... (tn, vn)   now
//!             |<------------- the window, or less at first ------>|
//! ```
//!
//! A rate is the growth of a count since the oldest point, divided by the age of this point. Two
//! points are enough, so a rate is correct long before the first window is over.
//!
//! Percentiles of a value that is read in each sample are computed exactly, from the points. A
//! histogram, such as an HDR histogram, would take less memory for millions of values. But values
//! cannot be removed from a histogram, and a sliding window must remove values. With a sample every
//! 100 ms, a window has about a hundred values. Sorting them takes a microsecond or two.

use std::collections::VecDeque;

/// Nanoseconds since the start of the telemetry.
pub(crate) type Nanos = u64;

/// Maximum number of recorded values in a window. If there are more samples in a window, some of
/// the samples are skipped.
const POINTS_MAX: u64 = 1024;

/// Length of a window, and the minimum time between two recorded values in the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    window: Nanos,
    /// Minimum time between two recorded values.
    step: Nanos,
}

impl Pace {
    /// Creates the pace of a window of the length `window`. Computes the minimum time between two
    /// recorded values.
    pub(crate) fn new(window: Nanos) -> Self {
        Self {
            window,
            step: window / POINTS_MAX,
        }
    }
}

/// Time of a sample, and the [`Pace`] of the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    pub(crate) pace: Pace,
    pub(crate) now: Nanos,
}

/// The values that were recorded in the current window (the latest seconds), oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Recent<T> {
    /// Values with their times. Only the first value may be older than the window.
    points: VecDeque<(Nanos, T)>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self {
            points: VecDeque::new(),
        }
    }
}

impl<T: Copy> Recent<T> {
    /// Drops the values that are too old for the window. Then adds `value`, if enough time has
    /// passed since a value was last added.
    pub(crate) fn push(&mut self, pace: Pace, now: Nanos, value: T) {
        let since = |point: &(Nanos, T)| now.saturating_sub(point.0);
        while self.points.get(1).is_some_and(|p| since(p) >= pace.window) {
            self.points.pop_front();
        }
        let dense = |last| since(last) < pace.step.max(1);
        if !self.points.back().is_some_and(dense) {
            self.points.push_back((now, value));
        }
    }

    /// Returns the value, with its time, from which a growth until `now` is computed: the oldest
    /// one. If no sample was taken for longer than the window after the oldest value, for example
    /// because the process was stopped or the machine was asleep, returns the first value after
    /// this pause, unless it is the value at `now`. So a pause does not make the growth of the
    /// whole next window seem small.
    fn base(&self, pace: Pace, now: Nanos) -> Option<(Nanos, T)> {
        let oldest = *self.points.front()?;
        let next = self.points.get(1).copied();
        let after_pause = next.filter(|next| next.0 - oldest.0 > pace.window && next.0 < now);
        Some(after_pause.unwrap_or(oldest))
    }
}

impl Recent<f64> {
    /// Returns the growth per second from the oldest value to the newest one. Returns `None` if
    /// there are fewer than two values.
    pub(crate) fn slope(&self, pace: Pace) -> Option<f64> {
        let newest = self.points.back()?;
        let oldest = self.base(pace, newest.0)?;
        let seconds = newest.0.checked_sub(oldest.0).filter(|&nanos| nanos > 0)? as f64 / 1e9;
        Some((newest.1 - oldest.1) / seconds)
    }

    /// Returns the percentile for each of `shares`, such as 0.95 for the 95th percentile. Returns 0
    /// if there are no values. `scratch` is overwritten.
    pub(crate) fn percentiles<const N: usize>(
        &self,
        shares: [f64; N],
        scratch: &mut Vec<f64>,
    ) -> [f64; N] {
        scratch.clear();
        scratch.extend(self.points.iter().map(|point| point.1));
        scratch.sort_unstable_by(f64::total_cmp);
        shares.map(|share| {
            let rank = (share * scratch.len() as f64).ceil() as usize;
            let value = scratch.get(rank.saturating_sub(1));
            value.copied().unwrap_or_default()
        })
    }
}

/// A count that only grows, and the rate of its growth.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    /// Highest count so far. If a count is the sum of several counters, a later reading can give a
    /// smaller sum, but the reported count never falls.
    total: u64,
    recent: Recent<u64>,
    /// Growth per second over the window. `None` before the second sample.
    rate: Option<f64>,
}

impl Meter {
    /// Records `count`, the value at the time `now`.
    pub(crate) fn push(&mut self, pace: Pace, now: Nanos, count: u64) {
        self.total = self.total.max(count);
        self.recent.push(pace, now, self.total);
        let oldest = self.recent.base(pace, now);
        let Some((then, before)) = oldest.filter(|point| point.0 < now) else {
            return;
        };
        let seconds = (now - then) as f64 / 1e9;
        self.rate = Some((self.total - before) as f64 / seconds);
    }

    /// Returns the time since the latest recorded count if no sample was taken for longer than the
    /// window, and otherwise 0. Call this before the count of the current sample is recorded.
    pub(crate) fn pause(&self, at: At) -> Nanos {
        let latest = self.recent.points.back();
        let since = latest.map_or(0, |latest| at.now.saturating_sub(latest.0));
        if since > at.pace.window { since } else { 0 }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the growth within the window. If no recorded value is as old as the window, returns
    /// the total count.
    pub(crate) fn growth(&self, at: At) -> u64 {
        let oldest = self.recent.points.front();
        let oldest = oldest.filter(|point| at.now.saturating_sub(point.0) >= at.pace.window);
        self.total - oldest.map_or(0, |point| point.1)
    }

    /// Returns the growth per second, or `None` before the second sample.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate
    }
}

/// Maximum number of recorded states of a histogram in a window. One more state may be older than
/// the window.
const SPREAD_POINTS: u64 = 10;

/// The counts of a histogram that were recorded in the current window, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spread {
    /// Counts of all buckets, with their times. Only the first counts may be older than the window.
    points: VecDeque<(Nanos, Vec<u64>)>,
}

impl Spread {
    /// Records the total counts of all buckets, and returns the growth of each bucket within the
    /// window. If less time than the window has passed since the first call, returns the total
    /// counts. Values are counted for up to a tenth of the window longer than the window.
    pub(crate) fn push(&mut self, at: At, counts: &[u64]) -> Vec<u64> {
        let since = |point: &(Nanos, Vec<u64>)| at.now.saturating_sub(point.0);
        let window = at.pace.window;
        while self.points.get(1).is_some_and(|p| since(p) >= window) {
            self.points.pop_front();
        }
        let is_old = |point: &&(Nanos, Vec<u64>)| since(point) >= window;
        let before = self.points.front().filter(is_old);
        let before = before.map_or(&[][..], |point| &point.1);
        let before = before.iter().copied().chain(std::iter::repeat(0));
        // If a count is the sum of several counters, a later reading can give a smaller sum.
        let growth = counts
            .iter()
            .zip(before)
            .map(|(now, then)| now.saturating_sub(then));
        let growth = growth.collect();
        let is_dense = |last| since(last) < (window / SPREAD_POINTS).max(1);
        if !self.points.back().is_some_and(is_dense) {
            self.points.push_back((at.now, counts.to_vec()));
        }
        growth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn a_rate_is_right_from_the_second_look_on() {
        let pace = Pace::new(10 * SECOND);
        let mut meter = Meter::default();
        meter.push(pace, 0, 1_000_000);
        assert_eq!(meter.rate(), None);
        meter.push(pace, SECOND / 10, 1_000_050);
        assert_eq!(meter.rate(), Some(500.0));
    }

    #[test]
    fn a_rate_follows_a_change_within_a_window() {
        let pace = Pace::new(10 * SECOND);
        let mut meter = Meter::default();
        let mut count = 0;
        for tick in 0..=300 {
            meter.push(pace, tick * SECOND / 10, count);
            count += if tick < 100 { 100 } else { 1 };
        }
        let rate = meter.rate().expect("many looks");
        assert!((rate - 10.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn what_is_shown_never_falls() {
        let pace = Pace::new(SECOND);
        let mut meter = Meter::default();
        for (tick, count) in [5, 9, 7, 8, 10].into_iter().enumerate() {
            let before = meter.total();
            meter.push(pace, tick as Nanos, count);
            assert!(meter.total() >= before);
        }
        assert_eq!(meter.total(), 10);
    }

    #[test]
    fn a_rate_is_right_again_after_a_pause() {
        let pace = Pace::new(10 * SECOND);
        let (mut meter, mut waiting) = (Meter::default(), Recent::default());
        meter.push(pace, 0, 0);
        waiting.push(pace, 0, 0.0);
        let mut look = |now, count: u64| {
            meter.push(pace, now, count);
            waiting.push(pace, now, count as f64);
            let rate = meter.rate().expect("not the first look");
            assert!((rate - waiting.slope(pace).expect("two looks")).abs() < 1e-9);
            (rate, meter.growth(At { pace, now }))
        };
        for tick in 1..=200 {
            look(tick * SECOND / 10, tick * 100);
        }
        // The process was stopped for an hour.
        let woken = 3_620 * SECOND;
        let (rate, growth) = look(woken, 20_100);
        assert!(rate < 1.0, "{rate}: the average of the hour");
        assert_eq!(growth, 100);
        for tick in 1..=300 {
            let (rate, growth) = look(woken + tick * SECOND / 10, 20_100 + tick * 100);
            assert!((rate - 1_000.0).abs() < 1e-6, "{rate}");
            assert!((100..=10_200).contains(&growth), "{growth}");
        }
    }

    #[test]
    fn two_looks_at_one_moment_divide_by_nothing() {
        let pace = Pace::new(SECOND);
        let mut meter = Meter::default();
        meter.push(pace, 7, 1);
        meter.push(pace, 7, 2);
        assert_eq!(meter.rate(), None);
    }

    #[test]
    fn percentiles_are_those_of_the_window() {
        let pace = Pace::new(10 * SECOND);
        let mut recent = Recent::default();
        for tick in 0..200 {
            let value = if tick < 99 {
                1.0
            } else {
                (tick - 99) as f64 / 100.0
            };
            recent.push(pace, tick * SECOND / 10, value);
        }
        let [p80, p95] = recent.percentiles([0.8, 0.95], &mut Vec::new());
        assert!((p80 - 0.8).abs() < 0.011, "{p80}");
        assert!((p95 - 0.95).abs() < 0.011, "{p95}");
        let none = Recent::<f64>::default().percentiles([0.8], &mut Vec::new());
        assert_eq!(none, [0.0]);
    }

    #[test]
    fn the_counts_of_a_histogram_are_those_of_the_window() {
        let at = |now| At {
            pace: Pace::new(10 * SECOND),
            now,
        };
        let mut spread = Spread::default();
        let mut counts = [5, 0];
        assert_eq!(spread.push(at(0), &counts), [5, 0], "all, at first");
        for tick in 1..1_000 {
            counts[1] += 1;
            let growth = spread.push(at(tick * SECOND / 10), &counts);
            if tick < 100 {
                assert_eq!(growth, [5, tick]);
            } else {
                assert!(
                    growth[0] == 0 && (100..=110).contains(&growth[1]),
                    "{growth:?}"
                );
            }
            assert!(spread.points.len() as u64 <= SPREAD_POINTS + 1);
        }
        // The values after the last recorded point, which is a second old at most.
        let growth = spread.push(at(1_000 * SECOND), &counts);
        assert!(growth[0] == 0 && growth[1] < 10, "{growth:?}");
        assert_eq!(spread.push(at(1_020 * SECOND), &counts), [0, 0]);
    }

    #[test]
    fn a_slope_is_that_of_the_window() {
        let pace = Pace::new(10 * SECOND);
        let mut recent = Recent::default();
        recent.push(pace, 0, 1_000.0);
        assert_eq!(recent.slope(pace), None);
        for tick in 1..=300 {
            let value = if tick <= 150 {
                1_000.0
            } else {
                1_000.0 - f64::from(tick - 150)
            };
            recent.push(pace, tick as Nanos * SECOND / 10, value);
        }
        let slope = recent.slope(pace).expect("many looks");
        assert!((slope + 10.0).abs() < 0.01, "{slope}");
    }

    proptest! {
        #[test]
        fn points_stay_few_and_span_the_window(steps in prop::collection::vec(0u64..30_000_000, 1..4000)) {
            let pace = Pace::new(10 * SECOND);
            let mut recent = Recent::default();
            let mut now = 0;
            for step in steps {
                now += step;
                recent.push(pace, now, 0.5f64);
                prop_assert!(recent.points.len() as u64 <= POINTS_MAX + 2);
                if let Some(second) = recent.points.get(1) {
                    prop_assert!(now - second.0 < 10 * SECOND);
                }
            }
        }
    }
}
