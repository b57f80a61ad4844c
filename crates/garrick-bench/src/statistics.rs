//! Median, least and most.

use serde::Serialize;

/// What several measurements of one thing come to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// The one in the middle, or the mean of the two in the middle.
    pub(crate) median: f64,
    /// The least.
    pub(crate) min: f64,
    /// The most.
    pub(crate) max: f64,
}

impl Summary {
    /// Sums up `values`, none of which is a NaN.
    ///
    /// # Panics
    /// If there are no values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        assert!(!sorted.is_empty(), "nothing was measured");
        sorted.sort_unstable_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Self {
            median: thousandths(median),
            min: thousandths(sorted[0]),
            max: thousandths(sorted[sorted.len() - 1]),
        }
    }
}

/// Rounds to what a measurement can tell: a thousandth of a nanosecond is below any noise.
pub(crate) fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_counts_have_a_middle() {
        let summary = Summary::of([3.0, 1.0, 2.0]);
        assert_eq!((summary.median, summary.min, summary.max), (2.0, 1.0, 3.0));
    }

    #[test]
    fn even_counts_take_the_mean_of_two() {
        let summary = Summary::of([4.0, 1.0, 2.0, 100.0]);
        assert_eq!(
            (summary.median, summary.min, summary.max),
            (3.0, 1.0, 100.0)
        );
    }

    #[test]
    fn one_value_is_all_three() {
        let summary = Summary::of([7.25]);
        assert_eq!(
            (summary.median, summary.min, summary.max),
            (7.25, 7.25, 7.25)
        );
    }

    #[test]
    fn an_outlier_does_not_move_the_median() {
        assert_eq!(Summary::of([5.0, 5.0, 5.0, 5.0, 1e9]).median, 5.0);
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
