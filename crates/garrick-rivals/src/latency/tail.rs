//! Lateness of messages when a few handlers take a long time.

use std::time::Duration;

use garrick_measure::Result;

use super::late::{Plan, Round, Trouble, contender};
use super::peers::peers;
use super::told;
use super::turns::{Rounds, busy, in_turns, median, quantile, shown};

pub(super) fn section(quick: bool) -> Result<String> {
    let (rounds, millis) = if quick { (1, 200) } else { (3, 1_000) };
    let mut rows = Vec::new();
    for trouble in Trouble::LONG {
        for workers in [2, 4] {
            let plan = Plan {
                actors: 1_000,
                rate: 10_000,
                time: Duration::from_millis(millis),
                workers,
                trouble,
            };
            show(
                &plan,
                &in_turns(&peers!(contender), &plan, rounds)?,
                &mut rows,
            );
        }
    }
    let sentence = format!(
        "tail: the lateness of 10,000 messages per second that an outside thread sends to 1,000 \
         random actors. Lateness is measured from the time at which each message was due, so it \
         includes the lateness of the sends, which the last columns show. Medians of {rounds} \
         rounds of {millis} ms"
    );
    let header = [
        "beside",
        "workers",
        "contender",
        "p50",
        "p99",
        "p99.9",
        "max",
        "CPU",
        "sent: p50",
        "p99",
    ];
    Ok(told(&sentence, header, rows))
}

fn show(plan: &Plan, all: &Rounds<Round>, rows: &mut Vec<[String; 10]>) {
    for (name, rounds) in all {
        let handled = |share| shown(median(rounds, |round| quantile(&round.handled, share)));
        let sent = |share| shown(median(rounds, |round| quantile(&round.sent, share)));
        rows.push([
            plan.trouble.name(),
            plan.workers.to_string(),
            (*name).to_owned(),
            handled(0.5),
            handled(0.99),
            handled(0.999),
            handled(1.0),
            format!("{:.0} %", 100.0 * median(rounds, |round| busy(&round.span))),
            sent(0.5),
            sent(0.99),
        ]);
    }
}
