//! Benchmark of spreading work. One actor creates a few actors, and their work should use all
//! cores.

use std::iter;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use futures_util::future::join_all;
use garrick_measure::{Clock, Result, Span, Stopwatch};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::runtime::Builder;

use super::peers::{Peer, peers};
use super::told;
use super::turns::{Contender, busy, in_turns, median, shown};
use super::work::Work;
use crate::actors::framework::{Flow, Role};

const WORKERS: usize = 2;

/// The amount of work, and the number of actors that share it.
#[derive(Debug, Clone, Copy)]
struct Plan {
    children: usize,
    /// Time for which an actor works in each turn.
    grain: Duration,
    /// Number of turns of each actor.
    turns: u64,
}

impl Plan {
    /// Returns the total working time of all actors.
    fn work(&self) -> Duration {
        self.grain * (self.children as u32 * self.turns as u32)
    }
}

/// The parent, which creates children, and adds up their reports.
struct Parent {
    plan: Plan,
    /// Number of children that have not reported.
    open: usize,
    sum: u64,
    told: Sender<u64>,
}

/// A message to a [`Parent`].
enum ToParent<F: Peer> {
    Begin(F::Address<Parent>),
    /// Report that a child has ended after this number of turns.
    Done(u64),
}

impl<F: Peer> Role<F> for Parent {
    type Message = ToParent<F>;

    async fn receive(&mut self, message: ToParent<F>) -> Flow {
        match message {
            ToParent::Begin(me) => {
                for _ in 0..self.open {
                    let child = Child::<F> {
                        work: Work::of(self.plan.grain),
                        turns: self.plan.turns,
                        had: 0,
                        family: None,
                    };
                    let child = F::spawn(child, None).await;
                    let begin = ToChild::Begin(child.clone(), me.clone());
                    F::tell::<Child<F>>(&child, begin).await;
                }
            }
            ToParent::Done(turns) => {
                self.sum += turns;
                self.open -= 1;
                if self.open == 0 {
                    // A driver that has given up no longer receives.
                    let _ = self.told.send(self.sum);
                    return Flow::Stop;
                }
            }
        }
        Flow::Continue
    }
}

/// An actor that a [`Parent`] has created. Each turn of the child does a part of its work.
struct Child<F: Peer> {
    work: Work,
    turns: u64,
    had: u64,
    /// The addresses of this actor and of its parent. `None` before the first turn and after the
    /// last turn.
    family: Option<(F::Address<Self>, F::Address<Parent>)>,
}

/// A message to a [`Child`].
enum ToChild<F: Peer> {
    Begin(F::Address<Child<F>>, F::Address<Parent>),
    Again,
}

impl<F: Peer> Role<F> for Child<F> {
    type Message = ToChild<F>;

    async fn receive(&mut self, message: ToChild<F>) -> Flow {
        if let ToChild::Begin(me, parent) = message {
            self.family = Some((me, parent));
        }
        self.work.spin();
        self.had += 1;
        if self.had < self.turns {
            if let Some((me, _)) = &self.family {
                F::tell::<Self>(me, ToChild::Again).await;
            }
            return Flow::Continue;
        }
        if let Some((_, parent)) = self.family.take() {
            F::tell::<Parent>(&parent, ToParent::Done(self.had)).await;
        }
        Flow::Stop
    }
}

fn contender<F: Peer>() -> Contender<Plan, Span> {
    Contender {
        name: F::NAME,
        round: |plan| F::outside(WORKERS, round::<F>(*plan))?,
    }
}

async fn round<F: Peer>(plan: Plan) -> Result<Span> {
    let (told, heard) = mpsc::channel();
    let parent = Parent {
        plan,
        open: plan.children,
        sum: 0,
        told,
    };
    let parent = F::place(parent).await;
    let watch = Stopwatch::start(Clock::Process);
    F::tell::<Parent>(&parent, ToParent::Begin(parent.clone())).await;
    Ok(checked(&plan, heard.recv()?, &watch))
}

/// Stops the stopwatch, and returns the elapsed time. Asserts that `turns` is the expected number
/// of turns.
fn checked(plan: &Plan, turns: u64, watch: &Stopwatch) -> Span {
    let span = watch.stop();
    assert_eq!(turns, plan.children as u64 * plan.turns, "no turn is lost");
    span
}

/// Does the work of all turns of one actor in a single loop. Returns the number of turns.
fn at_a_stretch(plan: &Plan) -> u64 {
    let work = Work::of(plan.grain);
    iter::repeat_n(work, plan.turns as usize)
        .map(|work| {
            work.spin();
            1
        })
        .sum()
}

/// Measures tokio tasks without channels. One task creates all the others, which yield after each
/// turn.
fn tokio_tasks(plan: &Plan) -> Result<Span> {
    let plan = *plan;
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .build()?;
    let child = move || async move {
        let work = Work::of(plan.grain);
        for _ in 0..plan.turns {
            work.spin();
            tokio::task::yield_now().await;
        }
        plan.turns
    };
    runtime.block_on(async move {
        let watch = Stopwatch::start(Clock::Process);
        let parent = tokio::spawn(async move {
            let children = (0..plan.children).map(|_| tokio::spawn(child()));
            let children: Vec<_> = children.collect();
            let turns = join_all(children).await;
            turns.into_iter().sum::<std::result::Result<u64, _>>()
        });
        Ok(checked(&plan, parent.await??, &watch))
    })
}

fn pool() -> Result<ThreadPool> {
    Ok(ThreadPoolBuilder::new().num_threads(WORKERS).build()?)
}

fn rayon_iterator(plan: &Plan) -> Result<Span> {
    let pool = pool()?;
    let watch = Stopwatch::start(Clock::Process);
    let children = || (0..plan.children).into_par_iter();
    let turns = pool.install(|| children().map(|_| at_a_stretch(plan)).sum());
    Ok(checked(plan, turns, &watch))
}

fn rayon_scope(plan: &Plan) -> Result<Span> {
    let pool = pool()?;
    let watch = Stopwatch::start(Clock::Process);
    let (told, heard) = mpsc::channel();
    pool.scope(|scope| {
        for _ in 0..plan.children {
            let told = told.clone();
            scope.spawn(move |_| {
                told.send(at_a_stretch(plan))
                    .expect("the receiver has not been dropped");
            });
        }
    });
    drop(told);
    Ok(checked(plan, heard.into_iter().sum(), &watch))
}

/// Contenders that do the work without actors.
const OTHERS: [Contender<Plan, Span>; 3] = [
    Contender {
        name: "tokio tasks, yield_now",
        round: tokio_tasks,
    },
    Contender {
        name: "rayon, par_iter",
        round: rayon_iterator,
    },
    Contender {
        name: "rayon, scope",
        round: rayon_scope,
    },
];

fn contenders() -> Vec<Contender<Plan, Span>> {
    let actors = peers!(contender).into_iter();
    actors.chain(OTHERS).collect()
}

/// Measured cases: a number of actors, and the milliseconds of work that each of them does.
const WORK: [(usize, u64); 4] = [(2, 200), (3, 200), (8, 50), (100, 10)];
/// Measured durations of a turn, in microseconds.
const GRAINS: [u64; 3] = [10, 100, 2_000];
/// Milliseconds of work that are divided among the actors of map-reduce.
const MAPPED: u64 = 200;

/// Returns the name and the parameters of each measurement.
fn plans(quick: bool) -> Vec<(String, Plan)> {
    let part = if quick { 5 } else { 1 };
    let with_grain = |grain: u64| {
        WORK.map(|(children, millis)| {
            let plan = Plan {
                children,
                grain: Duration::from_micros(grain),
                turns: (millis * 1_000 / part).div_ceil(grain),
            };
            (format!("turns of {grain} us"), plan)
        })
    };
    let mapped = WORK.map(|(children, _)| {
        let plan = Plan {
            children,
            grain: Duration::from_millis(MAPPED / part) / children as u32,
            turns: 1,
        };
        ("map-reduce".to_owned(), plan)
    });
    let plans = GRAINS.into_iter().flat_map(with_grain);
    plans.chain(mapped).collect()
}

pub(super) fn section(quick: bool) -> Result<String> {
    let rounds = if quick { 1 } else { 3 };
    let mut rows = Vec::new();
    for (name, plan) in plans(quick) {
        let work = plan.work().as_secs_f64();
        for (contender, rounds) in in_turns(&contenders(), &plan, rounds)? {
            let speed_up = median(&rounds, |span| work / span.wall.as_secs_f64());
            rows.push([
                name.clone(),
                plan.children.to_string(),
                contender.to_owned(),
                shown(plan.work()),
                shown(median(&rounds, |span| span.wall)),
                format!("{speed_up:.2}"),
                shown(median(&rounds, |span| span.cpu)),
                format!("{:.0} %", 100.0 * median(&rounds, busy)),
            ]);
        }
    }
    let sentence = format!(
        "spread: CPU-bound actors created by one actor, on {WORKERS} workers. Each actor sends \
         messages to itself until its work is done; with map-reduce, it does all its work in one \
         turn. A task of rayon does all its work without a break. The speed-up is the sum of all \
         work divided by wall time. Medians of {rounds} rounds"
    );
    let header = [
        "how",
        "actors",
        "contender",
        "work",
        "wall",
        "speed-up",
        "CPU",
        "CPU used",
    ];
    Ok(told(&sentence, header, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_does_all_the_work() {
        for (children, turns) in [(1, 1), (3, 20), (40, 2)] {
            let plan = Plan {
                children,
                grain: Duration::from_micros(20),
                turns,
            };
            // A contender that loses a turn panics.
            let rounds = in_turns(&contenders(), &plan, 1).expect("the system can start threads");
            assert!(
                rounds
                    .iter()
                    .all(|(_, rounds)| rounds[0].wall > Duration::ZERO)
            );
        }
    }
}
