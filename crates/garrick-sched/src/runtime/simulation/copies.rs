//! Copies of undelivered messages, for the message types that can be cloned.

use std::any::TypeId;

use hashbrown::HashMap;

use crate::cell::{Envelope, Table};
use crate::parcel;
use crate::pool::Pool;
use crate::quiet;

/// A function that copies the message in an envelope, and returns a new envelope with the copy. The
/// function is an instance of [`copy_of`].
type Copier = unsafe fn(&Pool, *mut Envelope) -> Option<*mut Envelope>;

/// Types of messages that can be copied.
#[derive(Default)]
pub(super) struct Copies(HashMap<TypeId, Copier>);

impl Copies {
    pub(super) fn add<M: Clone + 'static>(&mut self) {
        self.0.insert(TypeId::of::<M>(), copy_of::<M>);
    }

    /// Returns true if messages to tasks with this function table can be copied.
    pub(super) fn has(&self, table: &Table) -> bool {
        self.0.contains_key(&(table.message)())
    }

    /// Returns a new envelope with a copy of the oldest message in `envelope`. The caller owns the
    /// new envelope. Returns `None` if messages to tasks with this function table cannot be copied,
    /// or if the clone panics.
    ///
    /// # Safety
    /// The envelope contains a message for a task with this table, and no other code uses the
    /// envelope.
    pub(super) unsafe fn make(
        &self,
        pool: &Pool,
        table: &Table,
        envelope: *mut Envelope,
    ) -> Option<*mut Envelope> {
        let copier = self.0.get(&(table.message)())?;
        // SAFETY: by contract, and the copier is the one for the type of the table's messages.
        unsafe { copier(pool, envelope) }
    }
}

/// Returns a new envelope with a copy of a message. The caller owns the envelope. Returns `None` if
/// the clone panics.
///
/// # Safety
/// The envelope contains a message of type `M`. The message stays there during the call.
unsafe fn copy_of<M: Clone>(pool: &Pool, envelope: *mut Envelope) -> Option<*mut Envelope> {
    // SAFETY: by contract.
    let copy = quiet::call(|| unsafe { parcel::look_at(parcel::oldest::<M>(envelope), M::clone) });
    Some(parcel::alone(pool, copy.ok()?))
}
