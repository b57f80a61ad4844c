//! One activation of a cell: its messages, turn by turn.

use std::ptr::NonNull;

use crate::cell::{CellPtr, Envelope, Kind, SCHEDULED, flag};
use crate::parcel;
use crate::quiet;
use crate::run_queue::Entry;
use crate::runtime::task::{Flow, Task, class_of, task_of};
use crate::runtime::turn::Turn;
use crate::runtime::worker::Worker;

/// Messages that one activation handles at most, before others get their turn.
const MESSAGES_MAX: u32 = 256;

/// Whether the activation goes on.
#[derive(PartialEq, Eq)]
enum Next {
    Go,
    Over,
}

/// For [`Table::run`](crate::cell::Table).
///
/// # Safety
/// - the cell's task is of type `T`, and `worker` points to the [`Worker`] that is its home;
/// - `entry` points to the [`Entry`] that the worker took from a run queue for it.
pub(crate) unsafe fn run<T: Task>(cell: CellPtr, worker: NonNull<()>, entry: *const ()) {
    // SAFETY: by contract.
    let (worker, entry) = unsafe { (worker.cast::<Worker>().as_ref(), &*entry.cast::<Entry>()) };
    if !entry.has_message() {
        if T::STARTS && cell.has(flag::NEWBORN) && start::<T>(cell, worker) == Next::Over {
            return;
        }
        return run_mailbox::<T>(cell, worker);
    }
    // SAFETY: the entry holds a message for the cell, and is read before anything can overwrite it.
    let message = unsafe { entry.slot().cast::<T::Message>().read() };
    if T::STARTS && cell.has(flag::NEWBORN) && start::<T>(cell, worker) == Next::Over {
        worker.count_dead_letters(1);
        quiet::drop(message);
        return worker.commit();
    }
    if turn::<T>(cell, worker, message) == Next::Over {
        return;
    }
    if cell.state() == worker.home.idle() | SCHEDULED {
        cell.set_state(worker.home.idle());
    } else if cell.mailbox_tail().is_null() {
        finish::<T>(cell, worker);
    } else {
        run_mailbox::<T>(cell, worker);
    }
}

/// One message, one turn.
#[inline(always)]
fn turn<T: Task>(cell: CellPtr, worker: &Worker, message: T::Message) -> Next {
    worker.begin_turn();
    // SAFETY: the cell is ours and runs nothing else, and its task is alive.
    let task = unsafe { task_of::<T>(cell).as_mut() };
    let flow = task.receive(message, &Turn::new(worker, cell));
    finish_turn(cell, worker, flow)
}

#[inline(always)]
fn finish_turn(cell: CellPtr, worker: &Worker, flow: Flow) -> Next {
    if flow == Flow::Continue {
        worker.commit();
        return Next::Go;
    }
    finish_unusual(cell, worker, flow)
}

#[cold]
fn finish_unusual(cell: CellPtr, worker: &Worker, flow: Flow) -> Next {
    if flow == Flow::Undo {
        worker.undo();
        return Next::Go;
    }
    worker.commit();
    worker.stop(cell);
    Next::Over
}

/// The start of a task that wants one, in a turn of its own.
#[cold]
fn start<T: Task>(cell: CellPtr, worker: &Worker) -> Next {
    cell.clear(flag::NEWBORN);
    worker.begin_turn();
    // SAFETY: as in `turn`.
    let task = unsafe { task_of::<T>(cell).as_mut() };
    let flow = task.start(&Turn::new(worker, cell));
    finish_turn(cell, worker, flow)
}

/// Handles what the mailbox holds now, and ends the activation. What the task sends to itself meanwhile
/// waits for the next one, or it would keep all others waiting.
#[inline(never)]
fn run_mailbox<T: Task>(cell: CellPtr, worker: &Worker) {
    let last = cell.mailbox_tail();
    if last.is_null() {
        return finish::<T>(cell, worker);
    }
    // SAFETY: the local mailbox is ours, circular, and not empty.
    let end = unsafe { (*last).free() };
    let mut left = MESSAGES_MAX;
    loop {
        // SAFETY: as above; it holds at least what was last at first.
        let oldest = unsafe { (*cell.mailbox_tail()).next() };
        let is_last = oldest == last;
        // SAFETY: as above.
        let free = unsafe { (*oldest).free() };
        let end = if is_last { end } else { free };
        match run_envelope::<T>(cell, worker, oldest, end, &mut left) {
            Next::Over => return,
            Next::Go if left == 0 => break,
            Next::Go => {}
        }
        // SAFETY: as above.
        let (stop, unread) = unsafe { ((*oldest).kind() == Kind::Stop, (*oldest).unread()) };
        if unread == 0 {
            worker.drop_oldest(cell);
        }
        if stop {
            return worker.stop(cell);
        }
        if is_last {
            break;
        }
    }
    if cell.mailbox_tail().is_null() {
        finish::<T>(cell, worker);
    } else {
        worker.requeue(cell);
    }
}

/// Handles the messages of one envelope down to slot `end`, `left` at most. It counts in registers: what is
/// written to the envelope is for an undo or a panic to find.
#[inline]
fn run_envelope<T: Task>(
    cell: CellPtr,
    worker: &Worker,
    envelope: *mut Envelope,
    end: u32,
    left: &mut u32,
) -> Next {
    // SAFETY: the envelope is the oldest of the local mailbox, hence ours; it holds messages of this
    // cell's type; each is taken out once, before its turn.
    unsafe {
        let mut slot = u32::from((*envelope).read());
        while slot != end && *left > 0 {
            *left -= 1;
            slot -= 1;
            (*envelope).set_read(slot as u16);
            let message = parcel::read::<T::Message>(envelope, slot);
            if turn::<T>(cell, worker, message) == Next::Over {
                return Next::Over;
            }
            if worker.is_wanted_elsewhere() {
                *left = 0;
            }
        }
    }
    Next::Go
}

/// The mailbox is empty: the cell rests, or is freed if nobody can reach it.
#[inline(never)]
fn finish<T: Task>(cell: CellPtr, worker: &Worker) {
    if cell.local_refs() != 0 || !worker.is_unreferenced(cell) {
        return cell.set_state(worker.home.idle());
    }
    // The turn before this is over: a destructor that panics must not undo it.
    worker.begin_turn();
    // SAFETY: nobody can reach the cell, which is ours; its task is of type `T`.
    unsafe {
        cell.set_state(worker.home.idle() | flag::GARBAGE);
        task_of::<T>(cell).drop_in_place();
        worker.pool.give_cell(class_of::<T>(), cell);
    }
    worker.commit();
}

/// Runs a cell whose task is gone: its messages are dead letters.
///
/// # Safety
/// As for [`run`], but for the type of the task.
pub(crate) unsafe fn run_dead(cell: CellPtr, worker: NonNull<()>, entry: *const ()) {
    // SAFETY: by contract.
    unsafe {
        worker
            .cast::<Worker>()
            .as_ref()
            .drop_dead(cell, &*entry.cast::<Entry>());
    };
}
