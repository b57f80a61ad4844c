//! The actor that warms up the contenders and finds the number of operations per trial for each of
//! them.

use std::ops::ControlFlow::{self, Break, Continue};

use garrick_actor::{Actor, Address, Context, Next};

use crate::next::sent;
use crate::scenario::{Measured, Size};

use super::Pace;
use super::step::{Set, Step, Trial, Who};
use super::timer::Timing;

/// Number of operations of the first trial. Each scenario must work with this number, even if a
/// single batch of the scenario has more operations.
const OPS_FIRST: u64 = 1024;

/// Maximum factor by which a trial may be longer than the previous one. The factor is limited
/// because cold caches slow down the first trial.
const GROWTH_MAX: f64 = 16.0;

/// Divisor of the planned duration of a trial after the warm-up. The warm-up of a contender ends
/// when one of its trials takes longer than the quotient. The final number of operations is then
/// computed from this trial.
const GROWTH_ENOUGH: f64 = 4.0;

/// Maximum share of a row's measuring time that trials of the yardstick (an atomic addition) may
/// take.
const YARDSTICK_SHARE: f64 = 0.1;

/// Number of atomic additions in the first trial of the yardstick (a loop of atomic additions).
/// This trial determines how many additions fit into the available time.
const ADDITIONS_FIRST: u64 = 100_000;

/// Minimum number of atomic additions in a trial of the yardstick (a loop of atomic additions).
/// With fewer additions, the result would be too inaccurate.
const ADDITIONS_MIN: u64 = 1_000;

/// An actor that warms up one set of contenders at a time, one contender after another.
pub(super) struct WarmUp {
    pace: Pace,
    timer: Address<Timing>,
    /// Actor that receives the set of contenders after all of them have been warmed up.
    rounds: Address<Step>,
    set: Option<Set>,
    /// The subject of the current trial: the yardstick (an atomic addition) or a contender.
    who: Who,
    /// Number of operations of the current trial.
    ops: u64,
}

impl WarmUp {
    pub(super) fn new(pace: Pace, timer: Address<Timing>, rounds: Address<Step>) -> Self {
        Self {
            pace,
            timer,
            rounds,
            set: None,
            who: Who::Yardstick,
            ops: 0,
        }
    }

    fn try_out(&mut self, who: Who, ops: u64, cx: &Context<'_, Step>) -> Next {
        (self.who, self.ops) = (who, ops);
        let trial = Trial {
            who,
            ops,
            done: 0.0,
        };
        sent(&cx.send(&self.timer, Timing::Try(cx.address(), trial)))
    }

    /// Evaluates a trial. Continues with the same contender or with the next one.
    fn learn(&mut self, mut set: Set, took: &Measured, cx: &Context<'_, Step>) -> Next {
        let next = match self.who {
            Who::Yardstick => {
                let wanted = 1e9 * YARDSTICK_SHARE * self.pace.slice_s() / took.cpu_per_op();
                set.additions = (wanted as u64).max(ADDITIONS_MIN);
                0
            }
            Who::Entrant(index) => {
                let entrant = &mut set.entrants[index];
                match fit(self.pace, entrant.size, self.ops, took) {
                    Continue(ops) => {
                        self.set = Some(set);
                        return self.try_out(Who::Entrant(index), ops, cx);
                    }
                    Break((ops, rounds)) => (entrant.ops, entrant.rounds) = (ops, rounds),
                }
                index + 1
            }
        };
        self.go_on(set, next, cx)
    }

    /// Starts a trial of the next contender that needs a warm-up. If there is none, sends the set
    /// of contenders to the actor `rounds`, which continues with it.
    fn go_on(&mut self, mut set: Set, from: usize, cx: &Context<'_, Step>) -> Next {
        for index in from..set.entrants.len() {
            let entrant = &mut set.entrants[index];
            let first = match entrant.size {
                // Work that is done only once is not warmed up.
                Size::Fixed { rounds_max: 1 } => {
                    entrant.rounds = 1;
                    continue;
                }
                Size::Fixed { .. } => 0,
                Size::Fitted { ops_max } => OPS_FIRST.min(ops_max),
            };
            self.set = Some(set);
            return self.try_out(Who::Entrant(index), first, cx);
        }
        sent(&cx.send(&self.rounds, Step::Begin(set)))
    }
}

impl Actor for WarmUp {
    type Msg = Step;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: Step, cx: &mut Context<'_, Step>) -> Next {
        match (message, self.set.take()) {
            (Step::Begin(set), _) => {
                self.set = Some(set);
                self.try_out(Who::Yardstick, ADDITIONS_FIRST, cx)
            }
            (Step::Took(took), Some(set)) => self.learn(set, &took, cx),
            (Step::Took(_), None) | (Step::Stop, _) => Next::Continue,
        }
    }
}

/// Evaluates a trial of `ops` operations. Returns `Continue` with a new number of operations for
/// the next trial, or `Break` with the final numbers of operations and rounds.
fn fit(pace: Pace, size: Size, ops: u64, took: &Measured) -> ControlFlow<(u64, usize), u64> {
    let growth = 1e9 * pace.slice_s() / took.wall_ns.max(1.0);
    match size {
        Size::Fixed { rounds_max } => {
            let fitting = (1e9 * pace.seconds_per_row / took.wall_ns) as usize;
            Break((0, fitting.clamp(2, pace.rounds.max(2)).min(rounds_max)))
        }
        Size::Fitted { ops_max } => {
            // The cast saturates, at a value that `ops_max` cannot exceed.
            let wanted = (ops as f64 * growth.clamp(0.01, GROWTH_MAX)) as u64;
            let wanted = wanted.clamp(1, ops_max);
            if growth < GROWTH_ENOUGH || ops == ops_max {
                Break((wanted, pace.rounds))
            } else {
                Continue(wanted)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        rounds: 10,
        seconds_per_row: 0.01,
    };

    /// Returns the number of operations that the warm-up finds for a contender that takes exactly
    /// `ns` for each operation.
    fn fitted(ns: f64, ops_max: u64) -> u64 {
        let mut ops = OPS_FIRST.min(ops_max);
        loop {
            let total = ops as f64 * ns;
            let took = Measured {
                ops,
                cpu_ns: total,
                wall_ns: total,
                bytes_per_actor: None,
            };
            match fit(PACE, Size::Fitted { ops_max }, ops, &took) {
                Continue(more) => ops = more,
                Break((fitted, rounds)) => {
                    assert_eq!(rounds, PACE.rounds);
                    return fitted;
                }
            }
        }
    }

    #[test]
    fn a_slice_is_filled() {
        assert_eq!(fitted(10.0, u64::MAX), 100_000);
    }

    #[test]
    fn a_limit_is_kept() {
        assert_eq!(fitted(10.0, 2_000), 2_000);
        assert_eq!(fitted(10.0, 10), 10);
    }

    #[test]
    fn work_that_is_too_long_is_cut() {
        assert_eq!(fitted(1e4, u64::MAX), 100);
    }
}
