//! Mailboxes: the cost of offering a value to a mailbox, and of taking it from the mailbox, for
//! Garrick's queues, an actor, and the rivals' queues.
//!
//! The values of each producer are numbered. The consumer checks that each value arrives once and
//! in order.

mod rivals;
mod tally;

mod actor;
mod queue;

use garrick_bench::{Channel, Ours, Std};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario, Span};
use garrick_steal::queue::{Banker, Chunked, Locked};

use rivals::{CrossbeamChannel, Flume, Segments};

pub(crate) const OFFER: Scenario = Scenario {
    name: "mailbox-offer",
    operation: "one value of 8 bytes offered to a queue on one thread, in batches of 4096 values \
                that are taken between measurements; with the actor, the value is sent by \
                Address::send from the thread that will run the actor",
    contenders: |_: &Effort| contenders(Work::OneSide(Side::Offer)),
};

pub(crate) const TAKE: Scenario = Scenario {
    name: "mailbox-take",
    operation: "one value taken from a queue on one thread, in batches of 4096 values that are \
                offered between measurements; with the actor, the value is handled in a turn",
    contenders: |_: &Effort| contenders(Work::OneSide(Side::Take)),
};

pub(crate) const PAIR: Scenario = Scenario {
    name: "mailbox-pair",
    operation: "one value offered and taken on one thread, one at a time; with the actor, the \
                value is sent, and the actor runs until no work is left",
    contenders: |_: &Effort| contenders(Work::Pair),
};

pub(crate) const ONE_PRODUCER: Scenario = Scenario {
    name: "mailbox-1p",
    operation: "one value through a queue from one thread to another, after both threads have met \
                at a barrier; the producer offers values as fast as it can; the consumer of an \
                empty queue spins 64 times, and then yields its core before each further attempt; \
                the actor's worker waits as workers do: it spins, and then parks",
    contenders: |_: &Effort| contenders(Work::Threads { producers: 1 }),
};

pub(crate) const FOUR_PRODUCERS: Scenario = Scenario {
    name: "mailbox-4p",
    operation: "one value as in 'mailbox-1p', but with four producers, all of which have met the \
                consumer at the barrier",
    contenders: |_: &Effort| contenders(Work::Threads { producers: 4 }),
};

/// Number of values in a batch, if one thread alternately offers a batch and takes the batch.
const BATCH: u64 = 4096;

/// Maximum number of values that threads offer in a repetition. All of them may wait at the same
/// time.
const FLOOD_MAX: u64 = 1 << 20;

/// The operation to measure, if the same thread offers values and takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Offer,
    Take,
}

impl Side {
    /// Returns the time span of the measured operation: `offered` or `taken`.
    fn of(self, offered: Span, taken: Span) -> Span {
        match self {
            Self::Offer => offered,
            Self::Take => taken,
        }
    }
}

/// A measurement that is done with each queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    OneSide(Side),
    Pair,
    Threads { producers: u64 },
}

impl Work {
    fn on_queue<C: Channel>(self, ops: u64) -> Result<Measured> {
        match self {
            Self::OneSide(side) => queue::one_side::<C>(side, ops),
            Self::Pair => queue::pair::<C>(ops),
            Self::Threads { producers } => queue::threads::<C>(producers, ops),
        }
    }

    fn on_actor(self, ops: u64) -> Result<Measured> {
        match self {
            Self::OneSide(side) => actor::one_side(side, ops),
            Self::Pair => actor::pair(ops),
            Self::Threads { producers } => actor::threads(producers, ops),
        }
    }
}

fn contenders(work: Work) -> Vec<Contender> {
    [
        on::<Ours<Banker>>(work, "garrick").with("queue", "banker"),
        on::<Ours<Chunked>>(work, "garrick").with("queue", "chunked"),
        on::<Ours<Locked>>(work, "garrick").with("queue", "locked"),
        Contender::fitted("garrick", move |ops| work.on_actor(ops)).with("queue", "actor"),
        on::<Segments>(work, "crossbeam").with("queue", "SegQueue"),
        on::<CrossbeamChannel>(work, "crossbeam").with("queue", "channel"),
        on::<Std>(work, "std").with("queue", "mpsc"),
        on::<Flume>(work, "flume").with("queue", "unbounded"),
    ]
    .map(|contender| match work {
        Work::Threads { .. } => contender.at_most(FLOOD_MAX),
        Work::OneSide(_) | Work::Pair => contender,
    })
    .into()
}

fn on<C: Channel>(work: Work, name: &'static str) -> Contender {
    Contender::fitted(name, move |ops| work.on_queue::<C>(ops))
}
