//! The yardstick: one atomic addition that no other thread interferes with.
//!
//! Every message that is sent, run and dropped the usual way costs some ten of these, so figures in units
//! of it carry over from one machine to the next.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock::{Clock, Stopwatch};
use crate::scenario::Measured;

/// Additions of a trial that finds out how many fit a time.
const TRIAL: u64 = 100_000;

/// The fewest additions that measure anything.
const ADDITIONS_MIN: u64 = 1_000;

/// Does `additions` of them.
pub(crate) fn measure(additions: u64) -> Measured {
    let sum = AtomicU64::new(0);
    let watch = Stopwatch::start(Clock::Thread);
    for _ in 0..additions {
        black_box(&sum).fetch_add(1, Relaxed);
    }
    let measured = Measured::new(additions, watch.stop());
    assert_eq!(sum.into_inner(), additions, "every addition counts");
    measured
}

/// How many take about so long.
pub(crate) fn additions_in(seconds: f64) -> u64 {
    let ns = measure(TRIAL).cpu_per_op();
    ((1e9 * seconds / ns) as u64).max(ADDITIONS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_addition_takes_time() {
        let measured = measure(200_000);
        assert_eq!(measured.ops, 200_000);
        assert!(measured.cpu_per_op() > 0.1, "{measured:?}");
        assert!(additions_in(0.001) >= ADDITIONS_MIN);
    }
}
