//! The suite of the crate `steady_state`: the FizzBuzz pipeline of the crate's lesson on
//! performance.

use garrick_measure::{Figure, Here, Published, Rows, Suite, Unit};

use super::millions_a_second;
use crate::pipeline;

pub(super) const PIPELINE: Suite = Suite {
    name: "pipeline",
    about: "steady_state: its lesson on performance, a FizzBuzz pipeline in batches, with double \
            buffers and in place",
    scenarios: &[pipeline::PIPELINE],
    memory_bytes: |_| 512 << 20,
    origin: "steady_state, README of its lesson 'performant', on an Intel i5",
    here: "steady_state 0.3.1 in this run. The lesson's own program reached 233 M messages per \
           second with double buffers (version 0.2.5: 199 M) and 246 M in place (version 0.2.5: \
           243 M) on 2 shared x86-64 cores",
    published: &[
        Published {
            of: "double buffer",
            unit: Unit::MILLIONS_A_SECOND,
            said: Some(Figure::between(25.0, 100.0)),
            here: Here::InThisRun(|rows| rate(rows, "steady_state", "double-buffer")),
            ours: |rows| rate(rows, "garrick", "double-buffer"),
        },
        Published {
            of: "zero copy",
            unit: Unit::MILLIONS_A_SECOND,
            said: Some(Figure::between(75.0, 150.0)),
            here: Here::InThisRun(|rows| rate(rows, "steady_state", "zero-copy")),
            ours: |rows| rate(rows, "garrick", "zero-copy"),
        },
        Published {
            of: "double buffer, the lesson's own program",
            unit: Unit::MILLIONS_A_SECOND,
            said: Some(Figure::of(64.0)),
            here: Here::Noted(Figure::between(199.0, 233.0)),
            ours: |rows| rate(rows, "garrick", "double-buffer"),
        },
        Published {
            of: "zero copy, the lesson's own program",
            unit: Unit::MILLIONS_A_SECOND,
            here: Here::Noted(Figure::between(243.0, 246.0)),
            ours: |rows| rate(rows, "garrick", "zero-copy"),
            ..Published::UNKNOWN
        },
        Published {
            of: "CPU of a message, double buffer",
            here: Here::InThisRun(|rows| cpu(rows, "steady_state", "double-buffer")),
            ours: |rows| cpu(rows, "garrick", "double-buffer"),
            ..Published::UNKNOWN
        },
        Published {
            of: "CPU of a message, zero copy",
            here: Here::InThisRun(|rows| cpu(rows, "steady_state", "zero-copy")),
            ours: |rows| cpu(rows, "garrick", "zero-copy"),
            ..Published::UNKNOWN
        },
    ],
    note: "The source counts a message on each of its two channels. Here a message is counted \
           once, after it has gone through the whole pipeline, so the published figures are \
           halved: 50 to 200 M/s with double buffers, 150 to 300 M/s in place. The picture of the \
           source's telemetry shows 64 M/s on each channel. Each library has the number of slots \
           and threads at which it is fastest. Rates are computed from wall time",
    ..Suite::PLAIN
};

/// Returns the maximum throughput of `contender` in the mode `mode`, over all numbers of slots and
/// threads, in millions of messages per second.
fn rate(rows: Rows<'_>, contender: &str, mode: &str) -> Option<f64> {
    let row = rows.fastest("pipeline", contender, &[("mode", mode)])?;
    Some(millions_a_second(row))
}

/// Returns the minimum CPU time per message of `contender` in the mode `mode`, over all numbers of
/// slots and threads, in nanoseconds.
fn cpu(rows: Rows<'_>, contender: &str, mode: &str) -> Option<f64> {
    let params = [("mode", mode)];
    let all = rows.all("pipeline", contender, &params);
    all.map(|row| row.cpu.median).min_by(f64::total_cmp)
}
