//! One kind of work that a soak (a long test) does.

use std::time::Duration;

use garrick::{Ask, Handle};
use garrick_measure::Result;

/// Time after which a round counts as stuck.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// The outcome of a round: its number of operations, or an error.
pub(super) type Outcome = std::result::Result<u64, String>;

/// A kind of work that is performed in rounds, and checked after each round.
pub(super) trait Part {
    /// Returns the name of this kind of work, for tables.
    fn name(&self) -> &'static str;

    /// Starts a round.
    ///
    /// # Errors
    /// Fails if the actors of the part have stopped.
    fn begin(&mut self, system: &Handle) -> Result<()>;

    /// Waits until the round is over, and returns its number of operations.
    ///
    /// # Errors
    /// Fails if a result is wrong or missing.
    fn end(&mut self) -> Result<u64>;

    /// Stops the actors that must be stopped before the system shuts down.
    ///
    /// # Errors
    /// Fails if they do not stop.
    fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Waits until the main actor of a part reports the outcome of a round. `round` is the question to
/// which this report is the answer.
pub(super) fn outcome(round: Option<Ask<Outcome>>) -> Result<u64> {
    let round = round.ok_or("no round was started")?;
    let outcome = round
        .wait_timeout(PATIENCE)
        .map_err(|why| format!("the round did not end: {why}"))?;
    Ok(outcome?)
}

pub(super) fn sum_below(number: u64) -> u64 {
    number * number.saturating_sub(1) / 2
}

/// Returns `found` if it equals `expected`, and otherwise an error.
pub(super) fn same(what: &str, found: u64, expected: u64) -> Outcome {
    if found == expected {
        Ok(found)
    } else {
        Err(format!("{what}: {found} instead of {expected}"))
    }
}
