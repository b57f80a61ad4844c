//! Cigarette smokers: an arbiter lets the smokers start one after another, and does not wait until
//! they have finished.
//!
//! ```text
//!   Arbiter  -- StartSmoking(random numbers) -->  one of Smoker 0 .. 199, drawn
//!            <-- StartedSmoking ---------------
//!                                                 Smoke, to itself: 10 to 1,009 random numbers
//! ```
//!
//! In the original, a smoker reports that it starts, and then smokes, while it handles a single
//! message. In Garrick, the messages of a turn are sent after the turn. So a smoker in Garrick
//! smokes in a separate turn, while the arbiter continues.
//!
//! The run is correct if each smoker has smoked as many cigarettes, and has drawn as many random
//! numbers, as the arbiter's random number generator determines.

use garrick::{Actor, Address, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, end, go_on, ours, run};
use super::work::{Random, busy_wait};

pub(super) const SMOKERS: Scenario = Scenario {
    name: "savina-smokers",
    operation: "one round in which an actor draws one of 200 other actors; the drawn actor \
                answers, and then draws about 500 random numbers in a separate turn: three \
                messages",
    contenders,
};

/// The amount of work in one run of the benchmark.
#[derive(Clone, Copy)]
struct Size {
    rounds: u64,
    smokers: u32,
}

const STANDARD: Size = Size {
    rounds: 1_000,
    smokers: 200,
};

const QUICK: Size = Size {
    rounds: 200,
    ..STANDARD
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("rounds", size.rounds.into()),
        ("smokers", size.smokers.into()),
    ];
    ours(&SMOKERS, size, &params, smokers)
}

/// Returns a closure that chooses at random, for each round, a smoker and the count of random
/// numbers that this smoker must draw.
fn rounds(size: Size) -> impl FnMut() -> (u32, u32) {
    let mut random = Random::new(size.rounds * u64::from(size.smokers));
    move || (random.wide() % size.smokers, random.below(1_000) + 10)
}

/// Counts of one smoker's cigarettes, and of the random numbers drawn for them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Smoked {
    cigarettes: u64,
    /// Number of random numbers that this smoker has drawn for its cigarettes.
    numbers: u64,
}

impl Smoked {
    fn add(&mut self, numbers: u32) {
        self.cigarettes += 1;
        self.numbers += u64::from(numbers);
    }
}

/// An actor that starts the smokers one after another.
struct Arbiter<F> {
    size: Size,
    /// Closure that chooses at random the next smoker, and the count of random numbers that this
    /// smoker must draw.
    next: F,
    smokers: Vec<Address<ToSmoker>>,
    /// Number of rounds so far.
    rounds: u64,
    reports: Reports<(usize, Smoked)>,
}

/// Messages that an [`Arbiter`] handles.
enum ToArbiter {
    /// Starts the first round.
    Start,
    /// Reports that the smoker has started.
    StartedSmoking,
}

/// A smoker, which smokes one cigarette at a time.
struct Smoker {
    id: usize,
    arbiter: Address<ToArbiter>,
    /// Number of cigarettes that were started and are not finished.
    lit: u64,
    smoked: Smoked,
    reports: Reports<(usize, Smoked)>,
}

/// Messages that a [`Smoker`] handles.
enum ToSmoker {
    /// Tells the smoker to start a cigarette. To smoke it, the smoker draws this many random
    /// numbers.
    StartSmoking(u32),
    /// Tells the smoker to smoke a cigarette that was started. To smoke it, the smoker draws this
    /// many random numbers.
    Smoke(u32),
    Exit,
}

impl<F: FnMut() -> (u32, u32)> Arbiter<F> {
    fn draw(&mut self, cx: &Context<'_, ToArbiter>) -> Next {
        let (smoker, numbers) = (self.next)();
        let smoker = &self.smokers[smoker as usize];
        go_on(cx.send(smoker, ToSmoker::StartSmoking(numbers)).is_ok())
    }
}

impl<F: FnMut() -> (u32, u32) + Send + 'static> Actor for Arbiter<F> {
    type Msg = ToArbiter;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, ToArbiter>) -> Next {
        let smokers = (0..self.size.smokers as usize).map(|id| {
            cx.spawn(Smoker {
                id,
                arbiter: cx.address(),
                lit: 0,
                smoked: Smoked::default(),
                reports: self.reports.clone(),
            })
        });
        self.smokers = smokers.collect();
        Next::Continue
    }

    fn receive(&mut self, message: ToArbiter, cx: &mut Context<'_, ToArbiter>) -> Next {
        match message {
            ToArbiter::Start => self.draw(cx),
            ToArbiter::StartedSmoking => {
                self.rounds += 1;
                if self.rounds < self.size.rounds {
                    return self.draw(cx);
                }
                let mut all = self.smokers.iter();
                end(all.all(|smoker| cx.send(smoker, ToSmoker::Exit).is_ok()))
            }
        }
    }
}

impl Actor for Smoker {
    type Msg = ToSmoker;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToSmoker, cx: &mut Context<'_, ToSmoker>) -> Next {
        match message {
            ToSmoker::StartSmoking(numbers) => {
                self.lit += 1;
                let told = cx.send(&self.arbiter, ToArbiter::StartedSmoking).is_ok();
                go_on(told && cx.send(&cx.address(), ToSmoker::Smoke(numbers)).is_ok())
            }
            ToSmoker::Smoke(numbers) => {
                busy_wait(numbers);
                self.lit -= 1;
                self.smoked.add(numbers);
                Next::Continue
            }
            // Two actors send to this mailbox, the smoker itself and the arbiter. The order of
            // their messages is not defined.
            ToSmoker::Exit if self.lit > 0 => go_on(cx.send(&cx.address(), ToSmoker::Exit).is_ok()),
            ToSmoker::Exit => {
                self.reports.tell((self.id, self.smoked));
                Next::Stop
            }
        }
    }
}

fn smokers(size: Size, workers: usize) -> Result<Measured> {
    let (smoked, span) = run(workers, size.smokers as usize, |on, reports| {
        let arbiter = on.spawn(Arbiter {
            size,
            next: rounds(size),
            smokers: Vec::new(),
            rounds: 0,
            reports: reports.clone(),
        })?;
        Ok(arbiter.send(ToArbiter::Start)?)
    })?;
    check(size, &smoked)?;
    Ok(Measured::new(size.rounds, span))
}

fn check(size: Size, smoked: &[(usize, Smoked)]) -> Result<()> {
    let drawn = drawn(size);
    for (id, smoked) in smoked {
        let Smoked {
            cigarettes,
            numbers,
        } = drawn[*id];
        agree(
            format!("cigarettes of smoker {id}"),
            smoked.cigarettes,
            cigarettes,
        )?;
        agree(
            format!("random numbers of smoker {id}"),
            smoked.numbers,
            numbers,
        )?;
    }
    Ok(())
}

/// Returns, for each smoker, the expected counts of cigarettes and random numbers.
fn drawn(size: Size) -> Vec<Smoked> {
    let mut drawn = vec![Smoked::default(); size.smokers as usize];
    let mut next = rounds(size);
    for _ in 0..size.rounds {
        let (smoker, numbers) = next();
        drawn[smoker as usize].add(numbers);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    const TINY: Size = Size {
        rounds: 50,
        smokers: 4,
    };

    #[test]
    fn everybody_smokes_what_was_drawn() {
        for workers in [1, 2] {
            assert_eq!(smokers(TINY, workers).unwrap().ops, 50);
        }
    }

    #[test]
    fn what_was_not_smoked_is_found() {
        let right: Vec<(usize, Smoked)> = drawn(TINY).into_iter().enumerate().collect();
        assert!(check(TINY, &right).is_ok());
        let mut one_more = right.clone();
        one_more[2].1.cigarettes += 1;
        assert!(refused(check(TINY, &one_more)).starts_with("cigarettes of smoker 2: "));
        let mut more = right;
        more[3].1.numbers += 1;
        assert!(refused(check(TINY, &more)).starts_with("random numbers of smoker 3: "));
    }
}
