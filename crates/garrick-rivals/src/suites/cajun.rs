//! The suite of the library Cajun: batches of tasks, mailboxes, latency.

use garrick_measure::{Effort, Figure, Here, Point, Published, Rows, Scenario, Suite, Unit};

use super::{microseconds, millions_a_second, ours};
use crate::{mailbox, tasks};

/// Creates a scenario that has the same contenders as one of `garrick bench`.
macro_rules! of_bench {
    ($name:literal, $operation:literal) => {
        Scenario {
            name: $name,
            operation: $operation,
            contenders: |effort: &Effort| {
                garrick_bench::contenders($name, effort, &Point::default())
            },
        }
    };
}

const TELL: Scenario = of_bench!(
    "tell-outside",
    "one message from a plain thread to an actor on a worker: as in 'garrick bench'"
);

const PING_PONG: Scenario = of_bench!(
    "ping-pong-cross",
    "one round trip between two actors on two workers: as in 'garrick bench'"
);

const ASK: Scenario = of_bench!(
    "ask-outside",
    "one ask from a plain thread, and its answer: as in 'garrick bench'"
);

const SPAWN: Scenario = of_bench!(
    "spawn",
    "one actor created, sent to, run, and dropped: as in 'garrick bench'"
);

pub(super) const CAJUN: Suite = Suite {
    name: "cajun",
    about: "Cajun: batches of 100 tasks by actors, pools and threads, one task, mailboxes, latency",
    scenarios: &[
        tasks::CREATED,
        tasks::REUSED,
        tasks::SINGLE,
        mailbox::OFFER,
        TELL,
        PING_PONG,
        ASK,
        SPAWN,
    ],
    memory_bytes: |_| 512 << 20,
    origin: "Cajun, the figures that its report on the performance of version 0.2.0 expects, on an \
             unknown machine",
    here: "Cajun 0.7.0 on JDK 25, 2 shared x86-64 cores",
    published: &[
        Published {
            of: "slowdown, batch of 100, an actor for each",
            unit: Unit::TIMES_THE_COST,
            said: Some(Figure::between(1.1, 2.2)),
            here: Here::Noted(Figure::between(16.0, 40.0)),
            ours: |rows| slowdown(rows, "tasks-created"),
        },
        Published {
            of: "slowdown, batch of 100, reused actors",
            unit: Unit::TIMES_THE_COST,
            said: Some(Figure::of(18.0)),
            here: Here::Noted(Figure::between(1.5, 3.7)),
            ours: |rows| slowdown(rows, "tasks-reused"),
        },
        Published {
            of: "slowdown, one task",
            unit: Unit::TIMES_THE_COST,
            said: Some(Figure::of(1.1)),
            here: Here::Noted(Figure::of(4.1)),
            ours: |rows| slowdown(rows, "tasks-single"),
        },
        Published {
            of: "offer to MpscMailbox",
            said: Some(Figure::between(20.0, 30.0)),
            ours: |rows| offer(rows, "chunked"),
            ..Published::UNKNOWN
        },
        Published {
            of: "offer to LinkedMailbox",
            said: Some(Figure::of(100.0)),
            ours: |rows| offer(rows, "locked"),
            ..Published::UNKNOWN
        },
        Published {
            of: "messages from a thread, MpscMailbox",
            unit: Unit::MILLIONS_A_SECOND,
            said: Some(Figure::of(0.45)),
            here: Here::Noted(Figure::between(6.3, 12.5)),
            ours: |rows| Some(millions_a_second(ours(rows, "tell-outside", &[])?)),
        },
        Published {
            of: "latency of a message between threads",
            unit: Unit::MICROSECONDS,
            said: Some(Figure::between(10.0, 25.0)),
            here: Here::Noted(Figure::between(3.0, 3.9)),
            ours: |rows| Some(microseconds(ours(rows, "ping-pong-cross", &[])?) / 2.0),
        },
        Published {
            of: "latency of a message, MpscMailbox",
            unit: Unit::MICROSECONDS,
            said: Some(Figure::of(10.0)),
            here: Here::Noted(Figure::between(540.0, 610.0)),
            ours: |rows| Some(microseconds(ours(rows, "ping-pong-cross", &[])?) / 2.0),
        },
        Published {
            of: "an ask from a thread",
            unit: Unit::MICROSECONDS,
            here: Here::Noted(Figure::between(12.2, 13.1)),
            ours: |rows| Some(microseconds(ours(rows, "ask-outside", &[])?)),
            ..Published::UNKNOWN
        },
        Published {
            of: "an actor created",
            unit: Unit::MICROSECONDS,
            said: Some(Figure::between(20.0, 40.0)),
            here: Here::Noted(Figure::of(33.7)),
            ours: |rows| {
                Some(microseconds(ours(
                    rows,
                    "spawn",
                    &[("spawned_per_turn", "1")],
                )?))
            },
        },
    ],
    note: "Times are wall time. A slowdown is the time by actors divided by the time of the same \
           tasks by threads or a pool; ours is relative to the fastest of these. The published \
           slowdowns are computed from 60 to 120 us compared with 55 us, and, for version 0.1, \
           from 1,028 us and from 6.0 ms compared with 5.4 ms. Our tasks really compute fib(15) 20 \
           times, which takes about 80 us; the JVM computes the result in advance, so there a task \
           takes 8 ns, and actors take a larger share of the time. The other lines show the cost \
           of the actors alone. Latency is half a round trip. Our actors are not only created, but \
           also get a message, handle it, and stop",
    ..Suite::PLAIN
};

/// Returns the time that actors take, divided by the time that the fastest contender without actors
/// takes.
fn slowdown(rows: Rows<'_>, scenario: &str) -> Option<f64> {
    let without = ["threads", "pool", "rayon"];
    let fastest = without
        .into_iter()
        .filter_map(|name| rows.fastest(scenario, name, &[]));
    let baseline = fastest.map(|row| row.wall.median).min_by(f64::total_cmp)?;
    let actors = rows.fastest(scenario, "garrick", &[])?;
    Some(actors.wall.median / baseline)
}

/// Returns how long it takes to offer a message to one of Garrick's queues, in nanoseconds.
fn offer(rows: Rows<'_>, queue: &str) -> Option<f64> {
    let row = ours(rows, "mailbox-offer", &[("queue", queue)])?;
    Some(row.wall.median)
}
