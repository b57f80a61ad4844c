//! Benchmark of fairness. Equal actors should handle equal numbers of messages.

use std::thread;
use std::time::Duration;

use garrick_measure::Result;

use super::busy::Company;
use super::peers::{Peer, peers};
use super::told;
use super::turns::{Contender, in_turns, median};
use super::work::Work;

/// The parameters of a round.
#[derive(Debug, Clone, Copy)]
struct Plan {
    actors: usize,
    workers: usize,
    /// Time for which an actor works on each message.
    grain: Duration,
    time: Duration,
}

/// The minimum, median and maximum number of messages that an actor has handled.
#[derive(Debug, Clone, Copy)]
struct Round {
    min: u64,
    median: u64,
    max: u64,
}

fn contender<F: Peer>() -> Contender<Plan, Round> {
    Contender {
        name: F::NAME,
        round: |plan| F::outside(plan.workers, round::<F>(*plan)),
    }
}

async fn round<F: Peer>(plan: Plan) -> Round {
    let company = Company::gather::<F>(plan.actors, Work::of(plan.grain)).await;
    company.wait_for_all();
    let before = company.turns.all();
    thread::sleep(plan.time);
    let after = company.turns.all();
    company.disperse();
    let mut turns: Vec<u64> = after
        .iter()
        .zip(before)
        .map(|(now, then)| now - then)
        .collect();
    turns.sort_unstable();
    Round {
        min: turns[0],
        median: turns[turns.len() / 2],
        max: turns[turns.len() - 1],
    }
}

pub(super) fn section(quick: bool) -> Result<String> {
    let millis = if quick { 500 } else { 3_000 };
    let mut rows = Vec::new();
    for workers in [1, 2, 4] {
        for micros in [1, 10, 100] {
            let plan = Plan {
                actors: 1_000,
                workers,
                grain: Duration::from_micros(micros),
                time: Duration::from_millis(millis),
            };
            for (name, rounds) in in_turns(&peers!(contender), &plan, 1)? {
                let (min, max) = (
                    median(&rounds, |round| round.min),
                    median(&rounds, |round| round.max),
                );
                let ratio = match min {
                    0 => "-".to_owned(),
                    min => format!("{:.1}", max as f64 / min as f64),
                };
                rows.push([
                    workers.to_string(),
                    format!("{micros} us"),
                    name.to_owned(),
                    min.to_string(),
                    median(&rounds, |round| round.median).to_string(),
                    max.to_string(),
                    ratio,
                ]);
            }
        }
    }
    let sentence = format!(
        "equal: the number of messages that each of 1,000 equal actors handles in {millis} ms. \
         Each actor sends messages to itself. The time begins when each actor has handled one \
         message, but at most 3 s after all were created. One round"
    );
    let header = [
        "workers",
        "grain",
        "contender",
        "min",
        "median",
        "max",
        "max / min",
    ];
    Ok(told(&sentence, header, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_works_with_every_contender() {
        let plan = Plan {
            actors: 20,
            workers: 2,
            grain: Duration::from_micros(10),
            // Long enough for each contender to run at all, beside other tests.
            time: Duration::from_millis(300),
        };
        for (name, rounds) in
            in_turns(&peers!(contender), &plan, 1).expect("the system can start threads")
        {
            assert!(rounds[0].max > 0, "{name}: {rounds:?}");
            assert!(rounds[0].min <= rounds[0].median, "{name}: {rounds:?}");
        }
    }
}
