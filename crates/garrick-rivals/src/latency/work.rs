//! Work that takes a known CPU time.
//!
//! The work consists of a number of steps, and does not read the clock. So an interruption of the
//! thread does not reduce the remaining work.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Duration;

use garrick_measure::{Clock, Stopwatch};

/// Number of steps in a round of the calibration. A round takes a fraction of a millisecond.
const ROUND: u64 = 200_000;
/// Number of rounds of the calibration. The shortest round counts, because it was not interrupted.
const ROUNDS: usize = 9;

/// An amount of work, as a number of steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work(u64);

impl Work {
    /// Returns the amount of work that takes the CPU time `time` on this machine.
    pub(super) fn of(time: Duration) -> Self {
        static STEP: OnceLock<f64> = OnceLock::new();
        let step = STEP.get_or_init(|| {
            let rounds = (0..ROUNDS).map(|_| {
                let watch = Stopwatch::start(Clock::Thread);
                Self(ROUND).spin();
                watch.stop().cpu.as_secs_f64() / ROUND as f64
            });
            rounds.fold(f64::INFINITY, f64::min)
        });
        Self((time.as_secs_f64() / step) as u64)
    }

    /// Keeps the thread busy until the work is done.
    pub(super) fn spin(self) {
        let mut number = 1_u64;
        for _ in 0..self.0 {
            number = black_box(number).wrapping_mul(0x5851_f42d_4c95_7f2d);
        }
        black_box(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_the_time_that_it_should_and_not_a_fraction_of_it() {
        let watch = Stopwatch::start(Clock::Thread);
        Work::of(Duration::from_millis(20)).spin();
        assert!(watch.stop().cpu > Duration::from_millis(10));
    }
}
