//! Envelopes: blocks that carry one or more messages to one cell.
//!
//! An envelope holds messages of one type side by side. So the messages of a turn to one foreign
//! cell travel as one block, and a flood to a local cell is a walk over memory. An envelope is
//! written by one thread and pushed on an inbox. From then on it is read by the cell's owner alone,
//! or by a visitor (`runtime/sponsor/README.md`, rescue), which reads messages while the owner
//! appends others.

use std::fmt;
use std::mem::size_of;

use garrick_core::prim::UnsafeCell;
use garrick_core::prim::unmodelled::{AtomicPtr, AtomicU32, Relaxed};

use super::header::CellPtr;

/// The purpose of an envelope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Messages for the task.
    Messages,
    /// Gives one reference back to the owner that had counted it (README, step 6).
    Release,
    /// Asks for an activation without a message.
    Wake,
    /// Asks the owner to stop the task once all earlier messages are handled.
    Stop,
    /// Asks for a turn of the task without a message, in its place among the messages.
    Nudge,
    /// Brings a watcher that is to be notified when the task ends.
    Watch,
    /// Asks the owner to give the cell to another sponsor before it handles later messages.
    Move,
}

/// The header of one block. The messages follow it.
///
/// The thread that owns the envelope writes the fields. The two atomics are also read by a visitor
/// while the owner of the mailbox appends to it. They are not modelled: the state word of the cell
/// shows whether the reading is consistent (`CellPtr::snapshot`).
#[repr(C, align(16))]
pub(crate) struct Envelope {
    /// The envelope pushed before this one (in an inbox), or the next one to read (in a mailbox).
    next: AtomicPtr<Envelope>,
    /// The link of the home's ready stack, for the envelope that carries a cell's token.
    ready_next: UnsafeCell<*mut Envelope>,
    /// The cell whose token this envelope carries.
    token_of: UnsafeCell<Option<CellPtr>>,
    /// Number of free slots. Slots fill from the highest down, so 0 is full, the slot to write next
    /// is `free - 1`, and no capacity need be kept. The field is 32 bits wide because a store and a
    /// load of 16 bits right after each other cost 2 ns on a Zen 3, of 32 bits 0.3.
    free: AtomicU32,
    /// The slots `free..read` hold messages, the oldest in the highest.
    read: UnsafeCell<u16>,
    /// Pool class of the block.
    class: u8,
    kind: Kind,
}

macro_rules! field {
    ($get:ident, $set:ident, $field:ident: $type:ty) => {
        #[inline]
        pub(crate) fn $get(&self) -> $type {
            // SAFETY: plain field; whoever holds the envelope is the only one to use it.
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
    /// Number of bytes before the first message.
    pub(crate) const HEADER_BYTES: usize = size_of::<Self>();

    /// Creates an empty envelope of a block of class `class` with room for `capacity` messages.
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
    /// Returns the number of messages not yet read.
    #[inline]
    pub(crate) fn unread(&self) -> u32 {
        u32::from(self.read()) - self.free()
    }
}

impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope").finish_non_exhaustive()
    }
}
