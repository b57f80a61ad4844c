//! Fork-join, throughput: many messages to each of several actors.
//!
//! ```text
//!   main  -- one to each, round-robin, 10,000 times -->  Worker 0 .. Worker 59: sin(37.2) squared for each message
//! ```
//!
//! The main thread sends the messages. With several workers, actors already run while the main
//! thread is sending.
//!
//! The run is correct if the sum of each worker's results equals the sum that a plain loop
//! computes.

use garrick::{Actor, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, ours, run};
use super::work::{THETA, square_sine};

pub(super) const FORK_JOIN_THROUGHPUT: Scenario = Scenario {
    name: "savina-fork-join-throughput",
    operation: "one message from the main thread to one of 60 actors, which then computes the \
                square of a sine",
    contenders,
};

/// The amount of work in one run of the benchmark.
#[derive(Clone, Copy)]
struct Size {
    /// Number of messages to each actor.
    messages: u64,
    actors: u64,
}

const STANDARD: Size = Size {
    messages: 10_000,
    actors: 60,
};

const QUICK: Size = Size {
    messages: 500,
    ..STANDARD
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("messages_per_actor", size.messages.into()),
        ("actors", size.actors.into()),
    ];
    ours(&FORK_JOIN_THROUGHPUT, size, &params, throughput)
}

/// An actor that computes one sine for each message.
struct Worker {
    /// Number of messages that have not arrived yet.
    left: u64,
    /// Sum of the results.
    sum: f64,
    reports: Reports<f64>,
}

impl Actor for Worker {
    type Msg = ();
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
        self.sum += square_sine(THETA);
        self.left -= 1;
        if self.left > 0 {
            return Next::Continue;
        }
        self.reports.tell(self.sum);
        Next::Stop
    }
}

fn throughput(size: Size, workers: usize) -> Result<Measured> {
    let (sums, span) = run(workers, size.actors as usize, |on, reports| {
        let mut actors = Vec::new();
        for _ in 0..size.actors {
            actors.push(on.spawn(Worker {
                left: size.messages,
                sum: 0.0,
                reports: reports.clone(),
            })?);
        }
        for _ in 0..size.messages {
            for actor in &actors {
                actor.send(())?;
            }
        }
        Ok(())
    })?;
    check(size, &sums)?;
    Ok(Measured::new(size.messages * size.actors, span))
}

fn check(size: Size, sums: &[f64]) -> Result<()> {
    let expected = (0..size.messages).fold(0.0, |sum, _| sum + square_sine(THETA));
    sums.iter()
        .try_for_each(|sum| agree("an actor's sum", *sum, expected))
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    const TINY: Size = Size {
        messages: 50,
        actors: 3,
    };

    #[test]
    fn every_message_is_computed() {
        for workers in [1, 2] {
            assert_eq!(throughput(TINY, workers).unwrap().ops, 150);
        }
    }

    #[test]
    fn a_wrong_sum_is_found() {
        let said = refused(check(TINY, &[0.5]));
        assert!(said.starts_with("an actor's sum: 0.5, not "), "{said}");
    }
}
