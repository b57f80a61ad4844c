//! The part of a channel that does not depend on the type of its values.

use std::any::type_name;
use std::fmt;
use std::iter;
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
use crate::post::{Post, StageId, Wake};
use crate::quiet;

/// An id that belongs to no stage. It stands for the waker of a channel end that is used outside
/// the graph.
pub(super) const OUTSIDE: StageId = StageId::MAX;

/// One of the two ends of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The sender's end.
    Sender,
    /// The receiver's end.
    Receiver,
}

/// State of the condition that a channel end waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    /// The condition is not met.
    No,
    /// The condition is met.
    Yes,
    /// No more values can be taken or sent.
    Over,
}

/// A bell: a wake-up flag at one end of a channel. Ringing the bell makes the stage that uses this
/// end take a step.
#[derive(Debug, Default)]
struct Bell {
    /// True if the bell (the wake-up flag) was rung, and the stage has not reset it yet.
    rung: bool,
    /// The sleeping stage that must be woken when the bell (the wake-up flag) is rung next.
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

/// Number of counters for batch sizes. Counter `k` counts batches of `2^k` to `2^(k+1) - 1` values.
/// The last counter also counts all larger batches.
pub(super) const SIZES: usize = 32;

/// The part of a channel that does not depend on the type of its values. In arrays with two
/// entries, the sender's entry comes first.
pub(crate) struct Line {
    /// Index of the channel in its graph.
    pub(crate) id: u32,
    /// Short form of the graph's id, which [`short_of`] computes.
    pub(crate) short_graph: u16,
    /// Name that the user gave the channel, if any.
    pub(crate) name: Option<String>,
    /// Name of the type of the channel's values.
    pub(crate) message: &'static str,
    /// Number of slots of the channel.
    pub(crate) capacity: u64,
    /// Number of values in a batch, unless the user of an end chooses another size.
    pub(crate) batch: usize,
    /// True if the user has set the size of a batch to 1, so that no value waits for the next one.
    pub(crate) is_prompt: bool,
    /// True if the channel is marked as feedback. Written before the start.
    feedback: AtomicBool,
    /// True after the graph has closed the channel. The graph closes only feedback channels.
    /// Written by the thread that detects that the loop is over, and read by the users of both
    /// ends.
    cut: AtomicBool,
    /// Number of values that were sent to the channel.
    pub(crate) sent: Watch,
    /// Number of values that were taken from the channel.
    pub(crate) taken: Watch,
    /// Number of sent batches of each size. Written by the sender, read by monitors.
    batches: TallyReader<SIZES>,
    /// For the sending stage and for the receiving stage, the number of times that the stage went
    /// to sleep because of this channel. Each entry is written only by its stage, and read by
    /// monitors.
    stalls: [AtomicU64; 2],
    /// The stages that have used the two ends of the channel so far.
    users: Mutex<[Option<StageId>; 2]>,
    /// For each end, the id of the thread on which the end was used last, or 0 if the end was not
    /// used yet. Each entry is written by its own end, and read by the other end.
    threads: [AtomicU32; 2],
    /// The thread and core on which each of the two stages last went to sleep.
    rested: [LastPlace; 2],
    /// The bells (wake-up flags) of the two ends. Any thread may ring a bell. The stage that uses
    /// the end resets the bell.
    bells: [Mutex<Bell>; 2],
    /// Wakers of those ends that are used outside the graph. If an end has a waker, the waker is
    /// called instead of waking a stage. An end stores its waker before it registers to be woken,
    /// and the other end takes the waker.
    outside: [Mutex<Option<Waker>>; 2],
    /// The object that sends wake-ups to the stages.
    post: Arc<Post>,
}

/// Returns the short form of the id of a graph. A [`Wait`](crate::Wait) contains the short form,
/// because it needs less memory than the id. Two graphs have the same short form with a probability
/// of 1 in 65,536.
pub(crate) fn short_of(graph: u64) -> u16 {
    (graph % (1 << 16)) as u16
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
            short_graph: short_of(post.graph()),
            name: slots.name,
            message: type_name::<T>(),
            capacity: capacity as u64,
            batch: batch.clamp(1, capacity),
            is_prompt: slots.batch.is_some_and(|batch| batch <= 1),
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

    /// Returns the number of sent values minus the number of taken values. The result is 0 if the
    /// difference is negative, and at most the capacity. The two counters are a little behind the
    /// ring buffer: the receiver can take a value before the sender has counted it, and the sender
    /// can refill a slot before the receiver has counted the value that was in the slot.
    pub(crate) fn readable(&self) -> u64 {
        self.sent
            .count()
            .saturating_sub(self.taken.count())
            .min(self.capacity)
    }

    /// Checks whether the end on `side` can take `count` values, or fill `count` slots.
    #[inline]
    pub(crate) fn look(&self, side: Side, count: u64) -> Met {
        let met = match side {
            Side::Receiver => {
                // In this order: if the channel is closed, the values seen afterwards are the last
                // ones.
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

    /// Returns true if the end on the other side was dropped, or the graph has closed the channel.
    #[inline]
    pub(super) fn is_over_for(&self, side: Side) -> bool {
        let is_closed = match side {
            Side::Receiver => self.sent.is_closed(),
            Side::Sender => self.taken.is_closed(),
        };
        is_closed || self.is_cut()
    }

    /// Marks the channel as feedback.
    pub(crate) fn set_feedback(&self) {
        self.feedback.store(true, Relaxed);
    }

    /// Returns true if the channel is marked as feedback.
    pub(crate) fn is_feedback(&self) -> bool {
        self.feedback.load(Relaxed)
    }

    /// Returns true if the graph has closed the channel.
    #[inline]
    pub(crate) fn is_cut(&self) -> bool {
        // Acquire: pairs with the Release in `cut`; all values sent before the standstill are
        // visible.
        self.cut.load(Acquire)
    }

    /// Closes the channel at both ends, on behalf of the graph. After the call, the caller must
    /// wake the stages.
    pub(crate) fn cut(&self) {
        // Release: pairs with the Acquire in `is_cut`.
        self.cut.store(true, Release);
    }

    /// Returns the name of the channel in quotes, or its number if it has no name.
    pub(crate) fn label(&self) -> String {
        let name = self.name.as_ref();
        name.map_or(self.id.to_string(), |name| format!("\"{name}\""))
    }

    /// Returns the id of the channel's graph.
    pub(crate) fn graph(&self) -> u64 {
        self.post.graph()
    }

    /// Registers the stage `waiter`, which is on `side`. Each count is a number of values to take
    /// or of slots to fill. The stage is woken when the smallest count that is not reached yet is
    /// reached. If all counts are reached already, only the close of the channel wakes the stage.
    /// Replaces an earlier registration of the end, so pass all counts in one call. The caller must
    /// check the condition again after this call.
    ///
    /// The protocol has these steps:
    ///
    /// 1. The stage reads how far the other end has moved, and chooses the smallest target beyond
    ///    this position.
    /// 2. The stage stores this target in the gate.
    /// 3. The stage checks its conditions again.
    ///
    /// If the other end reaches the target between steps 1 and 2, it does not wake the stage, but
    /// the check in step 3 sees the new position. If the stage must wait nevertheless, because it
    /// needs another condition or a larger count, the stored target is already reached. So the next
    /// move of the other end wakes the stage, and the stage registers again. A later target cannot
    /// be reached without such a move.
    pub(crate) fn arm(&self, side: Side, counts: impl Iterator<Item = u64>, waiter: StageId) {
        let (moving, standing, free) = match side {
            Side::Receiver => (&self.sent, &self.taken, 0),
            // The number of free slots is `taken + capacity - sent`; a target below 0 is reached.
            Side::Sender => (&self.taken, &self.sent, self.capacity),
        };
        self.rested[side as usize].set_here();
        let (reached, standing) = (moving.count(), standing.count());
        let targets = counts.map(|count| (standing + count).saturating_sub(free));
        let next = targets.filter(|target| *target > reached).min();
        moving.arm(next.unwrap_or(CLOSE_ONLY), waiter);
    }

    /// Registers `waker` for an end that is used outside the graph. The waker is called when one
    /// value can be taken or one slot can be filled. Replaces the waker that was registered before.
    /// The caller must check the condition again after this call.
    pub(super) fn arm_outside(&self, side: Side, waker: Waker) {
        // Drop the earlier waker only after the lock is released: the destructor may run user code.
        let before = self.outside(side).replace(waker);
        self.arm(side, iter::once(1), OUTSIDE);
        quiet::drop(before);
    }

    /// Wakes `waiter`, which was registered on `side`. If `waiter` is [`OUTSIDE`], calls the stored
    /// waker of the end. A panic of this waker is caught, because the caller may be unwinding
    /// already.
    pub(super) fn wake(&self, side: Side, waiter: StageId) {
        if waiter != OUTSIDE {
            return self.post.wake(waiter);
        }
        let waker = self.outside(side).take();
        let _ = quiet::call(|| self.post.at_once(|| waker.map(Waker::wake)));
    }

    /// Locks the stored waker of the end on `side`. Meant for an end that is used outside the
    /// graph.
    fn outside(&self, side: Side) -> MutexGuard<'_, Option<Waker>> {
        locked(&self.outside[side as usize])
    }

    /// Makes the stage on `side` take a step, immediately or after its current step.
    pub(crate) fn ring(&self, side: Side) {
        #[cfg(feature = "sim")]
        self.post.note_thread();
        let waiter = {
            let mut bell = locked(&self.bells[side as usize]);
            bell.rung = true;
            bell.waiter.take()
        };
        if let Some(stage) = waiter {
            self.post.tell(stage, Wake::Ring);
        }
    }

    /// Returns true if the bell (the wake-up flag) on `side` was rung and has not been reset since.
    pub(crate) fn is_rung(&self, side: Side) -> bool {
        locked(&self.bells[side as usize]).rung
    }

    /// Resets the bell (the wake-up flag) on `side`, so that a later ring makes the stage take
    /// another step.
    pub(crate) fn answer(&self, side: Side) {
        *locked(&self.bells[side as usize]) = Bell::default();
    }

    /// Registers `stage`, which is on `side`, to be woken by the next ring of its bell (a wake-up
    /// flag). The caller must check the bell again after this call.
    pub(crate) fn arm_bell(&self, side: Side, stage: StageId) {
        locked(&self.bells[side as usize]).waiter = Some(stage);
    }

    /// Returns the thread and core on which the stage on `side` last went to sleep.
    pub(super) fn rested(&self, side: Side) -> &LastPlace {
        &self.rested[side as usize]
    }

    /// Returns the object that sends wake-ups to the stages.
    pub(super) fn post(&self) -> &Post {
        &self.post
    }

    /// Records that `stage` uses the end on `side`. Such a use can show that two stages are
    /// connected. If this connection was unknown and closes a cycle, `stage` fails after its step.
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

    /// Records that `stage` has declared the end on `side` before the start.
    pub(crate) fn is_told_of(&self, side: Side, stage: StageId) {
        locked(&self.users)[side as usize] = Some(stage);
    }

    /// Records that the end on `side` is used on the calling thread. Returns the id of the thread
    /// on which the other end was used last, if any.
    pub(super) fn meet(&self, side: Side) -> Option<u32> {
        // Relaxed, here and below: this only determines in which memory the values are stored.
        let (mine, here) = (&self.threads[side as usize], place::thread());
        if mine.load(Relaxed) != here {
            mine.store(here, Relaxed);
        }
        let other = self.threads[side.other() as usize].load(Relaxed);
        (other != 0).then_some(other)
    }

    /// Increments the number of times that the stage on `side` went to sleep because of this
    /// channel.
    pub(crate) fn stalled(&self, side: Side) {
        let stalls = &self.stalls[side as usize];
        // A load and a store, since only this stage writes the counter.
        stalls.store(stalls.load(Relaxed) + 1, Relaxed);
    }

    /// Returns how often the sending stage and the receiving stage went to sleep because of this
    /// channel.
    pub(crate) fn stalls(&self) -> [u64; 2] {
        [0, 1].map(|side: usize| self.stalls[side].load(Relaxed))
    }

    /// Returns the number of sent batches of each size, without trailing zeros.
    pub(crate) fn batches(&self) -> Vec<u64> {
        let counts = self.batches.values();
        let used = counts.iter().rposition(|count| *count > 0);
        counts[..used.map_or(0, |last| last + 1)].to_vec()
    }

    /// Returns the stages that have used the ends so far, the sending stage first.
    pub(crate) fn users(&self) -> [Option<StageId>; 2] {
        *locked(&self.users)
    }
}

impl Drop for Line {
    /// Drops the wakers that were never called. If the destructor of one waker panics, the other
    /// waker is still dropped.
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

/// Locks `mutex`, even if it is poisoned, because its contents are valid at any time.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
