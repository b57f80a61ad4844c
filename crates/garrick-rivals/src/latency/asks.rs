//! Benchmark of questions from plain threads to actors.

use std::time::Duration;

use garrick_measure::{Clock, Result, Span, Stopwatch};

use super::peers::{Peer, peers};
use super::told;
use super::turns::{Contender, in_turns, median};
use crate::actors::framework::Framework;
use crate::actors::frameworks::Tasks;

/// The parameters of a round of questions.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Number of threads that run the actors.
    workers: usize,
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
    // After this answer, the answerer is running and has gone to sleep.
    assert_eq!(F::ask_and_wait(&answerer, 0), 1, "the answer is right");
    let watch = Stopwatch::start(Clock::Process);
    let last = (0..plan.asks).fold(0, |number, _| F::ask_and_wait(&answerer, number));
    let span = watch.stop();
    assert_eq!(last, plan.asks, "every question is answered");
    span
}

/// Measures questions that wake no thread, for comparison: a task asks another task on the same
/// thread.
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

/// Returns the number of asks per round, and the number of rounds.
fn sizes(quick: bool) -> (u64, usize) {
    if quick { (2_048, 3) } else { (16_384, 5) }
}

/// Formats the average time of an ask, if `asks` asks took the given time.
fn per_ask(time: Duration, asks: u64) -> String {
    format!("{:.0} ns", time.as_nanos() as f64 / asks as f64)
}

pub(super) fn section(quick: bool) -> Result<String> {
    let (asks, rounds) = sizes(quick);
    let plan = Plan { workers: 2, asks };
    let mut contenders: Vec<_> = peers!(from_thread).into();
    contenders.push(Contender {
        name: "tokio, two tasks on one thread",
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
        "ask-outside: the time of one ask, by a plain thread that waits for the answer of an idle \
         actor on 2 workers. For comparison, a tokio task asks another task on the same thread, by \
         mpsc and oneshot channels. Median of {rounds} rounds of {} asks",
        plan.asks
    );
    Ok(told(
        &sentence,
        ["contender", "wall", "CPU"],
        rows.collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_answered_by_every_contender() {
        let plan = Plan {
            workers: 2,
            asks: 40,
        };
        // A wrong answer makes a round panic.
        let rounds = in_turns(&peers!(from_thread), &plan, 1).expect("threads are to be had");
        assert_eq!(rounds.len(), 6);
        assert!(on_one_thread(&plan).is_ok());
    }
}
