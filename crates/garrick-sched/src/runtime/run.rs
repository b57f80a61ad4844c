//! One activation of a cell: its worker runs a turn for each message that the cell's task handles.

use std::mem;
use std::ptr::{self, NonNull};

use crate::cell::{CellPtr, Envelope, Kind, Slot};
use crate::parcel;
use crate::quiet;
use crate::run_queue::fits_slot;
use crate::runtime::block::{class_of, task_of};
use crate::runtime::room::drop_room;
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;
use crate::runtime::watch::Ended;
use crate::runtime::worker::{Input, Limits, Worker};

/// Result of a turn.
#[derive(PartialEq, Eq)]
enum Next {
    /// The task continues.
    Go,
    /// The task wants to stop. The turn has committed.
    Over,
    /// The commit of the turn will be decided later. The activation ends now.
    Later,
}

/// Messages that an activation handles one after another.
struct Batch {
    /// Address of the next message.
    at: *const u8,
    /// Slot of the next message, if the batch is in an envelope. Messages are handled from the
    /// highest slot down.
    slot: u32,
    /// Slot of the last message of the batch.
    last: u32,
    /// Oldest envelope of the mailbox, if the batch is in this envelope. Otherwise null.
    envelope: *mut Envelope,
    /// True if the cell stays scheduled because more messages are waiting. Messages that the task
    /// sends to itself are then handled after the waiting messages. If false, the task may send
    /// messages to itself in the same way as to any idle task.
    busy: bool,
}

impl Batch {
    /// Creates a batch of a single message that is not in an envelope, such as a message in a slot
    /// of the run queue.
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

/// Runs one activation. Used as [`Table::run`](crate::cell::Table). There is only one call of the
/// task's `receive`, so that the code of the task is inlined only once.
///
/// # Safety
/// - The task of the cell is of type `T`, and `worker` points to the [`Worker`] that owns the cell.
/// - `message` is null, or points to a message for the task. This function moves the message out.
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
        // SAFETY: it is a message of this cell's type, moved out once. Where it lay may be written
        // over from here on.
        let message = unsafe { parcel::read_at::<T::Message>(batch.at) };
        let next = turn::<T>(cell, worker, message, batch.busy);
        if T::COMMITS_LATER && next == Next::Later {
            return;
        }
        if next == Next::Over {
            return stop(cell, worker, batch.busy);
        }
        if batch.slot != batch.last {
            if worker.is_wanted_elsewhere() {
                return worker.requeue_rest(cell);
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
            // A scheduled cell stands in a run queue here, because it has sent to itself.
            if cell.state().is_idle_at(worker.home) && cell.local_refs() == 0 {
                finish::<T>(cell, worker);
            }
            return;
        }
    }
}

/// Runs an activation of a task that usually blocks. If there is no thread that may block, sets the
/// cell aside instead.
///
/// # Safety
/// The requirements of [`run`] apply.
#[cold]
unsafe fn run_with_permit<T: Task>(cell: CellPtr, worker: &Worker, message: *const Slot) {
    if let Some(_permit) = worker.ask_permission(cell, message) {
        // SAFETY: by contract.
        unsafe { run::<T>(cell, NonNull::from(worker).cast(), message) };
    }
}

/// Runs an activation that begins with the start of the task. First copies the message out of the
/// run queue, because the start function may push to this queue.
///
/// # Safety
/// The requirements of [`run`] apply.
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
    // SAFETY: by contract.
    unsafe { worker.measure_slot(cell, slot) };
    // SAFETY: by contract; the message is moved out there.
    unsafe { (cell.table().run)(cell, NonNull::from(worker).cast(), slot) };
}

/// Returns a pointer to the message of a slot, or null if there is no message. If the message is in
/// an envelope, the worker keeps the envelope until the message has been handled.
///
/// # Safety
/// The slot is null, or contains a message of type `M` that [`Worker::send`] has stored. After the
/// call, the message counts as moved out of the slot.
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

/// If the oldest envelope in the mailbox of a new cell requests a move to another sponsor, handles
/// this request before the task of the cell starts. Returns true if the cell must not run now,
/// because it was moved or requeued.
fn moves_first(cell: CellPtr, worker: &Worker) -> bool {
    let tail = cell.mailbox_tail();
    // SAFETY: the local mailbox is ours, and circular.
    unsafe {
        !tail.is_null()
            && (*(*tail).next()).kind() == Kind::Move
            && worker.move_away(cell, (*tail).next())
    }
}

/// Runs one turn, which handles one message. `busy` must be true if the cell is marked as scheduled
/// during the turn.
#[inline(always)]
fn turn<T: Task>(cell: CellPtr, worker: &Worker, message: T::Message, busy: bool) -> Next {
    worker.begin_turn();
    // SAFETY: the cell is ours and runs nothing else, and its task is alive.
    let task = unsafe { task_of::<T>(cell).as_mut() };
    if T::COMMITS_LATER {
        worker.later.open(busy);
    }
    let flow = task.receive(message, &Turn::new(worker, cell));
    if T::COMMITS_LATER
        && let Some(next) = ends_later(cell, worker, flow)
    {
        return next;
    }
    finish_turn(cell, worker, flow)
}

/// Ends a turn of a task that can have the commits of its turns decided later
/// (`Task::COMMITS_LATER`). Returns `None` if the caller must commit or undo the whole turn now.
fn ends_later(cell: CellPtr, worker: &Worker, flow: Flow) -> Option<Next> {
    let is_undone = flow == Flow::Undo;
    let is_later = if !is_undone {
        worker.ends_later(cell, flow == Flow::Stop)
    } else if worker.later.has_parts() {
        worker.undo_last_part(cell)
    } else {
        worker.later.forget();
        return None;
    };
    match (is_later, is_undone) {
        (true, _) => Some(Next::Later),
        (false, true) => Some(Next::Go),
        (false, false) => None,
    }
}

#[inline(always)]
fn finish_turn(cell: CellPtr, worker: &Worker, flow: Flow) -> Next {
    if flow == Flow::Continue {
        worker.commit_turn(cell);
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
    worker.shared.hooks.fail_if_broken_off();
    worker.commit();
    Next::Over
}

/// Stops the task of a cell, because a turn of the task has returned [`Flow::Stop`]. `busy` must be
/// true if the cell was marked as scheduled during the turn.
#[cold]
fn stop(cell: CellPtr, worker: &Worker, busy: bool) {
    if worker.visit_stops() {
        // The owner does the rest.
        return;
    }
    if !busy && cell.state().is_scheduled() {
        // The cell has sent to itself. It is closed when it is taken from the run queue.
        worker.retire(cell, &Ended::Stopped);
        worker.commit();
    } else {
        worker.stop(cell, &Ended::Stopped);
    }
}

/// Returns the first batch of messages of an activation. Returns `None` if the activation has
/// ended, for example because the mailbox is empty. Not called if the message at `at` is the only
/// message of the activation.
#[inline(never)]
fn first_batch<T: Task>(cell: CellPtr, worker: &Worker, at: *const u8) -> Option<Batch> {
    match worker.next_of_visit::<T::Message>() {
        None => {}
        Some(Input::Message(at)) => {
            worker.take_trail_of_visit(cell, !T::COMMITS_LATER);
            // SAFETY: the message of the visit, which the turn moves out.
            unsafe { measure::<T>(worker, 1, at) };
            return Some(Batch::alone(at, false));
        }
        Some(Input::Nudge) => {
            if nudge::<T>(cell, worker) == Next::Over {
                stop(cell, worker, false);
            }
            return None;
        }
    }
    worker.limits.set(Limits::of(cell, worker));
    if at.is_null() {
        return next_batch::<T>(cell, worker);
    }
    cell.end_youth();
    Some(Batch::alone(at, true))
}

/// Returns true if a task that was asked to stop stops now.
fn stops<T: Task>(cell: CellPtr, worker: &Worker) -> bool {
    // A panic of `stops`, and what it sends, must not belong to the turn before.
    worker.begin_pause();
    // SAFETY: the cell is ours, and its task, of type `T`, is in no turn.
    let stops = quiet::call(|| unsafe { task_of::<T>(cell).as_mut() }.stops());
    worker.commit();
    // What was committed must not be undone because of the panic.
    worker.begin_pause();
    stops.unwrap_or_else(|panic| panic.resume())
}

/// Returns the next batch of messages. Returns `None` if the activation has ended.
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
        match envelope.kind() {
            Kind::Messages => {}
            Kind::Stop => {
                worker.drop_oldest(cell);
                if stops::<T>(cell, worker) {
                    worker.stop(cell, &Ended::Stopped);
                    return None;
                }
                continue;
            }
            Kind::Move => {
                if worker.move_away(cell, oldest) {
                    return None;
                }
                worker.limits.set(Limits::of(cell, worker));
                continue;
            }
            Kind::Trail => return batch_with_trail::<T>(cell, worker, envelope.next()),
            _ => {}
        }
        let mut max = end_measured::<T>(worker);
        if T::COMMITS_LATER {
            // A turn may take messages out of the mailbox, so no batch reaches beyond it.
            max = 1;
        }
        let count = worker.take_share(envelope, max);
        if count == 0 {
            worker.requeue_rest(cell);
            worker.keep_pace();
            return None;
        }
        if envelope.kind() == Kind::Nudge {
            worker.drop_oldest(cell);
            match nudge::<T>(cell, worker) {
                Next::Go => continue,
                Next::Over => stop(cell, worker, true),
                Next::Later => {}
            }
            return None;
        }
        // SAFETY: the oldest message, in an envelope for messages of this type.
        let at = unsafe { parcel::oldest::<T::Message>(oldest) };
        // SAFETY: as above; it is moved out later.
        unsafe { measure::<T>(worker, count, at) };
        let slot = u32::from(envelope.read()) - 1;
        envelope.set_read(slot as u16);
        let mut batch = Batch {
            at,
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

/// Returns a batch that contains only the message in `oldest`. In front of this message, the
/// mailbox has a trail (a trace context). Removes the trail. The trail becomes the trail of the
/// turn that handles the message, unless the task is declared with `Task::COMMITS_LATER`. Returns
/// `None` if the activation must not handle the message.
#[cold]
fn batch_with_trail<T: Task>(
    cell: CellPtr,
    worker: &Worker,
    oldest: *mut Envelope,
) -> Option<Batch> {
    end_measured::<T>(worker);
    // SAFETY: the message of a trail follows it in the local mailbox, which is ours.
    let envelope = unsafe { &*oldest };
    if worker.take_share(envelope, 1) == 0 {
        worker.requeue_rest(cell);
        worker.keep_pace();
        return None;
    }
    worker.take_trail(cell, !T::COMMITS_LATER);
    // SAFETY: the oldest message, in an envelope for messages of this type. It is moved out later.
    let at = unsafe { parcel::oldest::<T::Message>(oldest) };
    // SAFETY: as above.
    unsafe { measure::<T>(worker, 1, at) };
    let slot = u32::from(envelope.read()) - 1;
    envelope.set_read(slot as u16);
    if envelope.unread() == 0 {
        worker.hold(cell.take_oldest());
    }
    Some(Batch {
        at,
        slot,
        last: slot,
        envelope: oldest,
        // The cell stays scheduled, as during a nudge.
        busy: true,
    })
}

/// Ends the measurement of the turn that has just run, if turns are measured for each kind of
/// message. Returns the maximum number of turns before the next call of [`measure`].
#[inline]
fn end_measured<T: Task>(worker: &Worker) -> u32 {
    if const { T::MESSAGES.is_empty() } {
        return u32::MAX;
    }
    worker.end_measured()
}

/// Begins to measure the first of the next `count` turns, if that turn was selected as a sample.
/// `at` points to the message of the turn.
///
/// # Safety
/// `at` points to a message of the task's type. The worker handles this message next.
#[inline]
unsafe fn measure<T: Task>(worker: &Worker, count: u32, at: *const u8) {
    if const { !T::MESSAGES.is_empty() } {
        // SAFETY: by contract. The message stays there during the call, because other threads only
        // append to a mailbox, and this worker runs the foreign code outside of turns.
        worker.measure_turns(count, || unsafe { parcel::look_at(at, T::message_kind) });
    }
}

/// Runs one turn without a message, because a nudge (a request for such a turn) has arrived.
#[cold]
fn nudge<T: Task>(cell: CellPtr, worker: &Worker) -> Next {
    worker.begin_turn();
    // SAFETY: as in `turn`.
    let task = unsafe { task_of::<T>(cell).as_mut() };
    if T::COMMITS_LATER {
        worker.later.open(false);
    }
    let flow = task.nudged(&Turn::new(worker, cell));
    if T::COMMITS_LATER
        && let Some(next) = ends_later(cell, worker, flow)
    {
        return next;
    }
    finish_turn(cell, worker, flow)
}

/// Prepares the handling of the last message of a batch. If this message is also the last one in
/// its envelope, removes the envelope from the mailbox. Returns true if more messages are waiting.
/// Otherwise, marks the cell as no longer scheduled, and returns false.
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

/// Calls the start function of a task in a separate turn.
#[cold]
fn start<T: Task>(cell: CellPtr, worker: &Worker) -> Next {
    cell.end_youth();
    worker.begin_turn();
    // SAFETY: as in `turn`.
    let task = unsafe { task_of::<T>(cell).as_mut() };
    let flow = task.start(&Turn::new(worker, cell));
    finish_turn(cell, worker, flow)
}

/// Calls the function `recover` of a task after a panic of the task. Returns true if the task
/// continues. Used as [`Table::recover`](crate::cell::Table).
///
/// # Safety
/// The requirements of [`run`] apply. In addition, the cell no longer runs.
pub(crate) unsafe fn recover<T: Task>(cell: CellPtr, worker: NonNull<()>, message: &str) -> bool {
    // SAFETY: by contract.
    let worker = unsafe { worker.cast::<Worker>().as_ref() };
    cell.check_home(worker.home);
    worker.begin_turn();
    // SAFETY: as in `turn`.
    let task = unsafe { task_of::<T>(cell).as_mut() };
    let flow = task.recover(message, &Turn::new(worker, cell));
    finish_turn(cell, worker, flow) == Next::Go
}

/// Finishes an activation of a cell whose mailbox is empty. If nothing can send a message to the
/// cell any more, drops its task and frees the cell. Otherwise the cell becomes idle.
///
/// A task without a destructor whose end nobody observes is freed here, without any call that
/// needs saved registers. All other tasks are freed by [`free_with_calls`].
#[inline(never)]
fn finish<T: Task>(cell: CellPtr, worker: &Worker) {
    if cell.local_refs() != 0 || !worker.is_unreachable(cell) {
        return cell.rest(worker.home);
    }
    // The previous turn is over. Messages from a destructor are in no turn, and stay sent if the
    // destructor panics after that.
    worker.begin_pause();
    let has_destructor = const { mem::needs_drop::<T>() || T::BOUNDED.is_bounded() };
    let is_observed = worker.shared.hooks.are_active() || cell.is_watched();
    if has_destructor || is_observed || !worker.counts_end(cell) {
        let has_begun_count = !has_destructor && !is_observed;
        return free_with_calls::<T>(cell, worker, has_begun_count);
    }
    cell.condemn_at(worker.home);
    // SAFETY: nobody can reach the cell, which is ours; its task has no destructor.
    unsafe { free::<T>(cell, worker) };
}

/// Drops the task of an unreachable cell, and frees the cell. Calls the destructor of the task and
/// the watchers, if there are any. `has_begun_count` is true if [`Worker::counts_end`] was called
/// and has returned false.
#[inline(never)]
fn free_with_calls<T: Task>(cell: CellPtr, worker: &Worker, has_begun_count: bool) {
    if const { mem::needs_drop::<T>() } || cell.is_watched() {
        // A destructor or a notice may take a long time.
        worker.let_others_after_turn();
    }
    if has_begun_count {
        worker.count_other_ended(cell.table());
    } else {
        worker.count_ended(cell);
    }
    worker.shared.hooks.gone(cell);
    // SAFETY: nobody can reach the cell, which is ours; its task is of type `T`.
    unsafe {
        cell.condemn_at(worker.home);
        worker.tell_watchers(cell, &Ended::Unreachable);
        if let Err(panic) = quiet::call(|| task_of::<T>(cell).drop_in_place()) {
            worker.drop_failed(cell.table(), &panic);
        }
        if T::BOUNDED.is_bounded() {
            // The room is the last value that is left in the block.
            drop_room(cell);
        }
        free::<T>(cell, worker);
    }
}

/// Frees a cell, and commits what its destructors have sent.
///
/// # Safety
/// The cell belongs to the worker, nothing can send a message to it, and its task, of type `T`, was
/// dropped or has no destructor. The cell is not used after the call.
#[inline(always)]
unsafe fn free<T: Task>(cell: CellPtr, worker: &Worker) {
    // From here on the block may belong to another cell.
    worker.forget_running();
    // SAFETY: by contract.
    unsafe { worker.pool.give_cell(class_of::<T>(), cell) };
    worker.commit();
}

/// Runs a cell whose task was dropped. Its messages are dead letters.
///
/// # Safety
/// The requirements of [`run`] apply, except for the type of the task.
pub(crate) unsafe fn run_dead(cell: CellPtr, worker: NonNull<()>, message: *const Slot) {
    // SAFETY: by contract.
    let worker = unsafe { worker.cast::<Worker>().as_ref() };
    cell.check_home(worker.home);
    worker.drop_dead(cell, message);
}
