//! Fork-join, creation: many actors that each handle one message.
//!
//! ```text
//!   main  -- spawn, send -->  Worker: sin(37.2) squared, count the latch down, stop
//!         -- spawn, send -->  Worker
//!           ..
//! ```
//!
//! The main thread creates the actors and sends to them. With several workers, actors already run
//! while the main thread is sending. Every actor counts down a latch and then stops, as in the
//! suite. The run ends when the latch has reached zero.
//!
//! The run is correct if the latch has reached zero, and each actor has computed the same result as
//! a plain function call.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use garrick::{Actor, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, ours, run};
use super::work::{THETA, square_sine};

pub(super) const FORK_JOIN_CREATE: Scenario = Scenario {
    name: "savina-fork-join-create",
    operation: "one actor that the main thread creates, and to which it sends a message; the actor \
                computes the square of a sine, counts down a latch, and stops",
    contenders,
};

/// Number of actors in a full run.
const ACTORS: u64 = 40_000;

const ACTORS_QUICK: u64 = 4_000;

fn contenders(effort: &Effort) -> Vec<Contender> {
    let actors = effort.pick(ACTORS, ACTORS_QUICK);
    ours(
        &FORK_JOIN_CREATE,
        actors,
        &[("actors", actors.into())],
        fork_join_create,
    )
}

/// A counter of the workers that are not done. The worker that finishes last sends a report.
struct Latch {
    /// Number of workers that are not done. Every worker subtracts 1 when it is done.
    left: AtomicU64,
    /// Number of workers whose result was as expected. Every such worker adds 1. The last worker
    /// reads the number.
    right: AtomicU64,
    /// Channel to which the last worker sends the number of right results.
    reports: Reports<u64>,
}

impl Latch {
    fn count_down(&self, right: bool) {
        self.right.fetch_add(u64::from(right), Relaxed);
        // AcqRel: the decrement of each worker pairs with that of the last worker, so the last
        // worker sees all additions to `right`.
        if self.left.fetch_sub(1, AcqRel) == 1 {
            self.reports.tell(self.right.load(Relaxed));
        }
    }
}

/// An actor that computes one sine and counts down the latch.
struct Worker {
    latch: Arc<Latch>,
    expected: f64,
}

impl Actor for Worker {
    type Msg = ();
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
        self.latch.count_down(square_sine(THETA) == self.expected);
        Next::Stop
    }
}

fn fork_join_create(actors: u64, workers: usize) -> Result<Measured> {
    let expected = square_sine(THETA);
    let (right, span) = run(workers, 1, |on, reports| {
        let latch = Arc::new(Latch {
            left: AtomicU64::new(actors),
            right: AtomicU64::new(0),
            reports: reports.clone(),
        });
        for _ in 0..actors {
            let worker = on.spawn(Worker {
                latch: latch.clone(),
                expected,
            })?;
            worker.send(())?;
        }
        Ok(())
    })?;
    check(actors, &right)?;
    Ok(Measured::new(actors, span))
}

fn check(actors: u64, right: &[u64]) -> Result<()> {
    let what = "workers that computed the square of the sine";
    right
        .iter()
        .try_for_each(|right| agree(what, *right, actors))
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    #[test]
    fn every_worker_computes() {
        for workers in [1, 2] {
            for actors in [1, 300] {
                assert_eq!(fork_join_create(actors, workers).unwrap().ops, actors);
            }
        }
    }

    #[test]
    fn a_worker_that_computed_something_else_is_found() {
        let said = refused(check(3, &[2]));
        assert_eq!(
            said,
            "workers that computed the square of the sine: 2, not 3"
        );
    }
}
