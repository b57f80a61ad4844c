//! The suite "Future vs select!": actors that await.

use garrick_measure::{Figure, Here, Published, Rows, Suite, Unit};

use super::{microseconds, millions_a_second, ours};
use crate::futures::{LATENCY, THROUGHPUT};

/// Creates a line of the suite: the throughput of `$actor`, an actor of the original benchmark, in
/// millions of tasks per second.
macro_rules! throughput {
    ($of:literal, $actor:literal, $said:literal) => {
        Published {
            of: $of,
            unit: Unit::MILLIONS_A_SECOND,
            said: Some(Figure::of($said)),
            here: Here::InThisRun(|rows| {
                let row = rows.find("async-throughput", $actor, &[])?;
                Some(millions_a_second(row))
            }),
            ours: |rows| Some(millions_a_second(ours(rows, "async-throughput", &[])?)),
        }
    };
}

/// Creates a line of the suite: the median latency of the tasks of `$actor`, an actor of the
/// original benchmark, in microseconds.
macro_rules! latency {
    ($of:literal, $actor:literal, $said:literal) => {
        Published {
            of: $of,
            unit: Unit::MICROSECONDS,
            said: Some(Figure::of($said)),
            here: Here::InThisRun(|rows| {
                let row = rows.find("async-latency", $actor, &[])?;
                Some(microseconds(row))
            }),
            ours: |rows| Some(microseconds(ours(rows, "async-latency", &[])?)),
        }
    };
}

pub(super) const ASYNC: Suite = Suite {
    name: "async",
    about: "Future vs select!: actors that await 50,000 tasks of 10 us, throughput and latency",
    scenarios: &[THROUGHPUT, LATENCY],
    memory_bytes: |_| 256 << 20,
    origin: "async-rust-benchmarks 01, a Future against a tokio::select! loop (chainbound), on an Apple M4 Pro with 10 \
             cores",
    here: "the same actors in this run, with the current version of tokio. With tokio 1.45, as \
           published, on 2 shared x86-64 cores, random select!, Future unconstrained, biased \
           select! and Future reached 1.25, 0.98, 1.00 and 0.56 M/s, and had latencies of 11,600, \
           750, 13,300 and 23,300 us",
    published: &[
        throughput!("tasks a second, random select!", "RandomSelectActor", 4.07),
        throughput!(
            "tasks a second, Future unconstrained",
            "FutureActorUnconstrained",
            3.678
        ),
        throughput!("tasks a second, biased select!", "BiasedSelectActor", 3.568),
        throughput!("tasks a second, Future", "FutureActor", 1.359),
        latency!(
            "median latency, Future unconstrained",
            "FutureActorUnconstrained",
            732.33
        ),
        latency!(
            "median latency, random select!",
            "RandomSelectActor",
            3_870.0
        ),
        latency!(
            "median latency, biased select!",
            "BiasedSelectActor",
            3_980.0
        ),
        latency!("median latency, Future", "FutureActor", 10_030.0),
    ],
    note: "Everything runs on one thread, in rounds of 50,000 tasks. Ours is the same actor in \
           every line. 'garrick-rivals async' prints the three tables of the source, with load and \
           other quantiles",
    findings: best,
};

/// Returns two sentences that compare Garrick's actor with the best of the actors on tokio: one
/// about throughput, and one about latency.
fn best(rows: Rows<'_>) -> Vec<String> {
    let theirs = [
        "RandomSelectActor",
        "FutureActorUnconstrained",
        "BiasedSelectActor",
        "FutureActor",
    ];
    let of = |scenario: &str, what: &str| {
        let all = theirs
            .iter()
            .filter_map(|actor| rows.find(scenario, actor, &[]));
        let best = all.min_by(|one, other| one.wall.median.total_cmp(&other.wall.median))?;
        let factor = best.wall.median / ours(rows, scenario, &[])?.wall.median;
        let name = &best.contender;
        Some(format!(
            "Of tokio's actors, {name} has the best {what}; ours is {factor:.1} times as good."
        ))
    };
    [
        of("async-throughput", "throughput"),
        of("async-latency", "median latency"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
