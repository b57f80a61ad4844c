//! A bare cache line, for comparison with the rings: two threads pass the line back and forth.
//!
//! No data can get from one core to another faster than this cache line. So if each number is sent
//! only after the previous one has arrived, no ring can be faster.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};

use garrick_measure::{Measured, Result};

use super::cores::Cores;
use super::wait::Wait;
use crate::crowd::Crowd;

/// A number that has two neighboring cache lines to itself. A single line would not be enough,
/// because the processor may prefetch the neighboring line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line {
    /// Number of transfers so far. The two threads write this number alternately: one thread when
    /// the number is even, the other thread when the number is odd.
    transfers: AtomicU64,
}

/// Passes a cache line back and forth between two threads, `ops` times in total.
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
    // Acquire: not needed, because joining the threads has made all their writes visible, but it
    // costs nothing here.
    assert_eq!(
        line.transfers.load(Acquire),
        ops,
        "the line was transferred the requested number of times"
    );
    Ok(Measured::new(ops, span))
}

/// Waits until the number of transfers is `turn`, and then increases this number by 1. The other
/// thread waits for the new number.
#[inline]
fn pass(line: &Line, turn: u64) {
    let mut wait = Wait::default();
    // Acquire: pairs with the Release below in the other thread, so that the reader of a ring would
    // see the value.
    while line.transfers.load(Acquire) != turn {
        wait.moment();
    }
    // Release: pairs with the Acquire above in the other thread.
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
