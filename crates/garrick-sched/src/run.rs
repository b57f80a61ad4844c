//! One activation of a cell: its messages, turn by turn.

use std::ptr::NonNull;

use crate::cell::{CellPtr, Envelope, Kind, SCHEDULED, Slot, flag};
use crate::parcel;
use crate::task::{Flow, Task, class_of, task_of};
use crate::turn::Turn;
use crate::worker::Worker;

/// Messages that one activation handles at most, before others get their turn.
const MESSAGES_MAX: u32 = 64;

/// Whether the activation goes on.
#[derive(PartialEq, Eq)]
enum Next {
    Go,
    Over,
}

/// For [`Table::run`](crate::cell::Table).
///
/// # Safety
/// - the cell's task is of type `T`, and `worker` points to the [`Worker`] that is its home and took it
///   from a run queue;
/// - `slot` is null or holds a message for it.
pub(crate) unsafe fn run<T: Task>(cell: CellPtr, worker: NonNull<()>, slot: *const Slot) {
    // SAFETY: by contract.
    let worker = unsafe { worker.cast::<Worker>().as_ref() };
    let first = if slot.is_null() {
        None
    } else {
        // SAFETY: by contract; a run queue's entries hold messages of types that fit only.
        Some(unsafe { slot.cast::<T::Message>().read() })
    };
    if T::STARTS && cell.has(flag::NEWBORN) {
        cell.clear(flag::NEWBORN);
        if start::<T>(cell, worker) == Next::Over {
            worker.count_dead_letters(u64::from(first.is_some()));
            return;
        }
    }
    if let Some(message) = first
        && turn::<T>(cell, worker, message) == Next::Over
    {
        return;
    }
    if cell.state() & !flag::NEWBORN == worker.home.idle() | SCHEDULED {
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
    worker.begin_turn();
    // SAFETY: as in `turn`.
    let task = unsafe { task_of::<T>(cell).as_mut() };
    let flow = task.start(&Turn::new(worker, cell));
    finish_turn(cell, worker, flow)
}

/// Handles what the mailbox holds, and ends the activation.
#[inline(never)]
fn run_mailbox<T: Task>(cell: CellPtr, worker: &Worker) {
    let mut left = MESSAGES_MAX;
    loop {
        let tail = cell.mailbox_tail();
        if tail.is_null() {
            return finish::<T>(cell, worker);
        }
        // SAFETY: the local mailbox is ours, circular, and not empty.
        let oldest = unsafe { (*tail).next() };
        match run_envelope::<T>(cell, worker, oldest, &mut left) {
            Next::Over => return,
            Next::Go if left == 0 => return worker.old.push_cell(cell),
            Next::Go => {}
        }
        // SAFETY: still in the mailbox, hence ours.
        let stop = unsafe { (*oldest).kind() } == Kind::Stop;
        worker.drop_oldest(cell);
        if stop {
            return worker.stop(cell);
        }
    }
}

/// Handles the messages of one envelope, `left` at most. It counts in registers: what is written to the
/// envelope is for an undo or a panic to find.
#[inline]
fn run_envelope<T: Task>(
    cell: CellPtr,
    worker: &Worker,
    envelope: *mut Envelope,
    left: &mut u32,
) -> Next {
    // SAFETY: the envelope is the oldest of the local mailbox, hence ours; it holds messages of this
    // cell's type; each is taken out once, before its turn.
    unsafe {
        let mut index = (*envelope).read();
        loop {
            // A turn may send to its own cell, so the end moves.
            let end = (*envelope).write();
            if index == end {
                return Next::Go;
            }
            while index != end {
                if *left == 0 {
                    return Next::Go;
                }
                *left -= 1;
                (*envelope).set_read(index + 1);
                let message = parcel::read::<T::Message>(envelope, index);
                index += 1;
                if turn::<T>(cell, worker, message) == Next::Over {
                    return Next::Over;
                }
            }
        }
    }
}

/// The mailbox is empty: the cell rests, or is freed if nobody can reach it.
#[inline(always)]
fn finish<T: Task>(cell: CellPtr, worker: &Worker) {
    if cell.local_refs() != 0 {
        cell.set_state(worker.home.idle());
    } else {
        finish_unreferenced::<T>(cell, worker);
    }
}

#[inline(never)]
fn finish_unreferenced<T: Task>(cell: CellPtr, worker: &Worker) {
    if !worker.is_unreferenced(cell) {
        return cell.set_state(worker.home.idle());
    }
    // SAFETY: nobody can reach the cell, which is ours; its task is of type `T`.
    unsafe {
        cell.set(flag::GARBAGE);
        task_of::<T>(cell).drop_in_place();
        worker.pool.give_cell(class_of::<T>(), cell);
    }
    worker.commit();
}

/// Runs a cell whose task is gone: its messages are dead letters.
///
/// # Safety
/// As for [`run`], but for the type of the task.
pub(crate) unsafe fn run_dead(cell: CellPtr, worker: NonNull<()>, slot: *const Slot) {
    // SAFETY: by contract.
    let worker = unsafe { worker.cast::<Worker>().as_ref() };
    if !slot.is_null() {
        worker.count_dead_letters(1);
        // SAFETY: the slot holds a message of the cell's type.
        unsafe { (cell.table().drop_slot)(slot) };
    }
    worker.stop(cell);
}
