//! Counts the values that one end of a channel has sent or taken, and wakes the stage that waits
//! for this count.

use std::sync::Arc;

use garrick_core::count::Tally;
use garrick_core::gate::Mover;

use super::line::{Line, OUTSIDE, SIZES, Side};
use crate::place::{self, Place};
use crate::post::StageId;

/// The part of a channel end that counts sent or taken values in a gate (a counter on which a stage
/// can wait), and wakes the stage that waits for this count.
pub(super) struct Link {
    /// The channel that the end belongs to.
    pub(super) line: Arc<Line>,
    /// The counter of the channel (the gate) in which this end counts the values that it has sent
    /// or taken.
    pub(super) mover: Mover,
    /// Position in the ring buffer up to which the values have been counted in the channel's
    /// counter (the gate).
    seen: usize,
    /// Counter of the sent batches, if this is the sender's end.
    batches: Option<Tally<SIZES>>,
    /// Tells if this end is the sender's end or the receiver's end.
    pub(super) side: Side,
    /// True if the channel knows which stage uses this end.
    known: bool,
    /// True if it is known on which thread the other end is used.
    met: bool,
    /// True if the other end is used on another thread, and the ring still uses only the smaller
    /// part of its memory. The next send then lets the ring use all of its memory (`area.rs`).
    pub(super) spread_due: bool,
}

impl Link {
    pub(super) fn new(
        line: &Arc<Line>,
        side: Side,
        mover: Mover,
        batches: Option<Tally<SIZES>>,
    ) -> Self {
        Self {
            line: Arc::clone(line),
            mover,
            seen: 0,
            side,
            batches,
            known: false,
            met: false,
            spread_due: false,
        }
    }

    /// Updates the gate (the counter that the other end checks), so that the gate counts all values
    /// before `position`, the current position of this end in the ring buffer. Wakes a stage that
    /// waits for the new count.
    #[inline]
    pub(super) fn move_to(&mut self, position: usize) {
        let by = position.wrapping_sub(self.seen);
        if by > 0 {
            self.move_by(by);
        }
    }

    /// Adds `by`, the number of values that this end has just sent or taken, to the gate (the
    /// counter that the other end checks). Wakes a stage that waits for the new count.
    #[inline]
    pub(super) fn move_by(&mut self, by: usize) {
        self.seen = self.seen.wrapping_add(by);
        if let Some(batches) = &mut self.batches {
            batches.add((by.max(1).ilog2() as usize).min(SIZES - 1), 1);
        }
        if let Some(waiter) = self.mover.advance(by as u64) {
            self.wake(waiter);
        }
        if !(self.known && self.met) {
            self.learn();
        }
    }

    /// Wakes `waiter`, which is a stage or [`OUTSIDE`]. The wake-up of a stage is delayed if this
    /// thread runs a stage of the same graph, and `waiter` went to sleep on another thread of the
    /// same core. In this case, `waiter` could run only in place of this thread.
    /// [`Post::settle`](crate::post::Post::settle) sends delayed wake-ups.
    #[cold]
    fn wake(&self, waiter: StageId) {
        let side = self.side.other();
        let rested = self.line.rested(side).get();
        match self.line.post().current() {
            Some(stage) if waiter != OUTSIDE && rested.competes_with(Place::here()) => {
                self.line.post().wake_later(stage, waiter);
            }
            _ => self.line.wake(side, waiter),
        }
    }

    /// Updates the gate (the counter that the other end checks), so that the gate counts all values
    /// before `position`, the final position of this end in the ring buffer. Then closes the gate.
    pub(super) fn close(&mut self, position: usize) {
        self.move_to(position);
        if let Some(waiter) = self.mover.close() {
            self.line.wake(self.side.other(), waiter);
        }
        self.learn();
    }

    /// Records which stage uses this end, and which thread uses the other end.
    #[cold]
    fn learn(&mut self) {
        if !self.known
            && let Some(stage) = self.line.post().current()
        {
            self.known = true;
            self.line.is_used_by(self.side, stage);
            // Until now, code outside the stages may have used this end, on any thread.
            self.met = false;
        }
        if !self.met
            && let Some(thread) = self.line.meet(self.side)
        {
            self.met = true;
            self.spread_due = thread != place::thread();
        }
    }
}
