//! The work of `garrick soak`: many kinds of work. They can run for any time, and their results are
//! checked.
//!
//! A soak has several parts. Each part is a kind of work with its own actors. All parts run on one
//! system. In a round, all parts do a fixed amount of work at the same time. A thread outside of
//! the system starts each round. A round is over when each part has reported its amount of work or
//! an error. Between two rounds no work is in progress, so the memory use at these times can be
//! compared.

mod part;

mod asks;
mod mailboxes;
mod spawns;
mod supervised;
mod timers;
mod waiting;

use std::fmt;

use garrick::System;
use garrick::system::Ending;
use garrick_measure::Result;

use self::part::{PATIENCE, Part};
use crate::scenarios::rest_memory::living;

/// A soak test: several kinds of work that run on one actor system in rounds. The results are
/// checked after each round.
pub struct Soak {
    system: System,
    parts: Vec<(Box<dyn Part>, u64)>,
    rounds: u64,
}

impl Soak {
    /// Starts an actor system with the given number of workers, or with one worker for each core if
    /// `workers` is `None`.
    ///
    /// # Errors
    /// Fails if the system's threads cannot be started.
    pub fn start(workers: Option<usize>) -> Result<Self> {
        let mut builder = System::builder().name("soak").probes(true);
        if let Some(workers) = workers {
            builder = builder.workers(workers);
        }
        let system = builder.start()?;
        let parts: Vec<Box<dyn Part>> = vec![
            Box::new(timers::Timers::new(&system)?),
            Box::new(asks::Asks::new(&system)?),
            Box::new(supervised::Supervised::new(&system)?),
            Box::new(mailboxes::Mailboxes::new(&system)?),
            Box::new(spawns::Spawns::new(&system)?),
            Box::new(waiting::Waiting::new(&system)?),
        ];
        Ok(Self {
            system,
            parts: parts.into_iter().map(|part| (part, 0)).collect(),
            rounds: 0,
        })
    }

    /// Runs one round: all kinds of work do a fixed amount of work at the same time. Then checks
    /// the results.
    ///
    /// # Errors
    /// Fails if a result is wrong or missing. The error contains the number of the round and the
    /// name of the kind of work.
    pub fn round(&mut self) -> Result<()> {
        self.rounds += 1;
        let (rounds, system) = (self.rounds, self.system.handle());
        for (part, _) in &mut self.parts {
            let begun = part.begin(&system);
            begun.map_err(|why| format!("round {rounds}, {}: {why}", part.name()))?;
        }
        for (part, operations) in &mut self.parts {
            let end = part.end();
            *operations += end.map_err(|why| format!("round {rounds}, {}: {why}", part.name()))?;
        }
        Ok(())
    }

    /// Returns the number of rounds that have been started.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Returns the current number of actors, including actors that the system has created for
    /// itself.
    pub fn actors(&self) -> u64 {
        living(&self.system.handle())
    }

    /// Returns, for each kind of work, its name and the number of operations so far.
    pub fn operations(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let parts = self.parts.iter();
        parts.map(|(part, operations)| (part.name(), *operations))
    }

    /// Ends all work, and shuts the system down.
    ///
    /// # Errors
    /// Fails if the system does not shut down cleanly, if an actor did not stop, or if a message
    /// was not handled. Also fails if an actor has panicked, or if an actor without a supervisor
    /// has returned an error.
    pub fn end(mut self) -> Result<()> {
        for (part, _) in &mut self.parts {
            let stopped = part.stop();
            stopped.map_err(|why| format!("{}: {why}", part.name()))?;
        }
        drop(self.parts);
        let handle = self.system.handle();
        if self.system.shutdown_within(PATIENCE) != Some(Ending::InOrder) {
            return Err("the system did not shut down in order".into());
        }
        let left = [
            ("actors that did not stop", living(&handle)),
            ("dead letters", handle.dead_letters()),
            ("failures", handle.failures() as u64),
        ];
        match left.iter().find(|(_, number)| *number > 0) {
            None => Ok(()),
            Some((what, number)) => Err(format!("{number} {what} at the end").into()),
        }
    }
}

impl fmt::Debug for Soak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Soak")
            .field("rounds", &self.rounds)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_do_the_same_each_and_leave_nothing() {
        for workers in [1, 3] {
            let mut soak = Soak::start(Some(workers)).unwrap();
            soak.round().unwrap();
            let once: Vec<_> = soak.operations().collect();
            assert!(once.iter().all(|(_, operations)| *operations > 0));
            soak.round().unwrap();
            let twice = once
                .iter()
                .map(|(name, operations)| (*name, 2 * operations));
            assert!(soak.operations().eq(twice));
            assert_eq!(soak.rounds(), 2);
            soak.end().unwrap();
        }
    }
}
