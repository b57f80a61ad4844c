//! Limits of one activation.

use std::ptr;

use super::Worker;
use crate::cell::{CellPtr, Envelope};

/// The part of the mailbox that the current activation may handle. An activation does not handle
/// the messages that the task sends to itself during the activation. Otherwise all other cells
/// might wait forever.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Last envelope of the mailbox when the activation began. Null once it is handled.
    pub(crate) last: *mut Envelope,
    /// Number of free slots of this envelope at that time.
    pub(crate) last_free: u32,
    /// Number of messages that may still be handled.
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
