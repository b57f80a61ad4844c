//! Cajun: batches of tasks, mailboxes, latency.

use garrick_bench::{Effort, Figure, Here, Point, Published, Rows, Scenario, Suite, Unit};

use super::{microseconds, millions_a_second, ours};
use crate::{mailbox, tasks};

/// A scenario of `garrick bench` as it is there.
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
    "one actor made, sent to, run, and dropped: as in 'garrick bench'"
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
    origin: "Cajun, its report on the performance of 0.2.0, where it expects these; no machine is named",
    here: "Cajun 0.7.0 on JDK 25, 2 shared x86-64 cores",
    published: &[
        Published {
            of: "batch of 100 tasks, an actor for each, LinkedMailbox",
            unit: Unit::MICROSECONDS,
            said: Some(Figure::of(120.0)),
            here: Here::Noted(Figure::between(1_537.0, 1_904.0)),
            ours: created,
        },
        Published {
            of: "the same, MpscMailbox",
            unit: Unit::MICROSECONDS,
            said: Some(Figure::between(60.0, 80.0)),
            here: Here::Noted(Figure::between(2_012.0, 2_762.0)),
            ours: created,
        },
        Published {
            of: "the same, actors that were there before",
            unit: Unit::MICROSECONDS,
            said: Some(Figure::of(1_028.0)),
            here: Here::Noted(Figure::between(144.0, 177.0)),
            ours: |rows| {
                Some(microseconds(rows.fastest(
                    "tasks-reused",
                    "garrick",
                    &[],
                )?))
            },
        },
        Published {
            of: "their baseline: the same by threads, or by a pool",
            unit: Unit::MICROSECONDS,
            said: Some(Figure::of(55.0)),
            here: Here::Noted(Figure::between(27.0, 95.0)),
            ours: created,
        },
        Published {
            of: "one task, an actor made for it",
            unit: Unit::MICROSECONDS,
            said: Some(Figure::between(3_000.0, 4_000.0)),
            here: Here::Noted(Figure::of(32.9)),
            ours: |rows| {
                Some(microseconds(ours(
                    rows,
                    "tasks-single",
                    &[("by", "created")],
                )?))
            },
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
            of: "the same, MpscMailbox",
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
            of: "an actor made",
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
    note: "Wall time. A task is 20 times fib(15), which is what theirs is; of the single task's 3 to 4 ms most was waiting. \
           Actors that were there before are of 0.1 as published, and 0.7 as measured here. Latency is half a round trip. \
           An actor made is in ours also sent to, run, and gone",
    ..Suite::PLAIN
};

/// A batch for each task of which an actor is made.
fn created(rows: Rows<'_>) -> Option<f64> {
    rows.fastest("tasks-created", "garrick", &[])
        .map(microseconds)
}

/// What it takes to offer a message to one of our queues, in nanoseconds.
fn offer(rows: Rows<'_>, queue: &str) -> Option<f64> {
    let row = ours(rows, "mailbox-offer", &[("queue", queue)])?;
    Some(row.wall.median)
}
