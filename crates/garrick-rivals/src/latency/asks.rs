//! Asks from threads that are no workers, and from tasks of tokio.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use garrick_bench::{Clock, Result, Span, Stopwatch};
use tokio::runtime::{Builder, Handle};

use super::peers::{Peer, peers};
use super::told;
use super::turns::{Contender, in_turns, median};
use crate::actors::framework::Framework;
use crate::actors::frameworks::Tasks;

/// Who asks, and how often.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Tasks that ask, or none if a thread does.
    tasks: usize,
    /// Actors that answer.
    answerers: usize,
    /// Threads that run the actors, and as many that run the tasks where these are not the same.
    workers: usize,
    /// Asks of all together.
    asks: u64,
}

fn from_thread<F: Peer>() -> Contender<Plan, Span> {
    Contender {
        name: F::NAME,
        round: |plan| F::outside(plan.workers, ask_and_wait::<F>(*plan)),
    }
}

async fn ask_and_wait<F: Peer>(plan: Plan) -> Span {
    let answerer = F::place_answerer().await;
    // One answer shows that it is there and has gone to sleep.
    assert_eq!(F::ask_and_wait(&answerer, 0), 1, "the answer is right");
    let watch = Stopwatch::start(Clock::Process);
    let last = (0..plan.asks).fold(0, |number, _| F::ask_and_wait(&answerer, number));
    let span = watch.stop();
    assert_eq!(last, plan.asks, "every question is answered");
    span
}

/// The yardstick: a task asks another one of the same thread, which nobody wakes.
fn on_one_thread(plan: &Plan) -> Result<Span> {
    let asks = plan.asks;
    Tasks::run(1, async move {
        let answerer = Tasks::answerer().await;
        let watch = Stopwatch::start(Clock::Process);
        let mut number = 0;
        for _ in 0..asks {
            number = Tasks::ask(&answerer, number).await;
        }
        let span = watch.stop();
        assert_eq!(number, asks, "every question is answered");
        span
    })
}

fn from_tasks<F: Peer>() -> Contender<Plan, Span> {
    Contender {
        name: F::NAME,
        round: |plan| F::outside(plan.workers, ask_from_tasks::<F>(*plan))?,
    }
}

async fn ask_from_tasks<F: Peer>(plan: Plan) -> Result<Span> {
    let mut answerers = Vec::new();
    for _ in 0..plan.answerers {
        answerers.push(Arc::new(F::place_answerer().await));
    }
    let runtime = if F::ON_TOKIO {
        None
    } else {
        let mut builder = Builder::new_multi_thread();
        Some(builder.worker_threads(plan.workers).build()?)
    };
    let tasks = match &runtime {
        Some(runtime) => runtime.handle().clone(),
        None => Handle::current(),
    };
    let each = plan.asks / plan.tasks as u64;
    let watch = Stopwatch::start(Clock::Process);
    let asked = (0..plan.tasks).map(|task| {
        let answerer = answerers[task % answerers.len()].clone();
        tasks.spawn(async move {
            let mut number = 0;
            for _ in 0..each {
                number = F::ask(&answerer, number).await;
            }
            number
        })
    });
    let asked: Vec<_> = asked.collect();
    let numbers = join_all(asked).await;
    let span = watch.stop();
    if let Some(runtime) = runtime {
        // This is a task itself, which must not wait for the threads' ends.
        runtime.shutdown_background();
    }
    for number in numbers {
        assert_eq!(number?, each, "every question is answered");
    }
    Ok(span)
}

/// Asks of all in a round, and rounds.
fn sizes(quick: bool) -> (u64, usize) {
    if quick { (8_192, 3) } else { (65_536, 5) }
}

/// Time of one of so many asks.
fn per_ask(time: Duration, asks: u64) -> String {
    format!("{:.0} ns", time.as_nanos() as f64 / asks as f64)
}

pub(super) fn section(quick: bool) -> Result<String> {
    Ok([thread_section(quick)?, task_section(quick)?].join("\n\n"))
}

fn thread_section(quick: bool) -> Result<String> {
    let (asks, rounds) = sizes(quick);
    let plan = Plan {
        tasks: 0,
        answerers: 1,
        workers: 2,
        asks: asks / 4,
    };
    let mut contenders: Vec<_> = peers!(from_thread).into();
    contenders.push(Contender {
        name: "tokio, two tasks of one thread",
        round: on_one_thread,
    });
    let rows = in_turns(&contenders, &plan, rounds)?.into_iter();
    let rows = rows.map(|(name, rounds)| {
        [
            name.to_owned(),
            per_ask(median(&rounds, |span| span.wall), plan.asks),
            per_ask(median(&rounds, |span| span.cpu), plan.asks),
        ]
    });
    let sentence = format!(
        "ask-outside: one ask by a plain thread that waits for the answer, of an idle actor on 2 workers; and, as the yardstick, by \
         a tokio task of another on the same thread (mpsc and oneshot). {rounds} rounds of {} asks",
        plan.asks
    );
    Ok(told(
        &sentence,
        ["contender", "wall", "CPU"],
        rows.collect(),
    ))
}

fn task_section(quick: bool) -> Result<String> {
    let (asks, rounds) = sizes(quick);
    let mut rows = Vec::new();
    for workers in [1, 2] {
        for tasks in [1, 16, 256, 4_096] {
            let plan = Plan {
                tasks,
                answerers: 16,
                workers,
                asks,
            };
            for (name, rounds) in in_turns(&peers!(from_tasks), &plan, rounds)? {
                rows.push([
                    workers.to_string(),
                    tasks.to_string(),
                    name.to_owned(),
                    per_ask(median(&rounds, |span| span.wall), asks),
                    per_ask(median(&rounds, |span| span.cpu), asks),
                ]);
            }
        }
    }
    let sentence = format!(
        "ask-outside: one ask by a task of tokio, which asks one of 16 actors again and again, one ask at a time; the actors run on \
         tokio's workers too, but for garrick's and actix's, which have as many threads of their own. {rounds} rounds of {asks} asks"
    );
    let header = ["tokio workers", "tasks", "contender", "wall", "CPU"];
    Ok(told(&sentence, header, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_answered_by_every_contender() {
        let mut plan = Plan {
            tasks: 0,
            answerers: 1,
            workers: 2,
            asks: 40,
        };
        // Who answers wrong panics in there.
        let rounds = in_turns(&peers!(from_thread), &plan, 1).expect("threads are to be had");
        assert_eq!(rounds.len(), 6);
        assert!(on_one_thread(&plan).is_ok());
        for (tasks, workers) in [(1, 1), (20, 2)] {
            plan = Plan {
                tasks,
                answerers: 3,
                workers,
                ..plan
            };
            let rounds = in_turns(&peers!(from_tasks), &plan, 1).expect("threads are to be had");
            assert_eq!(rounds.len(), 6);
        }
    }
}
