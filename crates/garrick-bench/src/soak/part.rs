//! One kind of work of a soak.

use std::time::Duration;

use garrick::{Ask, Handle};
use garrick_measure::Result;

/// How long a round may take before it counts as hanging.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How much was done, or what is wrong with it.
pub(super) type Outcome = std::result::Result<u64, String>;

/// Work that is done in rounds, each of which is checked.
pub(super) trait Part {
    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// Begins a round.
    ///
    /// # Errors
    /// If the actors that are to do it are not there.
    fn begin(&mut self, system: &Handle) -> Result<()>;

    /// Waits for the end of the round, and says how many operations it was.
    ///
    /// # Errors
    /// If something came out wrong, or nothing at all.
    fn end(&mut self) -> Result<u64>;

    /// Stops what ends in an order of its own.
    ///
    /// # Errors
    /// If it does not.
    fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Waits for what the actor at the head of a part says of its round.
pub(super) fn outcome(round: Option<Ask<Outcome>>) -> Result<u64> {
    let round = round.ok_or("no round was begun")?;
    let outcome = round
        .wait_timeout(PATIENCE)
        .map_err(|why| format!("the round has no end: {why}"))?;
    Ok(outcome?)
}

/// Returns the sum of the numbers below that one.
pub(super) fn sum_below(number: u64) -> u64 {
    number * number.saturating_sub(1) / 2
}

/// Fails unless both are the same.
pub(super) fn same(what: &str, found: u64, expected: u64) -> Outcome {
    if found == expected {
        Ok(found)
    } else {
        Err(format!("{what}: {found} instead of {expected}"))
    }
}
