//! `steady_state`: the FizzBuzz pipeline of its lesson on performance.

use garrick_measure::{Figure, Here, Published, Rows, Suite, Unit};

use super::millions_a_second;
use crate::pipeline;

pub(super) const PIPELINE: Suite = Suite {
    name: "pipeline",
    about: "steady_state: its performant lesson, a FizzBuzz pipeline by batches, with double buffers and in place",
    scenarios: &[pipeline::PIPELINE],
    memory_bytes: |_| 512 << 20,
    origin: "steady_state, README of its lesson 'performant', on an i5",
    here: "steady_state 0.3.1 in this very run; the lesson's own program was measured at 233 M messages a second with \
           double buffers (0.2.5: 199) and 246 in place (0.2.5: 243) on 2 shared x86-64 cores",
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
    note: "The source counts a message on each of its two channels; here it is counted once, when it has gone through the \
           whole pipeline, and published figures are halved for that (50 to 200, 150 to 300; the picture of its telemetry \
           has 64 on each). Each side at the number of slots and threads that is its best; rates are of wall time",
    ..Suite::PLAIN
};

/// Returns millions of messages per second, with the slots and threads at which `contender` is
/// fastest.
fn rate(rows: Rows<'_>, contender: &str, mode: &str) -> Option<f64> {
    let row = rows.fastest("pipeline", contender, &[("mode", mode)])?;
    Some(millions_a_second(row))
}

/// Returns nanoseconds of CPU time per message, with the slots and threads at which `contender`
/// takes the least.
fn cpu(rows: Rows<'_>, contender: &str, mode: &str) -> Option<f64> {
    let params = [("mode", mode)];
    let all = rows.all("pipeline", contender, &params);
    all.map(|row| row.cpu.median).min_by(f64::total_cmp)
}
