//! Limits of one activation (run of a ready task): which messages it may handle, and how many.

use std::ptr;

use super::Worker;
use crate::cell::{CellPtr, Envelope, Kind};

/// Number of messages that an activation handles between two reads of the clock, while the worker
/// has timers.
const STRETCH: u32 = 32;

/// The part of the mailbox that the current activation may handle. An activation does not handle
/// messages that the task sends to itself during the activation, because otherwise other cells
/// could wait forever.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Envelope that was the last one in the mailbox when the activation began. Null after this
    /// envelope was handled.
    pub(crate) last: *mut Envelope,
    /// Number of free slots in the envelope `last` when the activation began.
    pub(crate) last_free: u32,
    /// Number of messages that the activation may still handle.
    pub(crate) left: u32,
    /// Number of messages that the activation may handle in total.
    pub(crate) max: u32,
}

impl Limits {
    pub(crate) const NONE: Self = Self {
        last: ptr::null_mut(),
        last_free: 0,
        left: 0,
        max: 0,
    };

    pub(crate) fn of(cell: CellPtr, worker: &Worker) -> Self {
        let max = worker.pace.messages_max();
        let last = cell.mailbox_tail();
        // SAFETY: in the local mailbox, hence ours.
        let last_free = unsafe { last.as_ref() }.map_or(0, Envelope::free);
        Self {
            last,
            last_free,
            left: max,
            max,
        }
    }
}

impl Worker {
    /// Returns how many messages of the oldest envelope the activation handles next, at most `max`.
    pub(crate) fn take_share(&self, envelope: &Envelope, max: u32) -> u32 {
        let mut limits = self.limits.get();
        // Every activation handles at least one message: other workers may stay idle for longer
        // than there are cells to give.
        let may_end = limits.left < limits.max;
        if limits.last.is_null()
            || may_end && (self.is_wanted_elsewhere() || self.keeps_timers_waiting(limits))
        {
            return 0;
        }
        let is_last = ptr::eq(limits.last, envelope);
        let end = if is_last {
            limits.last_free
        } else {
            envelope.free()
        };
        let unread = match envelope.kind() {
            // A nudge counts as one message, or a task that nudges itself would keep all others
            // waiting.
            Kind::Nudge => 1,
            _ => u32::from(envelope.read()) - end,
        };
        let mut count = unread.min(limits.left).min(max);
        if !self.timers.are_calm() {
            count = count.min(STRETCH);
        }
        limits.left -= count;
        if limits.left == 0 || is_last && count == unread {
            limits.last = ptr::null_mut();
        }
        self.limits.set(limits);
        count
    }

    /// Returns true if the current activation has handled a multiple of [`STRETCH`] messages and
    /// has lasted so long that timers might be late.
    fn keeps_timers_waiting(&self, limits: Limits) -> bool {
        let handled = limits.max - limits.left;
        handled >= STRETCH && !self.timers.are_calm() && self.timers.are_neglected_at(self.now())
    }
}
