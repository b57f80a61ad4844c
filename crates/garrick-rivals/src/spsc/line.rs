//! Yardstick: two threads that hand one cache line to and fro.
//!
//! No data that goes from one core to another can arrive sooner. A ring takes at least this time if
//! each number waits for the one before.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};

use garrick_measure::{Measured, Result};

use super::cores::Cores;
use super::wait::Wait;
use crate::crowd::Crowd;

/// Number with a cache line to itself, and with the neighbouring line that may be prefetched.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line {
    /// Number of transfers so far. The two threads write it in turns: one when it is even, the
    /// other when it is odd.
    transfers: AtomicU64,
}

/// Hands a line over `ops` times.
pub(super) fn transfers(cores: Cores, ops: u64) -> Result<Measured> {
    let line = Arc::<Line>::default();
    let crowd = Crowd::gather(2, |side| {
        let line = line.clone();
        move || {
            let pinned = cores.pin(side as usize);
            (side..ops).step_by(2).for_each(|turn| pass(&line, turn));
            pinned
        }
    })?;
    let watch = crowd.begin();
    let pinned = crowd.disperse();
    let span = watch.stop();
    pinned.into_iter().collect::<std::io::Result<()>>()?;
    // Acquire: the threads have ended, and joining them has shown all that they wrote; it costs
    // nothing here.
    assert_eq!(
        line.transfers.load(Acquire),
        ops,
        "every turn was passed on"
    );
    Ok(Measured::new(ops, span))
}

/// Waits for a turn, and passes the line on.
#[inline]
fn pass(line: &Line, turn: u64) {
    let mut wait = Wait::default();
    // Acquire: pairs with the Release below, of the other thread; a reader of a ring would see the
    // value by it.
    while line.transfers.load(Acquire) != turn {
        wait.moment();
    }
    // Release: pairs with the Acquire above, of the other thread.
    line.transfers.store(turn + 1, Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_is_passed_on() {
        for ops in [0, 1, 2, 1001] {
            let measured = transfers(Cores::ANY, ops).expect("threads are to be had");
            assert_eq!(measured.ops, ops);
        }
    }
}
