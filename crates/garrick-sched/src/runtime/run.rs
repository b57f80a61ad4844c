//! One activation of a cell: its messages, turn by turn.

use std::ptr::{self, NonNull};

use crate::cell::{CellPtr, Envelope, Kind, Slot};
use crate::parcel;
use crate::quiet;
use crate::run_queue::fits_slot;
use crate::runtime::bounded;
use crate::runtime::task::{Flow, Task, class_of, task_of};
use crate::runtime::turn::Turn;
use crate::runtime::watch::Ended;
use crate::runtime::worker::Worker;

/// Messages of one mailbox between two looks at the clock, where timers are waited for.
const STRETCH: u32 = 32;

/// What a turn leads to.
#[derive(PartialEq, Eq)]
enum Next {
    /// The task goes on.
    Go,
    /// The task wants to stop. The turn has committed.
    Over,
}

/// Messages to be handled one after the other.
struct Batch {
    /// Where the next one is.
    at: *const u8,
    /// Its slot in the envelope, if they are in there; they are handled from the highest slot down.
    slot: u32,
    /// The slot of the last one.
    last: u32,
    /// The oldest envelope of the mailbox, if they are in there.
    envelope: *mut Envelope,
    /// Whether the cell stays scheduled: more waits behind, which must not be overtaken by what the task
    /// sends to itself. If not, the task may send to itself as to any other that has nothing to do.
    busy: bool,
}

impl Batch {
    /// The message at that place, with which a cell was scheduled.
    #[inline(always)]
    fn alone(at: *const u8, busy: bool) -> Self {
        Self {
            at,
            slot: 0,
            last: 0,
            envelope: ptr::null_mut(),
            busy,
        }
    }
}

/// How far an activation goes through the mailbox: not to what the task sends to itself meanwhile, or it would
/// keep all others waiting.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The last envelope of the mailbox when the activation began; null once that is done with.
    last: *mut Envelope,
    /// Its free slots then.
    last_free: u32,
    /// Messages that may still be handled.
    left: u32,
    /// Messages that it may handle at all.
    max: u32,
}

impl Limits {
    pub(crate) const NONE: Self = Self {
        last: ptr::null_mut(),
        last_free: 0,
        left: 0,
        max: 0,
    };

    fn of(cell: CellPtr, worker: &Worker) -> Self {
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

/// For [`Table::run`](crate::cell::Table): one activation. All ways to a message come together at the one place
/// where the task receives it, so that its code is there once, inlined.
///
/// # Safety
/// - the cell's task is of type `T`, and `worker` points to the [`Worker`] that is its home;
/// - `message` points to a message for it, which is moved out, or is null.
pub(crate) unsafe fn run<T: Task>(cell: CellPtr, worker: NonNull<()>, message: *const Slot) {
    // SAFETY: by contract.
    let worker = unsafe { worker.cast::<Worker>().as_ref() };
    worker.check_runs(cell);
    cell.check_messages::<T::Message>();
    if T::BLOCKS && !worker.has_asked() {
        // SAFETY: by contract.
        return unsafe { run_with_permit::<T>(cell, worker, message) };
    }
    if T::STARTS && cell.state().is_newborn() {
        // SAFETY: by contract.
        return unsafe { run_starting::<T>(cell, worker, message) };
    }
    // SAFETY: by contract.
    let at = unsafe { place_of::<T::Message>(worker, message) };
    let mut batch = Batch::alone(at, false);
    if at.is_null() || !cell.begin_lone(worker.home) {
        let Some(first) = first_batch::<T>(cell, worker, at) else {
            return;
        };
        batch = first;
    }
    loop {
        // SAFETY: it is a message of this cell's type, moved out once. Where it lay may be written over from
        // here on.
        let message = unsafe { parcel::read_at::<T::Message>(batch.at) };
        if turn::<T>(cell, worker, message) == Next::Over {
            return stop(cell, worker, batch.busy);
        }
        if batch.slot != batch.last {
            if worker.is_wanted_elsewhere() {
                return worker.requeue(cell);
            }
            batch.slot -= 1;
            // SAFETY: the batch's messages lie side by side in its envelope, which is ours.
            unsafe {
                batch.at = parcel::after::<T::Message>(batch.at);
                (*batch.envelope).set_read(batch.slot as u16);
            }
            if batch.slot == batch.last {
                batch.busy = leave_last(cell, worker, batch.envelope);
            }
        } else if batch.busy {
            let Some(next) = next_batch::<T>(cell, worker) else {
                return;
            };
            batch = next;
        } else {
            // One that is scheduled stands in a run queue, because it has sent to itself.
            if cell.state().is_idle_at(worker.home) && cell.local_refs() == 0 {
                finish::<T>(cell, worker);
            }
            return;
        }
    }
}

/// An activation of a task that blocks, if there is a thread for it; if not, the cell waits elsewhere.
///
/// # Safety
/// As for [`run`].
#[cold]
unsafe fn run_with_permit<T: Task>(cell: CellPtr, worker: &Worker, message: *const Slot) {
    if let Some(_permit) = worker.ask_permission(cell, message) {
        // SAFETY: by contract.
        unsafe { run::<T>(cell, NonNull::from(worker).cast(), message) };
    }
}

/// An activation that begins with the task's start. The message is taken out of the run queue first, because
/// the start may put something there.
///
/// # Safety
/// As for [`run`].
#[cold]
unsafe fn run_starting<T: Task>(cell: CellPtr, worker: &Worker, message: *const Slot) {
    if message.is_null() && moves_first(cell, worker) {
        return;
    }
    // SAFETY: by contract.
    let slot = (!message.is_null()).then(|| unsafe { *message });
    worker.waiting.set(slot);
    if start::<T>(cell, worker) == Next::Over {
        worker.drop_waiting(cell);
        return worker.stop(cell, &Ended::Stopped);
    }
    let slot = worker.waiting.take();
    let slot = slot.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: by contract; the message is moved out there.
    unsafe { (cell.table().run)(cell, NonNull::from(worker).cast(), slot) };
}

/// Where the message of a slot lies; null for none. One that is too large for it lies in an envelope, which is kept until it has
/// been handled.
///
/// # Safety
/// The slot is null, or holds a message of type `M` as [`Worker::send`] has put it there, which is moved out.
#[inline(always)]
unsafe fn place_of<M>(worker: &Worker, slot: *const Slot) -> *const u8 {
    if const { fits_slot::<M>() } || slot.is_null() {
        return slot.cast();
    }
    // SAFETY: by contract.
    unsafe {
        let envelope = slot.cast::<*mut Envelope>().read();
        worker.hold(envelope);
        parcel::open::<M>(envelope)
    }
}

/// Whether a newborn has gone to the sponsor where it is to start.
fn moves_first(cell: CellPtr, worker: &Worker) -> bool {
    let tail = cell.mailbox_tail();
    // SAFETY: the local mailbox is ours, and circular.
    unsafe {
        !tail.is_null()
            && (*(*tail).next()).kind() == Kind::Move
            && worker.move_away(cell, (*tail).next())
    }
}

/// One message, one turn.
#[inline(always)]
fn turn<T: Task>(cell: CellPtr, worker: &Worker, message: T::Message) -> Next {
    worker.begin_turn();
    // SAFETY: the cell is ours and runs nothing else, and its task is alive.
    let task = unsafe { task_of::<T>(cell).as_mut() };
    let flow = task.receive(message, &Turn::new(worker, cell));
    finish_turn(worker, flow)
}

#[inline(always)]
fn finish_turn(worker: &Worker, flow: Flow) -> Next {
    if flow == Flow::Continue {
        worker.commit();
        return Next::Go;
    }
    finish_unusual(worker, flow)
}

#[cold]
fn finish_unusual(worker: &Worker, flow: Flow) -> Next {
    if flow == Flow::Undo {
        worker.undo();
        return Next::Go;
    }
    worker.commit();
    Next::Over
}

/// The task wants to stop.
#[cold]
fn stop(cell: CellPtr, worker: &Worker, busy: bool) {
    if worker.visit_stops() {
        // Its owner does the rest.
        return;
    }
    if !busy && cell.state().is_scheduled() {
        // It has sent to itself. The cell is closed when it is taken from the run queue.
        worker.retire(cell, &Ended::Stopped);
        worker.commit();
    } else {
        worker.stop(cell, &Ended::Stopped);
    }
}

/// The first batch of an activation that cannot be over with `message`, or has none.
#[inline(never)]
fn first_batch<T: Task>(cell: CellPtr, worker: &Worker, at: *const u8) -> Option<Batch> {
    if let Some(at) = worker.next_of_visit::<T::Message>() {
        return Some(Batch::alone(at, false));
    }
    worker.limits.set(Limits::of(cell, worker));
    if at.is_null() {
        return next_batch::<T>(cell, worker);
    }
    cell.end_youth();
    Some(Batch::alone(at, true))
}

/// The next batch, if the activation goes on.
#[inline(never)]
fn next_batch<T: Task>(cell: CellPtr, worker: &Worker) -> Option<Batch> {
    loop {
        let tail = cell.mailbox_tail();
        if tail.is_null() {
            finish::<T>(cell, worker);
            return None;
        }
        // SAFETY: the local mailbox is ours, circular, and not empty.
        let (oldest, envelope) = unsafe { ((*tail).next(), &*(*tail).next()) };
        if envelope.kind() == Kind::Stop {
            worker.drop_oldest(cell);
            worker.stop(cell, &Ended::Stopped);
            return None;
        }
        if envelope.kind() == Kind::Move {
            if worker.move_away(cell, oldest) {
                return None;
            }
            worker.limits.set(Limits::of(cell, worker));
            continue;
        }
        let count = take_share(worker, envelope);
        if count == 0 {
            worker.requeue(cell);
            worker.keep_pace();
            return None;
        }
        if envelope.kind() == Kind::Nudge {
            worker.drop_oldest(cell);
            if nudge::<T>(cell, worker) == Next::Over {
                stop(cell, worker, true);
                return None;
            }
            continue;
        }
        let slot = u32::from(envelope.read()) - 1;
        envelope.set_read(slot as u16);
        let mut batch = Batch {
            // SAFETY: it is the slot of the oldest message, in an envelope for messages of this type.
            at: unsafe { parcel::place::<T::Message>(oldest, slot) },
            slot,
            last: slot + 1 - count,
            envelope: ptr::from_ref(envelope).cast_mut(),
            busy: true,
        };
        if batch.slot == batch.last {
            batch.busy = leave_last(cell, worker, batch.envelope);
        }
        return Some(batch);
    }
}

/// One turn without a message.
#[cold]
fn nudge<T: Task>(cell: CellPtr, worker: &Worker) -> Next {
    worker.begin_turn();
    // SAFETY: as in `turn`.
    let task = unsafe { task_of::<T>(cell).as_mut() };
    let flow = task.nudged(&Turn::new(worker, cell));
    finish_turn(worker, flow)
}

/// How many messages of the oldest envelope are to be handled now.
fn take_share(worker: &Worker, envelope: &Envelope) -> u32 {
    let mut limits = worker.limits.get();
    // Every activation handles something: others may be wanted for longer than somebody can be given to them.
    let may_end = limits.left < limits.max;
    if limits.last.is_null()
        || may_end && (worker.is_wanted_elsewhere() || keeps_timers_waiting(worker, limits))
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
        // It counts as one message, or a task that nudges itself would keep all others waiting.
        Kind::Nudge => 1,
        _ => u32::from(envelope.read()) - end,
    };
    let mut count = unread.min(limits.left);
    if !worker.timers.are_calm() {
        count = count.min(STRETCH);
    }
    limits.left -= count;
    if limits.left == 0 || is_last && count == unread {
        limits.last = ptr::null_mut();
    }
    worker.limits.set(limits);
    count
}

/// Whether an activation under way has handled a stretch and lasted so long that timers might come late by it.
fn keeps_timers_waiting(worker: &Worker, limits: Limits) -> bool {
    let handled = limits.max - limits.left;
    handled >= STRETCH && !worker.timers.are_calm() && worker.timers.are_neglected_at(worker.now())
}

/// The last message of a batch is about to be handled: lets go of the envelope, if that was all that is in it, and
/// of the run queue, if nothing waits behind. Whether something does.
#[inline(never)]
fn leave_last(cell: CellPtr, worker: &Worker, envelope: *mut Envelope) -> bool {
    // SAFETY: the oldest of the local mailbox, hence ours.
    if unsafe { (*envelope).unread() } == 0 {
        worker.hold(cell.take_oldest());
    }
    let busy = !cell.mailbox_tail().is_null();
    if !busy {
        cell.rest(worker.home);
    }
    busy
}

/// The start of a task that wants one, in a turn of its own.
#[cold]
fn start<T: Task>(cell: CellPtr, worker: &Worker) -> Next {
    cell.end_youth();
    worker.begin_turn();
    // SAFETY: as in `turn`.
    let task = unsafe { task_of::<T>(cell).as_mut() };
    let flow = task.start(&Turn::new(worker, cell));
    finish_turn(worker, flow)
}

/// For [`Table::recover`](crate::cell::Table).
///
/// # Safety
/// As for [`run`]; the cell does not run any more.
pub(crate) unsafe fn recover<T: Task>(cell: CellPtr, worker: NonNull<()>, message: &str) -> bool {
    // SAFETY: by contract.
    let worker = unsafe { worker.cast::<Worker>().as_ref() };
    cell.check_home(worker.home);
    worker.begin_turn();
    // SAFETY: as in `turn`.
    let task = unsafe { task_of::<T>(cell).as_mut() };
    let flow = task.recover(message, &Turn::new(worker, cell));
    finish_turn(worker, flow) == Next::Go
}

/// Nothing waits for the cell: it rests, or is freed if nobody can reach it.
#[inline(never)]
fn finish<T: Task>(cell: CellPtr, worker: &Worker) {
    if cell.local_refs() != 0 || !worker.is_unreachable(cell) {
        return cell.rest(worker.home);
    }
    // A destructor may take long.
    worker.let_others();
    // The turn before this is over. What a destructor sends is in no turn, and stays sent if it panics after that.
    worker.begin_pause();
    worker.lane.ended(cell);
    // SAFETY: nobody can reach the cell, which is ours; its task is of type `T`.
    unsafe {
        cell.condemn_at(worker.home);
        worker.tell_watchers(cell, &Ended::Unreachable);
        if let Err(panic) = quiet::call(|| task_of::<T>(cell).drop_in_place()) {
            worker.report(cell, &panic);
        }
        if T::BOUNDED {
            // It is the last that is left in the block.
            bounded::drop_room(cell);
        }
        // From here on another cell may get the block.
        worker.forget_running();
        worker.pool.give_cell(class_of::<T>(), cell);
    }
    worker.commit();
}

/// Runs a cell whose task is gone: its messages are dead letters.
///
/// # Safety
/// As for [`run`], but for the type of the task.
pub(crate) unsafe fn run_dead(cell: CellPtr, worker: NonNull<()>, message: *const Slot) {
    // SAFETY: by contract.
    let worker = unsafe { worker.cast::<Worker>().as_ref() };
    cell.check_home(worker.home);
    worker.drop_dead(cell, message);
}
