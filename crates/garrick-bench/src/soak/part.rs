//! One kind of work of a soak.

use std::time::Duration;

use garrick::{Ask, Handle};
use garrick_measure::Result;

/// Time after which a round counts as hanging.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Amount of work, or an error.
pub(super) type Outcome = std::result::Result<u64, String>;

/// Work that is done in rounds, each of which is checked.
pub(super) trait Part {
    /// Returns the name of the part in tables.
    fn name(&self) -> &'static str;

    /// Starts a round.
    ///
    /// # Errors
    /// Fails if the actors of the part are gone.
    fn begin(&mut self, system: &Handle) -> Result<()>;

    /// Waits for the end of the round, and returns its number of operations.
    ///
    /// # Errors
    /// Fails if a result is wrong or missing.
    fn end(&mut self) -> Result<u64>;

    /// Stops actors that end in an order of their own.
    ///
    /// # Errors
    /// Fails if they do not stop.
    fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Waits for the outcome that the actor at the head of a part reports.
pub(super) fn outcome(round: Option<Ask<Outcome>>) -> Result<u64> {
    let round = round.ok_or("no round was begun")?;
    let outcome = round
        .wait_timeout(PATIENCE)
        .map_err(|why| format!("the round has no end: {why}"))?;
    Ok(outcome?)
}

/// Returns the sum of the numbers below `number`.
pub(super) fn sum_below(number: u64) -> u64 {
    number * number.saturating_sub(1) / 2
}

/// Fails unless both numbers are the same.
pub(super) fn same(what: &str, found: u64, expected: u64) -> Outcome {
    if found == expected {
        Ok(found)
    } else {
        Err(format!("{what}: {found} instead of {expected}"))
    }
}
