//! The yardstick: one atomic addition that no other thread interferes with.
//!
//! Sending, handling and dropping a message normally costs about ten of these additions, on any
//! machine. So figures in units of the yardstick can be transferred from one machine to another.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock::{Clock, Stopwatch};
use crate::scenario::Measured;

/// Performs the given number of atomic additions, and returns the time that they took.
pub fn measure(additions: u64) -> Measured {
    let sum = AtomicU64::new(0);
    let watch = Stopwatch::start(Clock::Thread);
    for _ in 0..additions {
        black_box(&sum).fetch_add(1, Relaxed);
    }
    let measured = Measured::new(additions, watch.stop());
    assert_eq!(sum.into_inner(), additions, "every addition counts");
    measured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_addition_takes_time() {
        let measured = measure(200_000);
        assert_eq!(measured.ops, 200_000);
        assert!(measured.cpu_per_op() > 0.1, "{measured:?}");
    }
}
