//! Break-even points: the smallest load at and above which one contender is no slower than another.

/// The smallest load at and above which one contender is no slower than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BreakEven {
    /// The first contender is never slower than the second.
    Always,
    /// The first contender is no slower at this load and at every larger load.
    From(f64),
    /// The first contender is slower than the second, even at the largest load.
    Never,
}

/// The times of both contenders at one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Times {
    /// Amount of work in each operation.
    pub(super) load: f64,
    /// Time of the first contender, which becomes faster relative to the second one as the load
    /// grows.
    pub(super) one: f64,
    /// Time of the second contender.
    pub(super) other: f64,
}

impl Times {
    /// Returns the time by which the first contender is slower than the second. The result is
    /// negative if the first contender is faster.
    fn lag(&self) -> f64 {
        self.one - self.other
    }
}

/// Returns the smallest load at and above which `one` is no slower than `other`. `times` must be
/// sorted by load. Between two loads, both times are interpolated linearly. Returns `None` if there
/// are no times.
pub(super) fn break_even(times: &[Times]) -> Option<BreakEven> {
    let last = times.last()?;
    if last.lag() > 0.0 {
        return Some(BreakEven::Never);
    }
    let slower = times.iter().rposition(|at| at.lag() > 0.0);
    Some(slower.map_or(BreakEven::Always, |index| {
        let (before, after) = (times[index], times[index + 1]);
        // The lag falls from above 0 to 0 or below.
        let way = before.lag() / (before.lag() - after.lag());
        BreakEven::From(before.load + way * (after.load - before.load))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the break-even point of two contenders. At the loads 0, 10, 100 and 1000, the first
    /// contender is slower by the times in `lags`.
    fn of(lags: [f64; 4]) -> BreakEven {
        let at = |(load, lag): (f64, f64)| Times {
            load,
            one: 50.0 + lag,
            other: 50.0,
        };
        let times: Vec<Times> = [0.0, 10.0, 100.0, 1000.0]
            .into_iter()
            .zip(lags)
            .map(at)
            .collect();
        break_even(&times).unwrap()
    }

    #[test]
    fn the_load_is_found_between_two_that_were_measured() {
        assert_eq!(of([30.0, 10.0, -10.0, -20.0]), BreakEven::From(55.0));
        assert_eq!(of([30.0, 20.0, 10.0, -20.0]), BreakEven::From(400.0));
        assert_eq!(of([30.0, 0.0, 0.0, 0.0]), BreakEven::From(10.0));
    }

    #[test]
    fn it_may_be_always_or_never() {
        assert_eq!(of([-1.0, -1.0, -1.0, -1.0]), BreakEven::Always);
        assert_eq!(of([0.0, 0.0, 0.0, 0.0]), BreakEven::Always);
        assert_eq!(of([3.0, 2.0, 1.0, 0.5]), BreakEven::Never);
        assert_eq!(of([-3.0, -2.0, -1.0, 0.5]), BreakEven::Never);
    }

    #[test]
    fn what_is_slower_again_has_not_broken_even_before() {
        assert_eq!(of([30.0, -10.0, 90.0, -810.0]), BreakEven::From(190.0));
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert_eq!(break_even(&[]), None);
    }
}
