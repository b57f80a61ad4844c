//! The trait of tasks, which the layers above implement, and the tables of its implementations.

use std::any::type_name;
use std::mem::{align_of, size_of};
use std::ptr::NonNull;

use crate::cell::{CellPtr, Envelope, Header, Home, Slot, Table};
use crate::parcel;
use crate::pool::{self, Pool};
use crate::run_queue::fits_slot;
use crate::runtime::turn::Turn;
use crate::runtime::{bounded, run};

/// The result of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// The turn commits and the task continues.
    Continue,
    /// The turn commits and the task is dropped. The messages in its mailbox become dead letters.
    Stop,
    /// All staged effects of the turn are discarded, and the task continues. Changes to the task's
    /// own fields stay.
    Undo,
}

/// A sequential process with a mailbox. A task handles one message at a time, on one thread at a
/// time.
pub trait Task: Sized + 'static {
    /// The type of the messages, which have at most [`MESSAGE_BYTES_MAX`](crate::MESSAGE_BYTES_MAX)
    /// bytes. If the messages are larger, code that creates the task does not compile.
    type Message: 'static;

    /// True if [`Task::start`] must be called. `start` is then called even if no message ever
    /// comes.
    const STARTS: bool = false;

    /// Called once, before the first message, if [`Task::STARTS`] is true.
    fn start(&mut self, turn: &Turn<'_, Self::Message>) -> Flow {
        let _ = turn;
        Flow::Continue
    }

    /// Handles one message.
    fn receive(&mut self, message: Self::Message, turn: &Turn<'_, Self::Message>) -> Flow;

    /// Handles a [nudge](Turn::nudge), which is a request for a turn without a message. Does
    /// nothing by default.
    fn nudged(&mut self, turn: &Turn<'_, Self::Message>) -> Flow {
        let _ = turn;
        Flow::Continue
    }

    /// True if most turns of the task call [`Turn::blocking`].
    ///
    /// Such a task does not begin to handle messages while as many turns are blocking as
    /// [`Builder::blocking_threads`](crate::Builder::blocking_threads) allows. It waits without
    /// occupying a worker. If the value is false, a turn that blocks beyond this limit also blocks
    /// its worker.
    const BLOCKS: bool = false;

    /// True only for a task with a bounded mailbox.
    #[doc(hidden)]
    const BOUNDED: bool = false;

    /// Receives a message of a bounded mailbox. Calls `use_up` immediately before it handles the
    /// message.
    ///
    /// If an implementation holds the message back for a later turn, it does not call `use_up`, so
    /// that the message keeps its place. In the later turn, it calls [`Turn::use_up_place`].
    #[doc(hidden)]
    #[inline]
    fn receive_bounded(
        &mut self,
        message: Self::Message,
        turn: &Turn<'_, Self::Message>,
        use_up: impl FnOnce(),
    ) -> Flow {
        use_up();
        self.receive(message, turn)
    }

    /// True if [`Task::recover`] is called after a turn has panicked. If the value is false, the
    /// task is dropped after such a turn.
    const RECOVERS: bool = false;

    /// Called after a turn has panicked, if [`Task::RECOVERS`] is true. `message` is the panic
    /// message.
    ///
    /// All staged effects of the failed turn were discarded, but the changes to the task's own
    /// fields stay. `recover` runs as a separate turn, in which the task may repair its state. If
    /// it returns [`Flow::Continue`], the task continues with the next message. By default, the
    /// task stops.
    fn recover(&mut self, message: &str, turn: &Turn<'_, Self::Message>) -> Flow {
        let _ = (message, turn);
        Flow::Stop
    }

    /// Returns true if a message counts as a dead letter when it is not handled. This is the
    /// default. An implementation can return false for internal messages of the task, which do not
    /// come from a sender.
    fn is_letter(message: &Self::Message) -> bool {
        let _ = message;
        true
    }

    /// Returns the name of the task, which appears in reports. By default, this is the name of its
    /// type.
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

/// A task that is too large for a block of the pool, or that needs a larger alignment than a block
/// has.
pub(crate) struct Boxed<T>(pub(crate) Box<T>);

impl<T: Task> Task for Boxed<T> {
    type Message = T::Message;
    const STARTS: bool = T::STARTS;

    fn start(&mut self, turn: &Turn<'_, T::Message>) -> Flow {
        self.0.start(turn)
    }

    fn receive(&mut self, message: T::Message, turn: &Turn<'_, T::Message>) -> Flow {
        self.0.receive(message, turn)
    }

    fn nudged(&mut self, turn: &Turn<'_, T::Message>) -> Flow {
        self.0.nudged(turn)
    }

    const BLOCKS: bool = T::BLOCKS;

    #[inline]
    fn receive_bounded(
        &mut self,
        message: T::Message,
        turn: &Turn<'_, T::Message>,
        use_up: impl FnOnce(),
    ) -> Flow {
        self.0.receive_bounded(message, turn, use_up)
    }

    const RECOVERS: bool = T::RECOVERS;

    fn recover(&mut self, message: &str, turn: &Turn<'_, T::Message>) -> Flow {
        self.0.recover(message, turn)
    }

    fn is_letter(message: &T::Message) -> bool {
        T::is_letter(message)
    }

    fn name() -> &'static str {
        T::name()
    }
}

/// A header with its task, in the layout of a block.
#[repr(C)]
pub(crate) struct Block<T> {
    header: Header,
    pub(crate) task: T,
}

/// Returns true if a block has no room for a task of type `T`.
pub(crate) const fn is_boxed<T>() -> bool {
    size_of::<Block<T>>() > pool::CELL_BYTES_MAX || align_of::<Block<T>>() > 8
}

/// Type whose constants are the tables of a task type.
struct Tables<T>(T);

impl<T: Task> Tables<T> {
    /// Table of a task that stays on its thread, because it need not be `Send`.
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
        run: run::run::<T>,
        recover: if T::RECOVERS {
            Some(run::recover::<T>)
        } else {
            None
        },
        drop_task: drop_task::<T>,
        blocks: T::BLOCKS,
        starts: T::STARTS,
        bounded: T::BOUNDED,
        dead: Some(&Self::DEAD),
        ..Self::DEAD
    };

    const DEAD: Table = Table {
        block_bytes: size_of::<Block<T>>(),
        name: T::name,
        drop_unread: drop_unread_of::<T>,
        drop_slot: drop_slot_of::<T>,
        bounded: T::BOUNDED,
        ..Table::of_messages::<T::Message>(if T::BOUNDED {
            bounded::drop_room
        } else {
            nothing_to_drop
        })
    };
}

impl Table {
    /// Returns a table for messages `M`, without a task. The tables of all receivers are based on
    /// it, so the size of messages is checked here.
    pub(crate) const fn of_messages<M: 'static>(drop_task: unsafe fn(CellPtr)) -> Self {
        parcel::check_size::<M>();
        Self {
            run: run::run_dead,
            recover: None,
            drop_task,
            drop_unread: drop_unread::<M>,
            split_newest: split_newest::<M>,
            wrap_slot: wrap_slot::<M>,
            drop_slot: drop_slot::<M>,
            moves: true,
            blocks: false,
            starts: false,
            bounded: false,
            door: None,
            watched: None,
            dead: None,
            block_bytes: 0,
            name: type_name::<M>,
            #[cfg(all(debug_assertions, not(garrick_loom)))]
            message: std::any::TypeId::of::<M>,
        }
    }
}

/// Returns the size class of a block for `T`.
#[inline]
pub(crate) const fn class_of<T>() -> usize {
    pool::cell_class(size_of::<Block<T>>())
}

/// Returns a pointer to the task of a cell.
#[inline]
pub(crate) fn task_of<T>(cell: CellPtr) -> NonNull<T> {
    cell.check_block(size_of::<Block<T>>());
    let block = cell.0.cast::<Block<T>>();
    // SAFETY: a field of a block that is there.
    unsafe { NonNull::new_unchecked(&raw mut (*block.as_ptr()).task) }
}

/// Creates a cell with one reference, which the caller owns. If `moves` is false, the cell stays on
/// the thread of its home.
#[inline]
pub(crate) fn new_cell<T: Task>(pool: &Pool, home: Home, task: T, moves: bool) -> CellPtr {
    const {
        assert!(
            !T::BOUNDED || !is_boxed::<T>(),
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

/// # Safety
/// The cell has a task of type `T`, and the task is not used again.
unsafe fn drop_task<T>(cell: CellPtr) {
    // SAFETY: by contract.
    unsafe { task_of::<T>(cell).drop_in_place() };
}

/// Does nothing. Used as `drop_task` of a table without a task.
pub(crate) fn nothing_to_drop(_: CellPtr) {}

/// # Safety
/// The requirements of [`parcel::drop_unread`] apply.
unsafe fn drop_unread<M>(envelope: *mut Envelope) -> u64 {
    // SAFETY: by contract.
    unsafe { parcel::drop_unread::<M>(envelope, |_| true) }
}

/// # Safety
/// The requirements of [`parcel::drop_unread`] apply.
unsafe fn drop_unread_of<T: Task>(envelope: *mut Envelope) -> u64 {
    // SAFETY: by contract.
    unsafe { parcel::drop_unread::<T::Message>(envelope, T::is_letter) }
}

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

/// # Safety
/// The slot contains a message of type `M`, which is not used again. `pool` points to a [`Pool`].
unsafe fn drop_slot<M>(pool: NonNull<()>, slot: *const Slot) -> bool {
    // SAFETY: by contract.
    unsafe { drop_in_slot::<M>(pool, slot, |_| true) }
}

/// # Safety
/// The requirements of [`drop_slot`] apply.
unsafe fn drop_slot_of<T: Task>(pool: NonNull<()>, slot: *const Slot) -> bool {
    // SAFETY: by contract.
    unsafe { drop_in_slot::<T::Message>(pool, slot, T::is_letter) }
}

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

/// # Safety
/// The requirements of [`parcel::split_newest`] apply. In addition, `pool` points to a [`Pool`].
unsafe fn split_newest<M>(pool: NonNull<()>, envelope: *mut Envelope, count: u32) -> *mut Envelope {
    // SAFETY: by contract.
    unsafe { parcel::split_newest::<M>(pool.cast().as_ref(), envelope, count) }
}
