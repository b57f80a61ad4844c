//! The yardstick: two threads that hand one cache line to and fro.
//!
//! Nothing that goes from one core to another can be seen there sooner, so this is what a ring would take for a number of which
//! each one waits for the next.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};

use garrick_measure::{Measured, Result};

use super::cores::Cores;
use super::wait::Wait;
use crate::crowd::Crowd;

/// A number that has its cache line, and the one beside it that may be fetched along, to itself.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line {
    /// Transfers so far. Written by the two threads in turns: by the one when it is even, by the other when it is odd.
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
    // Acquire: the threads have ended, and joining them has shown all that they wrote; it costs nothing here.
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
    // Acquire: pairs with the Release below, of the other thread; a reader of a ring would see the value by it.
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
