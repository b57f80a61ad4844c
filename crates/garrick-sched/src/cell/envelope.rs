//! Envelopes: memory blocks that carry one or more messages to one cell (task).
//!
//! An envelope holds messages of one type side by side. So one block carries all messages that a
//! turn sends to one cell of another worker. A cell that gets many messages from its own worker
//! reads them from contiguous memory. One thread writes an envelope and pushes it to an inbox.
//! After that, only the owner of the cell reads it. The exception is a visitor: another thread that
//! handles messages of the owner's cells while the owner is in a long turn
//! (`runtime/sponsor/README.md`, rescue). A visitor reads messages while the owner appends others.

use std::fmt;
use std::mem::size_of;
use std::ptr;

use garrick_core::prim::UnsafeCell;
use garrick_core::prim::unmodelled::{AtomicPtr, AtomicU32, Relaxed};

use super::header::CellPtr;

/// The purpose of an envelope: its content, or the request that it makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Messages for the task.
    Messages,
    /// Reports a dropped reference to the cell. The owner subtracts the reference from the local
    /// count (`cell/README.md`, step 6).
    Release,
    /// Requests an activation in which the task need not handle a message.
    Wake,
    /// Requests that the owner stop the task once all earlier messages are handled.
    Stop,
    /// Requests a turn in which the task handles no message (a nudge). The request waits in order
    /// with the messages.
    Nudge,
    /// Contains a watcher to notify when the task has ended, or a request for the state of the
    /// task.
    Watch,
    /// Contains the trail (trace context) of the message in the next envelope. Does not count as a
    /// message.
    Trail,
    /// Requests that the owner give the cell to another sponsor (group of workers) before later
    /// messages are handled.
    Move,
}

/// The header of a block that contains messages. The messages come after the header.
///
/// Only the thread that owns the envelope writes the fields. During a long turn of this thread,
/// another thread (a visitor) may read the two atomic fields of envelopes in mailboxes, even while
/// the owner appends messages. To notice that messages were appended, the visitor compares the
/// cell's state word before and after its reads (`Header::snapshot`). Loom models do not check
/// these two fields.
#[repr(C, align(16))]
pub(crate) struct Envelope {
    /// In an inbox: the envelope that was pushed before this one. In a mailbox: the next envelope
    /// to read.
    next: AtomicPtr<Envelope>,
    /// Link in the ready stack of the worker that owns the cell, while this envelope carries the
    /// cell's token (the right to notify this worker). In a local mailbox, no envelope carries a
    /// token, and this field contains the [origin](Self::origin) instead.
    ready_next: UnsafeCell<*mut Envelope>,
    /// Cell whose token (the right to notify the cell's owner) this envelope carries.
    token_of: UnsafeCell<Option<CellPtr>>,
    /// Number of free slots. The slots are filled from the highest down. So the next slot to write
    /// is `free - 1`, the envelope is full at 0, and its capacity need not be stored. The field has
    /// 32 bits because a store followed by a load takes 0.3 ns on a Zen 3 with 32 bits, and 2 ns
    /// with 16 bits.
    free: AtomicU32,
    /// The slots `free..read` contain the unread messages. The highest slot has the oldest message.
    read: UnsafeCell<u16>,
    /// Size class of the envelope's block in the memory pool.
    class: u8,
    kind: Kind,
}

macro_rules! field {
    ($get:ident, $set:ident, $field:ident: $type:ty) => {
        #[inline]
        pub(crate) fn $get(&self) -> $type {
            // SAFETY: plain field; only the thread that holds the envelope uses it.
            self.$field.with(|field| unsafe { *field })
        }

        #[inline]
        pub(crate) fn $set(&self, value: $type) {
            // SAFETY: as above.
            self.$field.with_mut(|field| unsafe { *field = value });
        }
    };
}

impl Envelope {
    /// Number of bytes from the beginning of the block to the first message.
    pub(crate) const HEADER_BYTES: usize = size_of::<Self>();

    /// Creates the header of an empty envelope, for a block of class `class` with room for
    /// `capacity` messages.
    pub(crate) fn new(kind: Kind, class: u8, capacity: u16) -> Self {
        Self {
            next: AtomicPtr::default(),
            ready_next: UnsafeCell::new(std::ptr::null_mut()),
            token_of: UnsafeCell::new(None),
            free: AtomicU32::new(u32::from(capacity)),
            read: UnsafeCell::new(capacity),
            class,
            kind,
        }
    }

    field!(ready_next, set_ready_next, ready_next: *mut Envelope);
    field!(token_of, set_token_of, token_of: Option<CellPtr>);
    field!(read, set_read, read: u16);

    /// Returns the origin of an envelope in a local mailbox: the base of its message numbers. The
    /// messages of a mailbox are numbered in their order, and the message in slot `s` has the
    /// number `origin - 1 - s`. So the number of messages between two envelopes can be computed
    /// without reading the envelopes between them.
    #[inline]
    pub(crate) fn origin(&self) -> usize {
        self.ready_next().addr()
    }

    /// Sets the origin (the base of the message numbers) so that the oldest unread message of the
    /// envelope has the number `first`.
    #[inline]
    pub(crate) fn begin_at(&self, first: usize) {
        let origin = first.wrapping_add(usize::from(self.read()));
        self.set_ready_next(ptr::without_provenance_mut(origin));
    }

    /// Returns the sequence number of the oldest unread message. If all messages have been read,
    /// returns [`Envelope::end`].
    #[inline]
    pub(crate) fn first_unread(&self) -> usize {
        self.origin().wrapping_sub(usize::from(self.read()))
    }

    /// Returns the sequence number of the message that comes directly after the messages of this
    /// envelope in the mailbox.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        self.origin().wrapping_sub(self.free() as usize)
    }

    #[inline]
    pub(crate) fn next(&self) -> *mut Self {
        self.next.load(Relaxed)
    }

    #[inline]
    pub(crate) fn set_next(&self, next: *mut Self) {
        self.next.store(next, Relaxed);
    }

    #[inline]
    pub(crate) fn free(&self) -> u32 {
        self.free.load(Relaxed)
    }

    #[inline]
    pub(crate) fn set_free(&self, free: u32) {
        self.free.store(free, Relaxed);
    }

    #[inline]
    pub(crate) fn class(&self) -> u8 {
        self.class
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }
}

impl Envelope {
    #[inline]
    pub(crate) fn unread(&self) -> u32 {
        u32::from(self.read()) - self.free()
    }

    /// Returns true if the envelope contains messages that were not read. A note (an envelope that
    /// makes a request) contains none.
    #[inline]
    pub(crate) fn has_messages(&self) -> bool {
        self.kind() == Kind::Messages && self.unread() > 0
    }
}

impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope").finish_non_exhaustive()
    }
}
