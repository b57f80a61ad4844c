//! The function tables (vtables) of all types of tasks, and the creation of cells (the memory
//! blocks of tasks).

use std::any::type_name;
use std::mem::size_of;
use std::ptr::NonNull;

use crate::cell::{CellPtr, Envelope, Header, Home, Slot, Table};
use crate::parcel;
use crate::pool::Pool;
use crate::run_queue::fits_slot;
use crate::runtime::block::{Block, class_of, is_boxed, task_of};
use crate::runtime::room::drop_room;
use crate::runtime::run::{recover, run, run_dead};
use crate::runtime::task::{Boxed, Task};

/// Type whose associated constants are the function tables of a task type.
struct Tables<T>(T);

impl<T: Task> Tables<T> {
    /// Function table of a task that stays on its thread, because the task need not be `Send`.
    const STAYS: Table = Table {
        watched: Some(&Self::STAYS_WATCHED),
        ..Self::STAYS_WATCHED
    };

    const STAYS_WATCHED: Table = Table {
        moves: false,
        ..Self::WATCHED
    };

    const LIVE: Table = Table {
        watched: Some(&Self::WATCHED),
        ..Self::WATCHED
    };

    const WATCHED: Table = Table {
        run: run::<T>,
        recover: if T::RECOVERS {
            Some(recover::<T>)
        } else {
            None
        },
        drop_task: drop_task::<T>,
        label: label_of::<T>,
        blocks: T::BLOCKS,
        commits_later: T::COMMITS_LATER,
        reports: T::REPORTS,
        starts: T::STARTS,
        messages: T::MESSAGES,
        kind_in_slot: kind_in_slot::<T>,
        #[cfg(feature = "sim")]
        kind_in_envelope: kind_in_envelope::<T>,
        bounded: T::BOUNDED.is_bounded(),
        dead: Some(&Self::DEAD),
        ..Self::DEAD
    };

    const DEAD: Table = Table {
        block_bytes: size_of::<Block<T>>(),
        name: T::name,
        internal: T::INTERNAL,
        drop_unread: drop_unread_of::<T>,
        drop_slot: drop_slot_of::<T>,
        bounded: T::BOUNDED.is_bounded(),
        ..Table::of_messages::<T::Message>(if T::BOUNDED.is_bounded() {
            drop_room
        } else {
            nothing_to_drop
        })
    };
}

impl Table {
    /// Returns a function table for receivers of messages of type `M`, without the functions of a
    /// task. The tables of all receivers are based on this one, so the size of messages is checked
    /// here.
    pub(crate) const fn of_messages<M: 'static>(drop_task: unsafe fn(CellPtr)) -> Self {
        parcel::check_size::<M>();
        Self {
            run: run_dead,
            recover: None,
            drop_task,
            drop_unread: drop_unread::<M>,
            split_newest: split_newest::<M>,
            wrap_slot: wrap_slot::<M>,
            drop_slot: drop_slot::<M>,
            moves: true,
            blocks: false,
            commits_later: false,
            reports: true,
            internal: false,
            starts: false,
            bounded: false,
            door: None,
            watched: None,
            dead: None,
            block_bytes: 0,
            name: type_name::<M>,
            label: no_label,
            messages: &[],
            kind_in_slot: no_kind,
            #[cfg(feature = "sim")]
            kind_in_envelope: no_kind_in_envelope,
            #[cfg(feature = "sim")]
            message_name: type_name::<M>,
            #[cfg(any(feature = "sim", all(debug_assertions, not(garrick_loom))))]
            message: std::any::TypeId::of::<M>,
        }
    }
}

/// Creates a cell with one reference, which the caller owns. If `moves` is false, the cell stays on
/// the thread of its worker.
#[inline]
pub(crate) fn new_cell<T: Task>(pool: &Pool, home: Home, task: T, moves: bool) -> CellPtr {
    const {
        assert!(
            !T::BOUNDED.is_bounded() || !is_boxed::<T>(),
            "the room of a bounded mailbox lies behind the header of its cell"
        );
    }
    if const { is_boxed::<T>() } {
        return place(pool, home, Boxed(Box::new(task)), moves);
    }
    place(pool, home, task, moves)
}

#[inline]
fn place<T: Task>(pool: &Pool, home: Home, task: T, moves: bool) -> CellPtr {
    let block = pool.take_cell(class_of::<T>()).cast::<Block<T>>();
    let table = if moves {
        &Tables::<T>::LIVE
    } else {
        &Tables::<T>::STAYS
    };
    // SAFETY: the block is ours, of this class, and aligned to 8, which is enough for a task that
    // is not boxed.
    unsafe {
        (&raw mut (*block.as_ptr()).task).write(task);
        Header::newborn(table, home).place(block.cast());
    }
    CellPtr(block.cast())
}

/// Drops the task in a cell.
///
/// # Safety
/// The cell has a task of type `T`, and the task is not used again.
unsafe fn drop_task<T>(cell: CellPtr) {
    // SAFETY: by contract.
    unsafe { task_of::<T>(cell).drop_in_place() };
}

/// Does nothing. Used as `drop_task` in a function table without a task.
pub(crate) fn nothing_to_drop(_: CellPtr) {}

/// Returns the label of the task in a cell ([`Task::label`]).
///
/// # Safety
/// The cell has a task of type `T`. The task is not in use.
unsafe fn label_of<T: Task>(cell: CellPtr) -> Option<String> {
    // SAFETY: by contract.
    unsafe { task_of::<T>(cell).as_ref() }.label()
}

/// Returns `None`. Used as `label` in a function table without a task.
fn no_label(_: CellPtr) -> Option<String> {
    None
}

/// Returns the kind of the message in a slot of a run queue ([`Task::message_kind`]).
///
/// # Safety
/// The slot contains a message for a task of type `T`. The message stays there during the call.
unsafe fn kind_in_slot<T: Task>(slot: *const Slot) -> usize {
    // SAFETY: by contract. A message that does not fit into a slot is alone in an envelope.
    unsafe {
        let place = if fits_slot::<T::Message>() {
            slot.cast()
        } else {
            parcel::oldest::<T::Message>(slot.cast::<*mut Envelope>().read())
        };
        parcel::look_at(place, T::message_kind)
    }
}

/// Returns the kind of the oldest message in an envelope ([`Task::message_kind`]).
///
/// # Safety
/// The envelope contains a message for a task of type `T`. The message stays there during the call.
#[cfg(feature = "sim")]
unsafe fn kind_in_envelope<T: Task>(envelope: *mut Envelope) -> usize {
    // SAFETY: by contract.
    unsafe { parcel::look_at(parcel::oldest::<T::Message>(envelope), T::message_kind) }
}

/// Returns 0. Used as `kind_in_envelope` in a function table without a task.
#[cfg(feature = "sim")]
fn no_kind_in_envelope(_: *mut Envelope) -> usize {
    0
}

/// Returns 0. Used as `kind_in_slot` in a function table without a task.
fn no_kind(_: *const Slot) -> usize {
    0
}

/// Drops the unread messages of an envelope for a receiver that is not a task. Returns the number
/// of these messages. All of them count as dead letters.
///
/// # Safety
/// The requirements of [`parcel::drop_unread`] apply.
unsafe fn drop_unread<M>(envelope: *mut Envelope) -> u64 {
    // SAFETY: by contract.
    unsafe { parcel::drop_unread::<M>(envelope, |_| true) }
}

/// Drops the unread messages of an envelope for a task. Returns the number of these messages that
/// count as dead letters ([`Task::is_letter`]).
///
/// # Safety
/// The requirements of [`parcel::drop_unread`] apply.
unsafe fn drop_unread_of<T: Task>(envelope: *mut Envelope) -> u64 {
    // SAFETY: by contract.
    unsafe { parcel::drop_unread::<T::Message>(envelope, T::is_letter) }
}

/// Moves the message in a slot of a run queue to an envelope. If the message is already in an
/// envelope, returns this envelope.
///
/// # Safety
/// The requirements of [`drop_slot`] apply. The caller owns the returned envelope.
unsafe fn wrap_slot<M>(pool: NonNull<()>, slot: *const Slot) -> *mut Envelope {
    // SAFETY: by contract. A message that does not fit into a slot lies in an envelope, which
    // nobody else has.
    unsafe {
        if fits_slot::<M>() {
            parcel::alone(pool.cast::<Pool>().as_ref(), slot.cast::<M>().read())
        } else {
            slot.cast::<*mut Envelope>().read()
        }
    }
}

/// Drops the message in a slot of a run queue. Returns true, because the message counts as a dead
/// letter.
///
/// # Safety
/// The slot contains a message of type `M`. The message is not used again. `pool` points to a
/// [`Pool`].
unsafe fn drop_slot<M>(pool: NonNull<()>, slot: *const Slot) -> bool {
    // SAFETY: by contract.
    unsafe { drop_in_slot::<M>(pool, slot, |_| true) }
}

/// Drops the message in a slot of a run queue, for a task. Returns true if the message counts as a
/// dead letter ([`Task::is_letter`]).
///
/// # Safety
/// The requirements of [`drop_slot`] apply.
unsafe fn drop_slot_of<T: Task>(pool: NonNull<()>, slot: *const Slot) -> bool {
    // SAFETY: by contract.
    unsafe { drop_in_slot::<T::Message>(pool, slot, T::is_letter) }
}

/// Drops the message in a slot of a run queue. Returns true if `is_letter` decides that the message
/// counts as a dead letter.
///
/// # Safety
/// The requirements of [`drop_slot`] apply.
unsafe fn drop_in_slot<M>(pool: NonNull<()>, slot: *const Slot, is_letter: fn(&M) -> bool) -> bool {
    if !fits_slot::<M>() {
        // SAFETY: by contract; then the slot holds an envelope with the message, and nobody else
        // has it.
        return unsafe {
            let envelope = slot.cast::<*mut Envelope>().read();
            let letters = parcel::drop_unread::<M>(envelope, is_letter);
            pool.cast::<Pool>().as_ref().give_envelope(envelope);
            letters > 0
        };
    }
    // SAFETY: by contract.
    let message = unsafe { slot.cast::<M>().read() };
    parcel::drop_message(message, is_letter)
}

/// Moves the `count` newest messages of an envelope to a separate envelope, and returns that
/// envelope.
///
/// # Safety
/// The requirements of [`parcel::split_newest`] apply. In addition, `pool` points to a [`Pool`].
unsafe fn split_newest<M>(pool: NonNull<()>, envelope: *mut Envelope, count: u32) -> *mut Envelope {
    // SAFETY: by contract.
    unsafe { parcel::split_newest::<M>(pool.cast().as_ref(), envelope, count) }
}
