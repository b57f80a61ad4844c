//! Lateness of messages while many actors block by the method that their library recommends.

use std::time::Duration;

use garrick_measure::Result;

use super::late::{BLOCK, Plan, Trouble, contender_that_blocks};
use super::peers::BLOCKING_THREADS;
use super::told;
use super::turns::{busy, in_turns, median, quantile, shown};
use crate::actors::frameworks::{Kameo, Ractor, Tasks, Xtra};
use crate::latency::garrick::Garrick;

/// Number of actors that block at the same time.
const BLOCKERS: usize = 100;

pub(super) fn section(quick: bool) -> Result<String> {
    let (rounds, millis) = if quick { (1, 200) } else { (5, 1_000) };
    let contenders = [
        contender_that_blocks::<Garrick>(),
        contender_that_blocks::<Kameo>(),
        contender_that_blocks::<Ractor>(),
        contender_that_blocks::<Xtra>(),
        contender_that_blocks::<Tasks>(),
    ];
    let mut rows = Vec::new();
    for trouble in [Trouble::Nothing, Trouble::Blockers(BLOCKERS)] {
        let plan = Plan {
            actors: 1_000,
            rate: 10_000,
            time: Duration::from_millis(millis),
            workers: 1,
            trouble,
        };
        for (name, rounds) in in_turns(&contenders, &plan, rounds)? {
            let handled = |share| shown(median(&rounds, |round| quantile(&round.handled, share)));
            let done = median(&rounds, |round| round.in_the_way);
            rows.push([
                trouble.name(),
                name.to_owned(),
                if done.is_zero() {
                    String::new()
                } else {
                    shown(done)
                },
                handled(0.5),
                handled(0.99),
                handled(0.999),
                handled(1.0),
                format!(
                    "{:.0} %",
                    100.0 * median(&rounds, |round| busy(&round.span))
                ),
                shown(median(&rounds, |round| quantile(&round.sent, 0.99))),
            ]);
        }
    }
    let least = BLOCK * BLOCKERS.div_ceil(BLOCKING_THREADS) as u32;
    let sentence = format!(
        "blocking: the lateness of 10,000 messages per second that an outside thread sends to \
         1,000 random actors on one worker, while {BLOCKERS} other actors repeatedly block for \
         {BLOCK:?} on {BLOCKING_THREADS} threads for blocking work. 'all done' is the time until \
         all actors have blocked once, which is at least {least:?}. Medians of {rounds} rounds of \
         {millis} ms"
    );
    let header = [
        "beside",
        "contender",
        "all done",
        "p50",
        "p99",
        "p99.9",
        "max",
        "CPU",
        "sent: p99",
    ];
    Ok(told(&sentence, header, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_block_do_so_and_are_waited_for() {
        let plan = Plan {
            actors: 10,
            rate: 1_000,
            time: Duration::from_millis(60),
            workers: 1,
            trouble: Trouble::Blockers(BLOCKING_THREADS + 1),
        };
        let contenders = [
            contender_that_blocks::<Garrick>(),
            contender_that_blocks::<Tasks>(),
        ];
        for (name, rounds) in in_turns(&contenders, &plan, 1).expect("all arrive") {
            assert!(rounds[0].in_the_way >= 2 * BLOCK, "{name}");
        }
    }
}
