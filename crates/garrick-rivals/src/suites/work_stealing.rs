//! The suite of BeamDequeChannel, a Zig library. In some scenarios, each thread only sends or only
//! receives. In the other scenarios, each thread does both.

use garrick_measure::{Figure, Here, Published, Rows, Suite, Unit};

use super::{millions_a_second, ours};
use crate::steal;

/// Creates a line of the suite: the throughput of Garrick's row in `$scenario` with these
/// parameters, in millions of items per second.
macro_rules! items {
    ($of:literal, $said:expr, $here:expr, $scenario:literal, $($name:literal = $value:literal),+) => {
        Published {
            of: $of,
            unit: Unit::MILLIONS_A_SECOND,
            said: $said,
            here: Here::Noted($here),
            ours: |rows| rate(rows, $scenario, &[$(($name, $value)),+]),
        }
    };
}

pub(super) const WORK_STEALING: Suite = Suite {
    name: "work-stealing",
    about: "BeamDequeChannel: V1, threads that only send or only receive, and V2, threads that do both",
    scenarios: &[steal::ROLES, steal::BOTH, steal::BATCHES, steal::IMBALANCED],
    memory_bytes: |_| 512 << 20,
    origin: "BeamDequeChannel, a Zig library, its benchmark analysis, on an unknown machine with \
             at least 8 cores",
    here: "the library itself, in mode ReleaseFast, with threads that start at a barrier, on 2 \
           shared x86-64 cores",
    published: &[
        items!(
            "V1, 1 sends, 1 receives",
            None,
            Figure::between(6.7, 10.6),
            "steal-roles",
            "shape" = "1P1C"
        ),
        items!(
            "V1, 2 send, 2 receive",
            None,
            Figure::between(9.0, 10.5),
            "steal-roles",
            "shape" = "2P2C"
        ),
        items!(
            "V1, 4 send, 4 receive",
            Some(Figure::of(28.0)),
            Figure::between(7.1, 11.9),
            "steal-roles",
            "shape" = "4P4C"
        ),
        items!(
            "V2, 1 worker",
            Some(Figure::between(202.0, 238.0)),
            Figure::of(38.0),
            "steal-both",
            "workers" = "1"
        ),
        items!(
            "V2, 2 workers",
            None,
            Figure::of(74.0),
            "steal-both",
            "workers" = "2"
        ),
        items!(
            "V2, 4 workers",
            Some(Figure::of(861.0)),
            Figure::of(70.0),
            "steal-both",
            "workers" = "4"
        ),
        items!(
            "V2, 8 workers",
            Some(Figure::between(975.0, 1685.0)),
            Figure::of(72.0),
            "steal-both",
            "workers" = "8"
        ),
        items!(
            "V2, 32 at a time, 1 worker",
            None,
            Figure::of(87.0),
            "steal-batches",
            "workers" = "1"
        ),
        items!(
            "V2, 32 at a time, 2 workers",
            None,
            Figure::of(168.0),
            "steal-batches",
            "workers" = "2"
        ),
        items!(
            "one sends most, 8 workers",
            None,
            Figure::between(4.4, 5.5),
            "steal-imbalanced",
            "workers" = "8"
        ),
    ],
    note: "Millions of items per second of wall time. The source counts each send and each receive \
           as an op, so two ops are one item, and its figures are halved (405 to 476 M, 1.72 G, \
           and 1.95 to 3.37 G ops for 1, 4 and 8 workers). The source's clock started after its \
           threads, and its V1 loses 100 to 600 of a million items. Our threads start at a \
           barrier, and every item arrives",
    ..Suite::PLAIN
};

fn rate(rows: Rows<'_>, scenario: &str, params: &[(&str, &str)]) -> Option<f64> {
    Some(millions_a_second(ours(rows, scenario, params)?))
}
