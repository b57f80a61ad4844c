//! A channel as those see it who do not know the type of its values.

use std::any::type_name;
use std::fmt;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use garrick_core::count::TallyReader;
use garrick_core::gate::{CLOSE_ONLY, Watch};

use super::Slots;
use super::batch::batch_for;
use crate::place::{self, LastPlace};
use crate::post::{Post, StageId};
use crate::quiet;

/// Who is to be woken if it is not a stage of the graph: the waker that was left with the line.
pub(super) const OUTSIDE: StageId = StageId::MAX;

/// Which end of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The sender's.
    Sender,
    /// The receiver's.
    Receiver,
}

/// How what an end waits for stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    /// It is not there.
    No,
    /// It is there.
    Yes,
    /// Nothing can be taken or sent any more.
    Over,
}

/// A bell at an end of a channel: whoever rings it makes the stage that has this end take a step.
#[derive(Debug, Default)]
struct Bell {
    /// Whether it was rung and the stage has not come yet.
    rung: bool,
    /// Who rests and is to be woken.
    waiter: Option<StageId>,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// Counts of batches: those of `2^k` to `2^(k+1) - 1` values at `k`, and all larger ones at the last.
pub(super) const SIZES: usize = 32;

/// A channel as those see it who do not know the type of its values. Of what there is two of, the sender's is first.
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
    /// Whether it is meant to lead back. Written before the start.
    feedback: AtomicBool,
    /// Whether the graph has closed it, which it does to feedback only. Written by whoever finds its loop at its end, read
    /// by the users of both ends.
    cut: AtomicBool,
    /// How many values were sent.
    pub(crate) sent: Watch,
    /// How many of them were taken.
    pub(crate) taken: Watch,
    /// How many batches of each size were sent. Written by the sender, read by whoever wants to know.
    batches: TallyReader<SIZES>,
    /// How often the stages that use its ends rested because of it, the sending one first. Each is written by
    /// that one stage alone, and read by whoever wants to know.
    stalls: [AtomicU64; 2],
    /// The stages that were seen using its ends.
    users: Mutex<[Option<StageId>; 2]>,
    /// The threads that its ends were used on when their users were looked for last; 0 is none. Each is written by that end, and
    /// read by the other.
    threads: [AtomicU32; 2],
    /// Where the stages that use its ends rested last.
    rested: [LastPlace; 2],
    /// The bells at its ends. Rung by anyone, answered by the stages that use the ends.
    bells: [Mutex<Bell>; 2],
    /// Whom to wake in place of a stage, where an end is used outside of the graph. Left by that end before it
    /// asks the gate, taken by the other one.
    outside: [Mutex<Option<Waker>>; 2],
    /// Knows whom to wake.
    post: Arc<Post>,
}

impl Line {
    pub(super) fn new<T>(
        id: u32,
        slots: Slots,
        capacity: usize,
        [sent, taken]: [Watch; 2],
        batches: TallyReader<SIZES>,
        post: Arc<Post>,
    ) -> Self {
        let batch = slots.batch.unwrap_or_else(|| batch_for::<T>(capacity));
        Self {
            id,
            name: slots.name,
            message: type_name::<T>(),
            capacity: capacity as u64,
            batch: batch.clamp(1, capacity),
            feedback: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            sent,
            taken,
            batches,
            stalls: Default::default(),
            users: Mutex::default(),
            threads: Default::default(),
            rested: Default::default(),
            bells: Default::default(),
            outside: Default::default(),
            post,
        }
    }

    /// How many values can be taken, by the gates. The rings are a little ahead of them: a value can be
    /// taken before its sender has counted it, and its slot filled again before its receiver has.
    pub(crate) fn readable(&self) -> u64 {
        self.sent
            .count()
            .saturating_sub(self.taken.count())
            .min(self.capacity)
    }

    /// Whether `count` values can be taken, or slots filled, by whoever is on `side`.
    #[inline]
    pub(crate) fn look(&self, side: Side, count: u64) -> Met {
        let met = match side {
            Side::Receiver => {
                // In this order: if it is closed, the values seen afterwards are the last ones.
                let closed = self.is_over_for(Side::Receiver);
                let readable = self.readable();
                if closed && readable == 0 {
                    return Met::Over;
                }
                closed || readable >= count
            }
            Side::Sender => {
                if self.is_over_for(Side::Sender) {
                    return Met::Over;
                }
                self.capacity - self.readable() >= count
            }
        };
        if met { Met::Yes } else { Met::No }
    }

    /// Whether the end on the other side of `side` is gone, or the graph has closed the channel.
    #[inline]
    pub(super) fn is_over_for(&self, side: Side) -> bool {
        let is_closed = match side {
            Side::Receiver => self.sent.is_closed(),
            Side::Sender => self.taken.is_closed(),
        };
        is_closed || self.is_cut()
    }

    /// Takes note that it is meant to lead back.
    pub(crate) fn set_feedback(&self) {
        self.feedback.store(true, Relaxed);
    }

    /// Whether it is meant to lead back.
    pub(crate) fn is_feedback(&self) -> bool {
        self.feedback.load(Relaxed)
    }

    /// Whether the graph has closed it.
    #[inline]
    pub(crate) fn is_cut(&self) -> bool {
        // Acquire: pairs with the Release in `cut`; what was sent before the loop stood still is seen.
        self.cut.load(Acquire)
    }

    /// Closes it at both ends, for the graph. The stages are to be woken afterwards.
    pub(crate) fn cut(&self) {
        // Release: pairs with the Acquire in `is_cut`.
        self.cut.store(true, Release);
    }

    /// The number of its graph.
    pub(crate) fn graph(&self) -> u64 {
        self.post.graph()
    }

    /// Asks that `waiter`, who is on `side`, be woken when `count` values can be taken, or slots filled. Look
    /// once more afterwards.
    pub(crate) fn arm(&self, side: Side, count: u64, waiter: StageId) {
        let (moving, target) = match side {
            Side::Receiver => (&self.sent, self.taken.count() + count),
            // What is free is `taken + capacity - sent`; a target below 0 is reached.
            Side::Sender => (
                &self.taken,
                (self.sent.count() + count).saturating_sub(self.capacity),
            ),
        };
        self.rested[side as usize].set_here();
        // What is reached already need not wake us again, only its close.
        let reached = moving.count() >= target;
        moving.arm(if reached { CLOSE_ONLY } else { target }, waiter);
    }

    /// As [`arm`](Self::arm) for one value or slot, but for who is no stage: `waker` is woken, in place of one
    /// that was left before.
    pub(super) fn arm_outside(&self, side: Side, waker: Waker) {
        // What was left before goes when the lock is free again: it may be the last of something.
        let before = self.outside(side).replace(waker);
        self.arm(side, 1, OUTSIDE);
        quiet::drop(before);
    }

    /// Wakes `waiter`, who was armed on `side`. What a waker does is not our user's business, who may be unwinding.
    pub(super) fn wake(&self, side: Side, waiter: StageId) {
        if waiter != OUTSIDE {
            return self.post.wake(waiter);
        }
        let waker = self.outside(side).take();
        let _ = quiet::call(|| waker.map(Waker::wake));
    }

    /// Who is to be woken if [`OUTSIDE`] is, on `side`.
    fn outside(&self, side: Side) -> MutexGuard<'_, Option<Waker>> {
        locked(&self.outside[side as usize])
    }

    /// Makes the stage on `side` take a step: now, or when the one under way is over.
    pub(crate) fn ring(&self, side: Side) {
        let waiter = {
            let mut bell = locked(&self.bells[side as usize]);
            bell.rung = true;
            bell.waiter.take()
        };
        if let Some(stage) = waiter {
            self.post.wake(stage);
        }
    }

    /// Whether somebody has rung since the bell on `side` was answered.
    pub(crate) fn is_rung(&self, side: Side) -> bool {
        locked(&self.bells[side as usize]).rung
    }

    /// The stage on `side` has come: what rings from now on is news.
    pub(crate) fn answer(&self, side: Side) {
        *locked(&self.bells[side as usize]) = Bell::default();
    }

    /// Asks that `stage`, which is on `side`, be woken when somebody rings. Look once more afterwards.
    pub(crate) fn arm_bell(&self, side: Side, stage: StageId) {
        locked(&self.bells[side as usize]).waiter = Some(stage);
    }

    /// Where the stage on `side` rested last.
    pub(super) fn rested(&self, side: Side) -> &LastPlace {
        &self.rested[side as usize]
    }

    /// Whom wake-ups go through.
    pub(super) fn post(&self) -> &Post {
        &self.post
    }

    /// Takes note that `stage` uses the end on `side`. If nobody knew, and that closes a cycle, the stage is refused.
    pub(super) fn is_used_by(&self, side: Side, stage: StageId) {
        let mut users = locked(&self.users);
        let before = users[side as usize].replace(stage);
        if let (false, [Some(from), Some(to)]) =
            (self.is_feedback() || before == Some(stage), *users)
        {
            drop(users);
            self.post.join(stage, from, to);
        }
    }

    /// Takes note that `stage` has said before the start that it has the end on `side`.
    pub(crate) fn is_told_of(&self, side: Side, stage: StageId) {
        locked(&self.users)[side as usize] = Some(stage);
    }

    /// Takes note that the end on `side` is used on the calling thread; says which thread the other one was seen on, if
    /// on any.
    pub(super) fn meet(&self, side: Side) -> Option<u32> {
        // Relaxed, here and below: all that follows from it is in which memory the values lie.
        let (mine, here) = (&self.threads[side as usize], place::thread());
        if mine.load(Relaxed) != here {
            mine.store(here, Relaxed);
        }
        let other = self.threads[side.other() as usize].load(Relaxed);
        (other != 0).then_some(other)
    }

    /// Counts that the stage on `side` rests because of this channel.
    pub(crate) fn stalled(&self, side: Side) {
        let stalls = &self.stalls[side as usize];
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
        *locked(&self.users)
    }
}

impl Drop for Line {
    /// Lets go of the wakers that nobody has called: whatever the destructor of one does, the other one is dropped.
    fn drop(&mut self) {
        for side in [Side::Sender, Side::Receiver] {
            let waker = self.outside(side).take();
            quiet::drop(waker);
        }
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

/// A lock that does not mind a panic elsewhere: what it holds is whole at any time.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
