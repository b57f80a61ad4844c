//! Ring buffers between two threads, one of which sends and one of which receives: Garrick's ring,
//! the rings of other libraries, and a bare cache line for comparison.
//!
//! ```text
//!   sender on one core                        receiver on another
//!   0, 1, 2, ..  --->  [ ][ ][4][3][2][ ]  --->  checks the order, and adds them up
//!                       at most 4096 wait
//! ```
//!
//! Each ring is used as its documentation recommends for speed: a batch is written into the memory
//! of the ring, and read from there. If a ring lacks an operation, there is no row for it.
//!
//! | | one at a time | in place |
//! | --- | --- | --- |
//! | garrick | `try_push`, `try_pop` | `produce_batch`, `consume_batch` |
//! | rtrb | `push`, `pop` | `write_chunk_uninit` with `fill_from_iter`, `read_chunk` |
//! | ringbuf | `try_push`, `try_pop` | `push_iter`, `as_slices` with `skip` |
//! | disruptor | `try_publish`, `take(1)` of a poller | `try_batch_publish`, `take(n)` |
//! | omango | `try_send`, `try_recv` | |
//!
//! `rtrb` and `disruptor` send only whole batches: they write nothing until there is room for the
//! whole batch. Garrick's ring and `ringbuf` do the same here, although they can also send parts of
//! a batch. Garrick's ring is measured with whole batches, and also with parts of batches.

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
    operation: "one number of 8 bytes through a ring of 4096 slots from one thread to another, \
                which checks the order of the numbers and adds them up; numbers are sent and taken \
                one at a time, or in place in batches of up to the given numbers (sends, takes; \
                'all': all available numbers); batches are sent only whole, or with room=any as \
                far as there is room; the two threads are pinned to cores that share the \
                last-level cache (near), to two hardware threads of one core (siblings), or to \
                cores that share no cache (far); line: one cache line is transferred from one \
                thread to the other",
    contenders,
};

/// Number of slots of each ring.
const SLOTS: usize = 4096;

/// Measured batch sizes: how many values are written or read in place together.
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

/// Creates a contender whose values are sent one at a time. The receiver takes all available values
/// at once.
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
