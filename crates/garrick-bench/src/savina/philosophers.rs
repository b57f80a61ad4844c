//! Dining philosophers, with an arbitrator that manages the forks.
//!
//! ```text
//!   Philosopher 0 .. 19  -- Hungry(number, own address) -->  Arbitrator: both forks free?
//!                        <-- Eat or Denied ----------------
//!                        -- Done(number) ----------------->
//! ```
//!
//! A philosopher that is denied the forks asks again at once. A philosopher that has eaten returns
//! the forks, and sends itself a message to start the next round, until all rounds are done. The
//! number of denials depends on the order of messages. The measured time includes the denials.
//!
//! The run is correct if each philosopher has eaten once per round, and all forks are on the table
//! at the end. The arbitrator fails if a fork is returned twice, because then two philosophers had
//! the same fork.

use std::mem;

use garrick::{Actor, Address, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, end, go_on, ours, run};

pub(super) const PHILOSOPHERS: Scenario = Scenario {
    name: "savina-philosophers",
    operation: "one meal of one of 20 actors: it asks the actor that keeps the forks until it gets \
                two forks, returns them, and sends itself a message",
    contenders,
};

/// The amount of work in one run of the benchmark.
#[derive(Clone, Copy)]
struct Size {
    /// Number of philosophers, and of forks.
    philosophers: u32,
    /// Number of meals of each philosopher.
    rounds: u64,
}

const STANDARD: Size = Size {
    philosophers: 20,
    rounds: 10_000,
};

const QUICK: Size = Size {
    rounds: 500,
    ..STANDARD
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("philosophers", size.philosophers.into()),
        ("rounds", size.rounds.into()),
    ];
    ours(&PHILOSOPHERS, size, &params, philosophers)
}

/// Counts of meals and taken forks after one run.
#[derive(Debug, Clone, PartialEq)]
struct Table {
    /// Number of meals of each philosopher.
    meals: Vec<u64>,
    /// Number of forks that are not on the table.
    taken: usize,
}

/// The arbitrator, which manages the forks, and grants or denies them.
struct Arbitrator {
    /// For each fork, true if it is taken. Philosopher i uses fork i and the next one.
    taken: Vec<bool>,
    /// For each philosopher, the number of meals, or 0 until the philosopher has reported this
    /// number.
    meals: Vec<u64>,
    /// Number of philosophers that are not done.
    left: u32,
    reports: Reports<Table>,
}

/// Messages that an [`Arbitrator`] handles.
enum ToArbitrator {
    /// Reports that the philosopher with this number wants to eat.
    Hungry(u32, Address<ToPhilosopher>),
    /// Reports that the philosopher with this number has eaten.
    Done(u32),
    /// Reports that a philosopher is done. Contains the philosopher's number and the count of its
    /// meals.
    Left(u32, u64),
}

/// A philosopher, which eats once in each round.
struct Philosopher {
    id: u32,
    arbitrator: Address<ToArbitrator>,
    /// Total number of meals to eat.
    rounds: u64,
    /// Number of meals so far.
    meals: u64,
}

/// Messages that a [`Philosopher`] handles.
enum ToPhilosopher {
    /// Starts the first meal.
    Start,
    /// Grants both forks.
    Eat,
    /// Denies the forks, because at least one is taken.
    Denied,
}

impl Arbitrator {
    /// Returns the numbers of a philosopher's forks.
    fn forks(&self, id: u32) -> [usize; 2] {
        [id as usize, (id as usize + 1) % self.taken.len()]
    }

    /// Grants a philosopher both forks or none. Returns true if both were granted.
    fn give(&mut self, id: u32) -> bool {
        let forks = self.forks(id);
        let free = forks.iter().all(|fork| !self.taken[*fork]);
        if free {
            forks.iter().for_each(|fork| self.taken[*fork] = true);
        }
        free
    }

    /// Takes back both forks of a philosopher. Returns true if the philosopher had both.
    fn take_back(&mut self, id: u32) -> bool {
        let forks = self.forks(id);
        forks
            .iter()
            .all(|fork| mem::replace(&mut self.taken[*fork], false))
    }
}

impl Actor for Arbitrator {
    type Msg = ToArbitrator;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToArbitrator, cx: &mut Context<'_, ToArbitrator>) -> Next {
        match message {
            ToArbitrator::Hungry(id, philosopher) => {
                let answer = if self.give(id) {
                    ToPhilosopher::Eat
                } else {
                    ToPhilosopher::Denied
                };
                return go_on(cx.send(&philosopher, answer).is_ok());
            }
            ToArbitrator::Done(id) if self.take_back(id) => {}
            ToArbitrator::Done(id) => {
                return cx.fail(format!(
                    "philosopher {id} returns forks that it does not have"
                ));
            }
            ToArbitrator::Left(id, meals) => {
                self.meals[id as usize] = meals;
                self.left -= 1;
                if self.left == 0 {
                    self.reports.tell(Table {
                        meals: mem::take(&mut self.meals),
                        taken: self.taken.iter().filter(|taken| **taken).count(),
                    });
                    return Next::Stop;
                }
            }
        }
        Next::Continue
    }
}

impl Philosopher {
    fn get_hungry(&self, cx: &Context<'_, ToPhilosopher>) -> Next {
        let hungry = ToArbitrator::Hungry(self.id, cx.address());
        go_on(cx.send(&self.arbitrator, hungry).is_ok())
    }

    fn eat(&mut self, cx: &Context<'_, ToPhilosopher>) -> Next {
        self.meals += 1;
        let done = ToArbitrator::Done(self.id);
        if cx.send(&self.arbitrator, done).is_err() {
            return Next::Fail;
        }
        if self.meals < self.rounds {
            return go_on(cx.send(&cx.address(), ToPhilosopher::Start).is_ok());
        }
        let left = ToArbitrator::Left(self.id, self.meals);
        end(cx.send(&self.arbitrator, left).is_ok())
    }
}

impl Actor for Philosopher {
    type Msg = ToPhilosopher;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToPhilosopher, cx: &mut Context<'_, ToPhilosopher>) -> Next {
        match message {
            ToPhilosopher::Start | ToPhilosopher::Denied => self.get_hungry(cx),
            ToPhilosopher::Eat => self.eat(cx),
        }
    }
}

fn philosophers(size: Size, workers: usize) -> Result<Measured> {
    let count = size.philosophers as usize;
    let (tables, span) = run(workers, 1, |on, reports| {
        let arbitrator = on.spawn(Arbitrator {
            taken: vec![false; count],
            meals: vec![0; count],
            left: size.philosophers,
            reports: reports.clone(),
        })?;
        let mut all = Vec::new();
        for id in 0..size.philosophers {
            all.push(on.spawn(Philosopher {
                id,
                arbitrator: arbitrator.clone(),
                rounds: size.rounds,
                meals: 0,
            })?);
        }
        for philosopher in &all {
            philosopher.send(ToPhilosopher::Start)?;
        }
        Ok(())
    })?;
    tables.iter().try_for_each(|table| check(size, table))?;
    Ok(Measured::new(
        size.rounds * u64::from(size.philosophers),
        span,
    ))
}

fn check(size: Size, table: &Table) -> Result<()> {
    let count = size.philosophers as usize;
    agree("philosophers", table.meals.len(), count)?;
    for (id, meals) in table.meals.iter().enumerate() {
        agree(format!("meals of philosopher {id}"), *meals, size.rounds)?;
    }
    agree("forks not returned", table.taken, 0)
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    #[test]
    fn everybody_eats() {
        for workers in [1, 2] {
            for (philosophers, rounds) in [(2, 10), (5, 100)] {
                let size = Size {
                    philosophers,
                    rounds,
                };
                let ops = super::philosophers(size, workers).unwrap().ops;
                assert_eq!(ops, rounds * u64::from(philosophers));
            }
        }
    }

    #[test]
    fn hunger_and_lost_forks_are_found() {
        let size = Size {
            philosophers: 3,
            rounds: 10,
        };
        let table = |meals: &[u64], taken| Table {
            meals: meals.to_vec(),
            taken,
        };
        assert!(check(size, &table(&[10; 3], 0)).is_ok());
        let said = refused(check(size, &table(&[10, 9, 10], 0)));
        assert_eq!(said, "meals of philosopher 1: 9, not 10");
        let said = refused(check(size, &table(&[10; 2], 0)));
        assert_eq!(said, "philosophers: 2, not 3");
        let said = refused(check(size, &table(&[10; 3], 2)));
        assert_eq!(said, "forks not returned: 2, not 0");
    }
}
