//! Median, minimum, maximum, confidence interval of the median, and outliers.
//!
//! The interval is computed with order statistics, which assume nothing about the distribution of
//! the values. Of `n` values, the number below the true median is distributed like the number of
//! heads in `n` tosses of a coin. So the median lies between the k-th smallest and the k-th largest
//! value with a certainty that depends only on `n` and `k`. At least six values are needed for 95
//! %. (H. A. David, H. N. Nagaraja: Order Statistics, 2003, section 7.1.)

use serde::{Deserialize, Serialize};

/// Maximum probability that an interval misses the median on one side.
const MISSED: f64 = 0.025;

/// Number of median absolute deviations beyond which a value is an outlier. This number corresponds
/// to three standard deviations of a normal distribution.
const DEVIATIONS_MAX: f64 = 3.0 * 1.4826;

/// Minimum deviation of an outlier, relative to the median. This minimum applies even if all other
/// values are equal.
const DEVIATION_MIN: f64 = 0.01;

/// A summary of several measurements of one quantity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The median: the middle value, or for an even number of values the mean of the two middle
    /// ones.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The interval that contains the true median with 95 % certainty. `None` for fewer than six
    /// values.
    #[serde(default)]
    pub interval: Option<Interval>,
}

/// A range of values, from `low` to `high`, including both bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
}

impl Summary {
    /// Summarizes `values`, which must not contain NaN.
    ///
    /// # Panics
    /// Panics if there are no values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let sorted = sorted(values);
        assert!(!sorted.is_empty(), "nothing was measured");
        let last = sorted.len() - 1;
        let interval = rank_low(sorted.len()).map(|rank| Interval {
            low: thousandths(sorted[rank]),
            high: thousandths(sorted[last - rank]),
        });
        Self {
            median: thousandths(middle(&sorted)),
            min: thousandths(sorted[0]),
            max: thousandths(sorted[last]),
            interval,
        }
    }

    /// Returns the 95 % confidence interval of the median. If the interval is unknown, returns the
    /// range from the minimum to the maximum.
    pub fn bounds(&self) -> Interval {
        self.interval.unwrap_or(Interval {
            low: self.min,
            high: self.max,
        })
    }
}

/// Returns the number of outliers among `values`. The distance of an outlier from the median is
/// more than [`DEVIATIONS_MAX`] times the median absolute deviation, and more than
/// [`DEVIATION_MIN`] times the median.
pub(crate) fn outliers(values: &[f64]) -> usize {
    if values.is_empty() {
        return 0;
    }
    let median = middle(&sorted(values.iter().copied()));
    let deviations: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let typical = middle(&sorted(deviations.iter().copied()));
    let allowed = (DEVIATIONS_MAX * typical).max(DEVIATION_MIN * median.abs());
    deviations.iter().filter(|off| **off > allowed).count()
}

/// Returns `of` divided by `one`, or zero if `one` is zero, because nothing can be compared with a
/// time of zero.
pub(crate) fn ratio(of: f64, one: f64) -> f64 {
    if one > 0.0 { of / one } else { 0.0 }
}

/// Rounds a time in nanoseconds to three decimals. Any noise is larger than the rounding error.
pub(crate) fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn middle(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}

/// Returns the rank of both bounds of a confidence interval of the median. The interval is the
/// narrowest one with enough certainty. The rank of the lower bound is counted from the smallest
/// value, and the rank of the upper bound from the largest. Ranks begin at 0. Returns `None` if
/// there are too few values.
fn rank_low(count: usize) -> Option<usize> {
    // The probability of exactly `heads` heads, and of fewer.
    let (mut chance, mut fewer) = (0.5_f64.powi(count.try_into().ok()?), 0.0);
    let mut rank = None;
    for heads in 0..count.div_ceil(2) {
        fewer += chance;
        if fewer > MISSED {
            break;
        }
        rank = Some(heads);
        chance *= (count - heads) as f64 / (heads + 1) as f64;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least_and_most(summary: Summary) -> (f64, f64, f64) {
        (summary.median, summary.min, summary.max)
    }

    #[test]
    fn odd_counts_have_a_middle() {
        assert_eq!(
            least_and_most(Summary::of([3.0, 1.0, 2.0])),
            (2.0, 1.0, 3.0)
        );
    }

    #[test]
    fn even_counts_take_the_mean_of_two() {
        let summary = Summary::of([4.0, 1.0, 2.0, 100.0]);
        assert_eq!(least_and_most(summary), (3.0, 1.0, 100.0));
    }

    #[test]
    fn one_value_is_all_three_and_certain_of_nothing() {
        let summary = Summary::of([7.25]);
        assert_eq!(least_and_most(summary), (7.25, 7.25, 7.25));
        assert_eq!(summary.interval, None);
    }

    /// Compares the computed ranks with published tables of the sign test for 95 %.
    #[test]
    fn intervals_are_those_of_the_tables() {
        let ranks = [(5, None), (6, Some(0)), (9, Some(1)), (15, Some(3))];
        for (count, rank) in ranks.into_iter().chain([(25, Some(7)), (50, Some(17))]) {
            assert_eq!(rank_low(count), rank, "{count}");
        }
        let summary = Summary::of((1..=15).map(f64::from));
        let expected = Interval {
            low: 4.0,
            high: 12.0,
        };
        assert_eq!(summary.interval, Some(expected));
    }

    #[test]
    fn an_outlier_moves_neither_median_nor_interval_and_is_counted() {
        let mut values: Vec<f64> = (0..15).map(|n| 5.0 + 0.01 * f64::from(n % 5)).collect();
        let before = Summary::of(values.clone());
        assert_eq!(outliers(&values), 0);
        let most = values
            .iter()
            .position(|value| *value == before.max)
            .unwrap();
        values[most] = 1e9;
        assert_eq!(Summary::of(values.clone()).median, before.median);
        assert_eq!(Summary::of(values.clone()).interval, before.interval);
        assert_eq!(outliers(&values), 1);
    }

    #[test]
    fn what_is_alike_is_in_line() {
        assert_eq!(outliers(&[]), 0);
        assert_eq!(outliers(&[5.0; 9]), 0);
        assert_eq!(outliers(&[5.0, 5.0, 5.0, 5.04, 5.0]), 0);
        assert_eq!(outliers(&[5.0, 5.0, 5.0, 5.06, 5.0]), 1);
    }

    #[test]
    fn a_ratio_is_a_number_in_any_case() {
        assert_eq!(ratio(6.0, 2.0), 3.0);
        assert_eq!((ratio(6.0, 0.0), ratio(0.0, 0.0)), (0.0, 0.0));
    }

    #[test]
    fn values_are_rounded_to_thousandths() {
        assert_eq!(Summary::of([1.234_567]).median, 1.235);
    }

    #[test]
    #[should_panic(expected = "nothing was measured")]
    fn no_values_are_a_bug() {
        let _ = Summary::of([]);
    }
}
