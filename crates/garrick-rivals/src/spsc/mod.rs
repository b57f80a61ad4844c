//! Rings between two threads, one that sends and one that receives: Garrick's, the rivals', and a
//! bare cache line for comparison.
//!
//! ```text
//!   sender on one core                        receiver on another
//!   0, 1, 2, ..  --->  [ ][ ][4][3][2][ ]  --->  looks at their order, and adds them up
//!                       at most 4096 wait
//! ```
//!
//! Each ring is used as its documentation recommends for speed: a batch is written into the ring's
//! memory, and read there. A ring has no row for an operation that it lacks.
//!
//! | | one at a time | in place |
//! | --- | --- | --- |
//! | garrick | `try_push`, `try_pop` | `produce_batch`, `consume_batch` |
//! | rtrb | `push`, `pop` | `write_chunk_uninit` with `fill_from_iter`, `read_chunk` |
//! | ringbuf | `try_push`, `try_pop` | `push_iter`, `as_slices` with `skip` |
//! | disruptor | `try_publish`, `take(1)` of a poller | `try_batch_publish`, `take(n)` |
//! | omango | `try_send`, `try_recv` | |
//!
//! `rtrb` and `disruptor` send whole batches: they write nothing until there is room for all of it.
//! Garrick's ring and `ringbuf` do the same here, although they need not. Garrick's ring is
//! measured both ways.

mod cores;
mod tally;
mod wait;

mod line;
mod relay;

mod ours;
mod rivals;

use garrick_measure::{Contender, Effort, Scenario};

use cores::Cores;
use ours::Garrick;
use relay::{Batches, Ring};
use rivals::{Disruptor, Omango, Ringbuf, Rtrb};

pub(crate) const SPSC: Scenario = Scenario {
    name: "spsc",
    operation: "one number of 8 bytes through a ring of 4096 slots from one thread to another, which looks at their order and \
                adds them up; sent and taken one at a time, or up to so many in place ('all': as many as there are); batches \
                are sent whole, or, with 'room any', as far as there is room; the two threads keep to cores that share the \
                last cache (near), to two threads of one core (siblings), or to cores that share no cache (far); line is one \
                cache line handed from one thread to the other",
    contenders,
};

/// Number of values for which each ring has room.
const SLOTS: usize = 4096;

/// Numbers of values that are written and read in place together.
const BATCHES: [usize; 2] = [32, 256];

fn contenders(_: &Effort) -> Vec<Contender> {
    let mut contenders = Vec::new();
    for cores in cores::placements() {
        contenders.extend([
            single::<Garrick<true>>("garrick", cores),
            single::<Rtrb>("rtrb", cores),
            single::<Ringbuf>("ringbuf", cores),
            single::<Disruptor>("disruptor", cores),
            single::<Omango>("omango", cores),
            taken_together::<Garrick<true>>("garrick", cores),
            taken_together::<Rtrb>("rtrb", cores),
            taken_together::<Ringbuf>("ringbuf", cores),
            taken_together::<Disruptor>("disruptor", cores),
        ]);
        for batch in BATCHES {
            contenders.extend([
                batched::<Garrick<true>>("garrick", cores, batch),
                batched::<Garrick<false>>("garrick", cores, batch).with("room", "any"),
                batched::<Rtrb>("rtrb", cores, batch),
                batched::<Ringbuf>("ringbuf", cores, batch),
                batched::<Disruptor>("disruptor", cores, batch),
            ]);
        }
        let line = Contender::fitted("line", move |ops| line::transfers(cores, ops));
        contenders.push(line.with("cores", cores.name));
    }
    contenders
}

/// Creates a contender whose values are sent and taken one at a time.
fn single<R: Ring>(name: &'static str, cores: Cores) -> Contender {
    Contender::fitted(name, move |ops| relay::single::<R>(cores, ops))
        .with("cores", cores.name)
        .with("sends", 1)
        .with("takes", 1)
}

/// Creates a contender whose values are sent one at a time, and taken as many at a time as there
/// are.
fn taken_together<R: Batches>(name: &'static str, cores: Cores) -> Contender {
    Contender::fitted(name, move |ops| relay::taken_together::<R>(cores, ops))
        .with("cores", cores.name)
        .with("sends", 1)
        .with("takes", "all")
}

/// Creates a contender whose values are sent and taken in place, up to `batch` at a time.
fn batched<R: Batches>(name: &'static str, cores: Cores, batch: usize) -> Contender {
    Contender::fitted(name, move |ops| relay::batched::<R>(cores, batch, ops))
        .with("cores", cores.name)
        .with("sends", batch)
        .with("takes", batch)
}
