//! A portfolio of strategies.

use super::action::{Action, Strategy};
use super::pct::Pct;
use super::pos::Pos;
use super::walk::Walk;

/// Number of consecutive seeds that use each strategy of the portfolio once.
const ROUND: u64 = 8;

/// Returns a strategy for a seed: a random walk for half of the seeds, and PCT or partial-order
/// sampling for the others. `steps` is the expected number of steps of a run.
///
/// No strategy is the best for all programs. A walk finds most bugs, and finds them fast. PCT finds
/// bugs that need one task to be much slower than others.
#[must_use]
pub fn portfolio<A: Action>(seed: u64, steps: u64) -> Box<dyn Strategy<A>> {
    match seed % ROUND {
        1 | 5 => Box::new(Pos::new(seed)),
        3 => Box::new(Pct::new(seed, 3, steps)),
        7 => Box::new(Pct::new(seed, 2 + (seed / ROUND % 5) as u32, steps)),
        _ => Box::new(Walk::new(seed)),
    }
}
