//! Benchmarks of a pair of actors that can only work alternately, and of a chain of many stages.
//! The pair also runs on two workers, although it can use only one of them at a time.

use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use garrick_measure::{Clock, Result, Span, Stopwatch};

use super::peers::{Peer, peers};
use super::told;
use super::turns::{Contender, in_turns, median, shown};
use super::work::Work;
use crate::actors::framework::{Flow, Role};

/// The actors that communicate, and the code that creates them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Two actors, created by the measuring thread.
    Outside,
    /// Two actors, created by an actor.
    Inside,
    /// A chain of stages, created by the measuring thread.
    Chain,
    /// A chain of stages, created by an actor.
    ChainInside,
}

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Self::Outside => "pair, created from outside",
            Self::Inside => "pair, created by an actor",
            Self::Chain => "chain of 60, created from outside",
            Self::ChainInside => "chain of 60, created by an actor",
        }
    }

    fn is_chain(self) -> bool {
        matches!(self, Self::Chain | Self::ChainInside)
    }
}

/// Number of stages of the chain.
const STAGES: usize = 60;

#[derive(Debug, Clone, Copy)]
struct Plan {
    shape: Shape,
    workers: usize,
    /// Time for which an actor works in each turn.
    grain: Duration,
    /// For a pair of actors, the number of turns. For a chain, the number of values that are sent
    /// through the chain.
    values: u64,
}

/// One of two actors that exchange messages, or a stage of a chain.
struct Link<F: Peer> {
    work: Work,
    /// Address of the other actor of the pair, or of the next stage. `None` before this address is
    /// known, after the end, and always in the last stage of a chain.
    next: Option<F::Address<Self>>,
    /// Number of values that have not arrived yet. Only the last stage of a chain uses this number.
    left: u64,
    /// Sender for the report of the last turn. `None` after the end. The measuring thread waits
    /// until all of these senders have been dropped.
    done: Option<Sender<()>>,
}

/// A message to a [`Link`].
enum Pass<F: Peer> {
    /// Address of the actor to which the receiver sends from now on.
    Next(F::Address<Link<F>>),
    /// Token with the number of turns left, including the turn of the receiver.
    Token(u64),
    /// Value that goes through the chain.
    Value(u64),
    /// Requests that the receiver pass on this request to the next actor, drop the address of the
    /// next actor, and stop.
    End,
}

impl<F: Peer> Link<F> {
    fn new(plan: Plan, done: &Sender<()>) -> Self {
        Self {
            work: Work::of(plan.grain),
            next: None,
            left: plan.values,
            done: Some(done.clone()),
        }
    }

    async fn pass(&self, message: Pass<F>) {
        if let Some(next) = &self.next {
            F::tell::<Self>(next, message).await;
        }
    }

    fn say(&self) {
        if let Some(done) = &self.done {
            // A driver that has given up no longer receives.
            let _ = done.send(());
        }
    }

    async fn end(&mut self) {
        if let Some(next) = self.next.take() {
            F::tell::<Self>(&next, Pass::End).await;
        }
    }
}

impl<F: Peer> Role<F> for Link<F> {
    type Message = Pass<F>;

    async fn receive(&mut self, message: Pass<F>) -> Flow {
        match message {
            Pass::Next(next) => self.next = Some(next),
            Pass::Token(left) => {
                self.work.spin();
                if left > 1 {
                    self.pass(Pass::Token(left - 1)).await;
                } else {
                    self.say();
                    self.end().await;
                }
            }
            Pass::Value(value) => {
                self.work.spin();
                if self.next.is_some() {
                    self.pass(Pass::Value(value)).await;
                } else {
                    self.left -= 1;
                    if self.left == 0 {
                        self.say();
                    }
                }
            }
            Pass::End => {
                self.end().await;
                self.done = None;
                return Flow::Stop;
            }
        }
        Flow::Continue
    }
}

/// An actor that creates a pair of actors, or a chain of stages.
struct Maker<F: Peer> {
    plan: Plan,
    /// Sender that the new actors will clone for their reports. `None` after the actors have been
    /// created.
    done: Option<Sender<()>>,
    /// Channel sender that reports the address of a chain's first stage.
    first: Option<Sender<F::Address<Link<F>>>>,
}

impl<F: Peer> Role<F> for Maker<F> {
    type Message = ();

    async fn receive(&mut self, (): ()) -> Flow {
        let Some(done) = self.done.take() else {
            return Flow::Stop;
        };
        let one = F::spawn(Link::<F>::new(self.plan, &done), None).await;
        if let Some(told) = self.first.take() {
            let mut first = one;
            for _ in 1..STAGES {
                let before = F::spawn(Link::<F>::new(self.plan, &done), None).await;
                F::tell::<Link<F>>(&before, Pass::Next(first)).await;
                first = before;
            }
            // A driver that has given up no longer receives.
            let _ = told.send(first);
        } else {
            let other = F::spawn(Link::<F>::new(self.plan, &done), None).await;
            talk::<F>(self.plan, one, other).await;
        }
        Flow::Stop
    }
}

/// Makes two actors exchange messages.
async fn talk<F: Peer>(plan: Plan, one: F::Address<Link<F>>, other: F::Address<Link<F>>) {
    F::tell::<Link<F>>(&one, Pass::Next(other.clone())).await;
    F::tell::<Link<F>>(&other, Pass::Next(one.clone())).await;
    F::tell::<Link<F>>(&one, Pass::Token(plan.values)).await;
}

fn contender<F: Peer>() -> Contender<Plan, Span> {
    Contender {
        name: F::NAME,
        round: |plan| F::outside(plan.workers, round::<F>(*plan))?,
    }
}

async fn round<F: Peer>(plan: Plan) -> Result<Span> {
    let (done, all_done) = mpsc::channel();
    let watch = Stopwatch::start(Clock::Process);
    let span = match plan.shape {
        Shape::Outside => {
            let one = F::place(Link::<F>::new(plan, &done)).await;
            let other = F::place(Link::<F>::new(plan, &done)).await;
            talk::<F>(plan, one, other).await;
            all_done.recv()?;
            watch.stop()
        }
        Shape::Inside => {
            make_inside::<F>(plan, &done, None).await;
            all_done.recv()?;
            watch.stop()
        }
        Shape::Chain | Shape::ChainInside => {
            let first = match plan.shape {
                Shape::Chain => chain::<F>(plan, &done).await,
                _ => {
                    let (made, first) = mpsc::channel();
                    make_inside::<F>(plan, &done, Some(made)).await;
                    first.recv()?
                }
            };
            for value in 0..plan.values {
                F::tell::<Link<F>>(&first, Pass::Value(value)).await;
            }
            all_done.recv()?;
            let span = watch.stop();
            F::tell::<Link<F>>(&first, Pass::End).await;
            span
        }
    };
    drop(done);
    // Wait for the end of all actors. If the threads were stopped now, an actor could find that the
    // next actor is gone.
    assert!(all_done.recv().is_err(), "the last turn is reported once");
    Ok(span)
}

/// Makes an actor create a pair, or a chain. The actor starts the pair, or reports the first stage
/// of the chain.
async fn make_inside<F: Peer>(
    plan: Plan,
    done: &Sender<()>,
    first: Option<Sender<F::Address<Link<F>>>>,
) {
    let maker = Maker {
        plan,
        done: Some(done.clone()),
        first,
    };
    let maker = F::place(maker).await;
    F::tell::<Maker<F>>(&maker, ()).await;
}

/// Creates a chain of stages, and returns the address of the first stage.
async fn chain<F: Peer>(plan: Plan, done: &Sender<()>) -> F::Address<Link<F>> {
    let mut first = F::place(Link::<F>::new(plan, done)).await;
    for _ in 1..STAGES {
        let before = F::place(Link::<F>::new(plan, done)).await;
        F::tell::<Link<F>>(&before, Pass::Next(first)).await;
        first = before;
    }
    first
}

fn plans(quick: bool) -> Vec<Plan> {
    let part = if quick { 10 } else { 1 };
    let shapes = [
        (Shape::Outside, 1_000, 200_000),
        (Shape::Inside, 1_000, 200_000),
        (Shape::Chain, 50, 20_000),
        (Shape::ChainInside, 50, 20_000),
    ];
    let plans = shapes.into_iter().flat_map(|(shape, nanos, values)| {
        [1, 2].map(|workers| Plan {
            shape,
            workers,
            grain: Duration::from_nanos(nanos),
            values: values / part,
        })
    });
    plans.collect()
}

pub(super) fn section(quick: bool) -> Result<String> {
    let rounds = if quick { 3 } else { 5 };
    let mut rows = Vec::new();
    for plan in plans(quick) {
        let turns = if plan.shape.is_chain() {
            plan.values * STAGES as u64
        } else {
            plan.values
        };
        let work = plan.grain * turns as u32;
        for (name, rounds) in in_turns(&peers!(contender), &plan, rounds)? {
            rows.push([
                plan.shape.name().to_owned(),
                plan.workers.to_string(),
                name.to_owned(),
                shown(work),
                shown(median(&rounds, |span| span.wall)),
                shown(median(&rounds, |span| span.cpu)),
            ]);
        }
    }
    let sentence = format!(
        "pair: two actors of which only one can work at a time, 1 us per turn; and values that go \
         through a chain of {STAGES} stages, 50 ns per stage. The time is measured from the \
         creation of the first actor to the last turn. Medians of {rounds} rounds"
    );
    let header = ["who", "workers", "contender", "work", "wall", "CPU"];
    Ok(told(&sentence, header, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_comes_to_the_end_of_every_shape() {
        for shape in [
            Shape::Outside,
            Shape::Inside,
            Shape::Chain,
            Shape::ChainInside,
        ] {
            for workers in [1, 2] {
                let plan = Plan {
                    shape,
                    workers,
                    grain: Duration::from_nanos(100),
                    values: 50,
                };
                let rounds = in_turns(&peers!(contender), &plan, 1).expect("all come to an end");
                assert!(
                    rounds
                        .iter()
                        .all(|(_, rounds)| rounds[0].wall > Duration::ZERO)
                );
            }
        }
    }
}
