//! The trait `Crew`. A crew does tasks by means of actors, threads or pools.

use garrick_measure::{Clock, Measured, Result, Stopwatch};

use super::work::ANSWER;

/// A group of actors or threads that does batches of tasks for the calling thread.
pub(super) trait Crew: Sized {
    /// Creates a crew, and starts the threads that it reuses.
    fn hire() -> Result<Self>;

    /// Runs `tasks` tasks, and returns the sum of the answers when the last one has arrived.
    fn batch(&mut self, tasks: u64) -> Result<u64>;
}

/// Measures batches of `tasks` tasks each. Before the measurement, the crew is created and does one
/// batch as a warm-up.
pub(super) fn measure<C: Crew>(tasks: u64, batches: u64) -> Result<Measured> {
    let mut crew = C::hire()?;
    let mut sum = crew.batch(tasks)?;
    let watch = Stopwatch::start(Clock::Process);
    for _ in 0..batches {
        sum += crew.batch(tasks)?;
    }
    let span = watch.stop();
    assert_eq!(
        sum,
        (1 + batches) * tasks * ANSWER,
        "every task was done once"
    );
    Ok(Measured::new(batches, span))
}
