//! Channels: a ring, and a gate at each end that says how far the other is.
//!
//! ```text
//!   Sender   -- ring::Producer ==== slots ====> ring::Consumer --   Receiver
//!      |                                                               |
//!      +-- moves the gate `sent`  ------- watched by the receiver -----+
//!      +-- watches the gate `taken` ------- moved by the receiver -----+
//! ```
//!
//! The gates count what the rings publish, once a batch. They carry no type, so that a stage that rests can
//! look at any of its channels; they are the channel's counters as well. Whether a channel is closed is the
//! gates' word too: an end closes its gate after its last batch, so who sees the one sees the other.
//!
//! A stage that waits on another core is woken at once, and works beside the one that woke it. One that rested
//! on the same core would only push that one aside, after a batch, to be pushed aside in turn; with small
//! channels most of the time then goes into changing threads. So its wake-up is held back until the stage
//! that owes it rests or ends, by when the channel is full or empty, or has taken a few more steps
//! ([`Post::settle`]). Which core that is is a guess; a wrong one makes a wake-up late by these steps.

mod guard;
mod map;
mod moving;
mod receiver;
mod sender;
mod slots;

use std::any::type_name;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use garrick_core::count::{Tally, TallyReader};
use garrick_core::gate::{self, Mover, Watch};
use garrick_core::ring::{self, CapacityError};

use crate::place::{LastPlace, Place};
use crate::post::{self, Post, StageId};

pub use guard::{Peek, Poke};
pub use map::{map_batch, map_batch_owned};
pub use receiver::Receiver;
pub use sender::Sender;
pub use slots::Slots;

/// What a batch takes of the second-level cache at most, unless the user has it otherwise. A stage touches
/// two batches, its input and its output, and some cores have no more than 256 KiB.
pub(crate) const BATCH_BYTES_MAX: usize = 64 * 1024;

/// Counts of batches: those of `2^k` to `2^(k+1) - 1` values at `k`, and all larger ones at the last.
const SIZES: usize = 32;

/// A channel as those see it who do not know its type.
pub(crate) struct Line {
    /// Its number in the graph.
    pub(crate) id: u32,
    /// What the user calls it, if anything.
    pub(crate) name: Option<String>,
    /// The type of its values.
    pub(crate) message: &'static str,
    /// How many slots it has.
    pub(crate) capacity: u64,
    /// How many values a batch has, unless the user of an end has it otherwise.
    pub(crate) batch: usize,
    /// How many values were sent.
    pub(crate) sent: Watch,
    /// How many of them were taken.
    pub(crate) taken: Watch,
    /// How many batches of each size were sent. Written by the sender, read by whoever wants to know.
    batches: TallyReader<SIZES>,
    /// How often the stages that use its ends rested because of it, the sending one first. Each is written by
    /// that one stage alone, and read by whoever wants to know.
    stalls: [AtomicU64; 2],
    /// The stages that were seen using its ends, the sending one first.
    users: Mutex<[Option<StageId>; 2]>,
    /// Where the stages that use its ends rested last, the sending one first.
    rested: [LastPlace; 2],
    /// Knows whom to wake.
    post: Arc<Post>,
}

impl Line {
    /// How many values can be taken, by the gates. The rings are a little ahead of them: a value can be
    /// taken before its sender has counted it, and its slot filled again before its receiver has.
    pub(crate) fn readable(&self) -> u64 {
        self.sent
            .count()
            .saturating_sub(self.taken.count())
            .min(self.capacity)
    }

    /// Takes note that the stage on `side`, 0 for the sending one and 1 for the other, is about to rest.
    pub(crate) fn rests_here(&self, side: usize) {
        self.rested[side].set_here();
    }

    /// Counts that the stage on `side` rests because of this channel.
    pub(crate) fn stalled(&self, side: usize) {
        let stalls = &self.stalls[side];
        // Two steps, since nobody else writes it.
        stalls.store(stalls.load(Relaxed) + 1, Relaxed);
    }

    /// How often the stages that use its ends rested because of it, the sending one first.
    pub(crate) fn stalls(&self) -> [u64; 2] {
        [0, 1].map(|side: usize| self.stalls[side].load(Relaxed))
    }

    /// How many batches of each size were sent, without the zeros at the end.
    pub(crate) fn batches(&self) -> Vec<u64> {
        let counts = self.batches.values();
        let used = counts.iter().rposition(|count| *count > 0);
        counts[..used.map_or(0, |last| last + 1)].to_vec()
    }

    /// The stages that were seen using its ends, the sending one first.
    pub(crate) fn users(&self) -> [Option<StageId>; 2] {
        *self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("id", &self.id)
            .field("capacity", &self.capacity)
            .field("sent", &self.sent)
            .field("taken", &self.taken)
            .finish_non_exhaustive()
    }
}

/// A new channel.
pub(crate) struct Ends<T> {
    pub(crate) sender: Sender<T>,
    pub(crate) receiver: Receiver<T>,
    pub(crate) line: Arc<Line>,
}

/// Makes channel number `id` of a graph.
pub(crate) fn new<T>(id: u32, slots: Slots, post: &Arc<Post>) -> Result<Ends<T>, CapacityError> {
    let (producer, consumer) = ring::try_channel(slots.capacity)?;
    let capacity = producer.capacity();
    let ((sent_mover, sent), (taken_mover, taken)) = (gate::new(), gate::new());
    let batches = Tally::new();
    let batch = slots.batch.unwrap_or_else(|| batch_for::<T>(capacity));
    let line = Arc::new(Line {
        id,
        name: slots.name,
        message: type_name::<T>(),
        capacity: capacity as u64,
        batch: batch.clamp(1, capacity),
        sent,
        taken,
        batches: batches.reader(),
        stalls: Default::default(),
        users: Mutex::default(),
        rested: Default::default(),
        post: Arc::clone(post),
    });
    let sender = Sender::new(producer, Link::new(&line, sent_mover, Some(batches)));
    let receiver = Receiver::new(consumer, Link::new(&line, taken_mover, None));
    Ok(Ends {
        sender,
        receiver,
        line,
    })
}

/// Half of the channel, so that both ends have something to do, but no more than stays in the cache.
fn batch_for<T>(capacity: usize) -> usize {
    (capacity / 2).min(BATCH_BYTES_MAX / size_of::<T>().max(1))
}

/// An end's side of the gates.
struct Link {
    /// The channel that the end belongs to.
    line: Arc<Line>,
    /// The gate that this end moves.
    mover: Mover,
    /// The position of the ring's half up to which the gate has been moved.
    seen: usize,
    /// Counts the batches, if this is the sender's end.
    batches: Option<Tally<SIZES>>,
    /// Which of the line's users this end's is: 0 for the sender's, 1 for the receiver's.
    side: usize,
    /// Whether that user is known.
    known: bool,
}

impl Link {
    /// The sender's side if it has `batches` to count, else the receiver's.
    fn new(line: &Arc<Line>, mover: Mover, batches: Option<Tally<SIZES>>) -> Self {
        Self {
            line: Arc::clone(line),
            mover,
            seen: 0,
            side: usize::from(batches.is_none()),
            batches,
            known: false,
        }
    }

    /// The ring's half is at `position` now: moves the gate as far, and wakes who waited for that.
    #[inline]
    fn move_to(&mut self, position: usize) {
        let by = position.wrapping_sub(self.seen);
        if by > 0 {
            self.move_by(by);
        }
    }

    /// The ring's half has moved by `by`.
    #[inline]
    fn move_by(&mut self, by: usize) {
        self.seen = self.seen.wrapping_add(by);
        if let Some(batches) = &mut self.batches {
            batches.add((by.max(1).ilog2() as usize).min(SIZES - 1), 1);
        }
        if let Some(waiter) = self.mover.advance(by as u64) {
            self.wake(waiter);
        }
        if !self.known {
            self.learn_user();
        }
    }

    /// Wakes a stage at once if it can run beside us. If it rested on this very core it cannot, and would only
    /// take our place: then it is woken when this thread has nothing more to do.
    #[cold]
    fn wake(&self, waiter: StageId) {
        let rested = self.line.rested[1 - self.side].get();
        match post::current() {
            Some(stage) if rested.competes_with(Place::here()) => {
                self.line.post.wake_later(stage, waiter);
            }
            _ => self.line.post.wake(waiter),
        }
    }

    /// Closes the gate; the ring's half was at `position` last.
    fn close(&mut self, position: usize) {
        self.move_to(position);
        if let Some(waiter) = self.mover.close() {
            self.line.post.wake(waiter);
        }
        self.learn_user();
    }

    #[cold]
    fn learn_user(&mut self) {
        if let Some(stage) = post::current() {
            self.known = true;
            self.line
                .users
                .lock()
                .unwrap_or_else(PoisonError::into_inner)[self.side] = Some(stage);
        }
    }
}
