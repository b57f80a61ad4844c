//! Envelopes: blocks that carry one or more messages to one cell.
//!
//! An envelope holds messages of one type side by side, so that what a turn sends to one foreign
//! cell travels as one block, and a flood to a local one is a walk over memory. It is written by one
//! thread, pushed on an inbox, and from then on read by the cell's owner alone.

use std::fmt;
use std::mem::size_of;

use garrick_core::prim::UnsafeCell;

use super::header::CellPtr;

/// What an envelope is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Messages for the task.
    Messages,
    /// Gives one reference back to the owner that had counted it (README, step 6).
    Release,
    /// Asks for an activation without a message.
    Wake,
    /// Asks the owner to stop the task once what came before is handled.
    Stop,
    /// Brings somebody who wants to know when the task ends.
    Watch,
    /// Asks the owner to give the cell to another sponsor before it handles what comes behind.
    Move,
}

/// The plain fields, all written by whoever has the envelope.
#[derive(Clone, Copy)]
struct Fields {
    /// The envelope pushed before this one (in an inbox), or the next one to read (in a mailbox).
    next: *mut Envelope,
    /// The link of the home's ready stack, for the envelope that carries a cell's token.
    ready_next: *mut Envelope,
    /// The cell whose token this envelope carries.
    token_of: Option<CellPtr>,
    /// Slots that are free. They fill from the highest down, so 0 is full, the slot to write next is
    /// `free - 1`, and no capacity need be kept. As wide as this because a store and a load of 16 bits
    /// right after each other cost 2 ns on a Zen 3, of 32 bits 0.3.
    free: u32,
    /// The slots `free..read` hold messages, the oldest in the highest.
    read: u16,
    /// The pool's class of the block.
    class: u8,
    kind: Kind,
}

/// The header of one block; the messages follow it.
#[repr(C, align(16))]
pub(crate) struct Envelope {
    fields: UnsafeCell<Fields>,
}

macro_rules! field {
    ($get:ident, $set:ident, $field:ident: $type:ty) => {
        #[inline]
        pub(crate) fn $get(&self) -> $type {
            // SAFETY: plain field; whoever holds the envelope is the only one to use it.
            self.fields.with(|fields| unsafe { (*fields).$field })
        }

        #[inline]
        pub(crate) fn $set(&self, value: $type) {
            self.fields.with_mut(|fields| {
                // SAFETY: as above.
                unsafe { (*fields).$field = value };
            });
        }
    };
}

impl Envelope {
    /// Bytes before the first message.
    pub(crate) const HEADER_BYTES: usize = size_of::<Self>();

    /// An empty envelope of a block of class `class` with room for `capacity` messages.
    pub(crate) fn new(kind: Kind, class: u8, capacity: u16) -> Self {
        Self {
            fields: UnsafeCell::new(Fields {
                next: std::ptr::null_mut(),
                ready_next: std::ptr::null_mut(),
                token_of: None,
                free: u32::from(capacity),
                read: capacity,
                class,
                kind,
            }),
        }
    }

    field!(next, set_next, next: *mut Envelope);
    field!(ready_next, set_ready_next, ready_next: *mut Envelope);
    field!(token_of, set_token_of, token_of: Option<CellPtr>);
    field!(free, set_free, free: u32);
    field!(read, set_read, read: u16);

    #[inline]
    pub(crate) fn class(&self) -> u8 {
        // SAFETY: as in `field!`.
        self.fields.with(|fields| unsafe { (*fields).class })
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        // SAFETY: as in `field!`.
        self.fields.with(|fields| unsafe { (*fields).kind })
    }
}

impl Envelope {
    /// Messages not yet read.
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
