//! A turn: the handling of one message, and what the handler may do meanwhile.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use crate::cell::{CellPtr, Envelope, Kind, SCHEDULED, flag, tail_of};
use crate::parcel;
use crate::run_queue::fits_slot;
use crate::runtime::address::{Address, SendError, TaskId};
use crate::runtime::sponsor::{Handle, away};
use crate::runtime::stage;
use crate::runtime::task::{self, Task};
use crate::runtime::timer::{Later, Timer, owners};
use crate::runtime::watch::{Ended, Watch};
use crate::runtime::worker::Worker;
use crate::world::{Nanos, nanos};

/// The turn under way, as its handler sees it.
///
/// What a handler does through it, or through [`Address::send`], is staged: it happens when the turn
/// commits, or not at all.
pub struct Turn<'a, M> {
    worker: &'a Worker,
    cell: CellPtr,
    message: PhantomData<fn(M)>,
}

impl<M: 'static> Turn<'_, M> {
    #[inline]
    pub(crate) fn new(worker: &Worker, cell: CellPtr) -> Turn<'_, M> {
        Turn {
            worker,
            cell,
            message: PhantomData,
        }
    }

    /// Sends `message` to `to`.
    ///
    /// # Errors
    /// Gives the message back if the task is known to have stopped.
    #[inline]
    pub fn send<N: 'static>(&self, to: &Address<N>, message: N) -> Result<(), SendError<N>> {
        self.worker.send(to, message)
    }

    /// Sends `message` to `to` once `delay` has passed, to the timers' resolution of some 10 us. Until then
    /// the message keeps its receiver alive.
    ///
    /// # Errors
    /// Gives the message back if the task is known to have stopped.
    pub fn send_after<N: 'static>(
        &self,
        delay: Duration,
        to: &Address<N>,
        message: N,
    ) -> Result<(), SendError<N>> {
        let deadline = self.now().saturating_add(nanos(delay));
        self.send_later(deadline, to, message, None)
    }

    /// Makes a timer that this turn sets, once.
    ///
    /// One that is not set must be cancelled: it takes up room until then.
    #[doc(hidden)]
    pub fn timer(&self) -> Timer {
        Timer::once(self.worker.timers.wheel)
    }

    /// Sets a timer: `message` is sent to `to` at `deadline`, a time of [`Turn::now`], if the timer is not cancelled before. If the timer
    /// is set already, that message is dropped. Until then the message keeps its receiver alive.
    ///
    /// # Errors
    /// Gives the message back if the task is known to have stopped.
    #[doc(hidden)]
    pub fn set_timer<N: Send + 'static>(
        &self,
        timer: &Timer,
        deadline: Nanos,
        to: &Address<N>,
        message: N,
    ) -> Result<(), SendError<N>> {
        self.send_later(deadline, to, message, Some((timer, None)))
    }

    /// Sets a timer as [`Turn::set_timer`] does, which ends with this task, and with [`cancel_timers_of`](crate::cancel_timers_of) of it.
    ///
    /// # Errors
    /// Gives the message back if the task is known to have stopped.
    #[doc(hidden)]
    pub fn set_own_timer<N: Send + 'static>(
        &self,
        timer: &Timer,
        deadline: Nanos,
        to: &Address<N>,
        message: N,
    ) -> Result<(), SendError<N>> {
        let address = self.address();
        let owner = address.id();
        self.send_later(deadline, to, message, Some((timer, Some(owner))))?;
        if !owners::knows(owner) && self.worker.stage.watches_timers(self.worker.turn()) {
            address.watch(move |_| owners::forget(owner));
        }
        Ok(())
    }

    /// Stages a message that is sent at `deadline`, by a timer, if there is one, which ends with a task, if there is one.
    fn send_later<N: 'static>(
        &self,
        deadline: Nanos,
        to: &Address<N>,
        message: N,
        timer: Option<(&Timer, Option<TaskId>)>,
    ) -> Result<(), SendError<N>> {
        if to.is_stopped() {
            return Err(SendError(message));
        }
        let worker = self.worker;
        worker.count_reference(to.cell());
        let envelope = parcel::alone(&worker.pool, message);
        let mut later = Later::new(deadline, to.cell(), envelope);
        if let Some((timer, owner)) = timer {
            later = later.by(timer, owner);
        }
        worker.stage.send_later(later);
        Ok(())
    }

    /// Makes a new task on this worker. If the turn is undone nothing can have reached it, and it is
    /// dropped with its address.
    #[inline]
    pub fn spawn<T>(&self, task: T) -> Address<T::Message>
    where
        T: Task + Send,
        T::Message: Send,
    {
        self.worker.spawn(task)
    }

    /// Lets this task know when another one ends: as a message that `convert` makes of how it ended, behind
    /// everything that the other one has sent before. The watch keeps this task alive until then.
    pub fn watch<N: 'static>(
        &self,
        whom: &Address<N>,
        convert: impl FnOnce(Ended) -> M + Send + 'static,
    ) -> Watch
    where
        M: Send,
    {
        let watcher = self.address();
        whom.watch(move |ended| {
            // A watcher that has stopped does not miss the notice.
            let _ = watcher.send(convert(ended));
        })
    }

    /// Calls `f`, which may block the thread: for a file, a database, a lock, a computation. Meanwhile another thread runs the other
    /// tasks of this worker, and whatever comes for this task waits.
    ///
    /// `f` is in no turn. What it sends is sent at once, before what this turn has sent, and stays sent if the turn is undone.
    /// `f` cannot use the turn, and so must be `Send`. What the turn sends, before `f` and after it, happens when it commits, in
    /// the order of sending.
    ///
    /// `garrick bench blocking` measures the cost of a call. As many turns as
    /// [`Builder::blocking_threads`](crate::Builder::blocking_threads) says can be in here at once. A further one keeps its worker
    /// meanwhile, and so does one on a worker that is pinned or has a driver, on a [`Here`](crate::Here), and in
    /// [`Task::recover`].
    ///
    /// # Panics
    /// If `f` panics. The turn is undone then, as by any other panic.
    ///
    /// # Examples
    /// ```
    /// use std::{thread, time::Duration};
    /// use garrick_sched::{Flow, Reply, Sponsor, Task, Turn};
    ///
    /// struct Slow;
    /// impl Task for Slow {
    ///     type Message = Reply<u32>;
    ///     fn receive(&mut self, reply: Reply<u32>, turn: &Turn<'_, Self::Message>) -> Flow {
    ///         let answer = turn.blocking(|| {
    ///             thread::sleep(Duration::from_millis(1));
    ///             42
    ///         });
    ///         reply.send(answer);
    ///         Flow::Continue
    ///     }
    /// }
    ///
    /// let sponsor = Sponsor::pool(1)?;
    /// let slow = sponsor.handle().spawn(Slow)?;
    /// assert_eq!(slow.ask(|reply| reply).wait(), Ok(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    /// The turn cannot be used in there:
    /// ```compile_fail,E0277
    /// use garrick_sched::{Address, Turn};
    ///
    /// fn wrong(turn: &Turn<'_, u32>, to: &Address<u32>) {
    ///     turn.blocking(|| turn.send(to, 1).is_ok());
    /// }
    /// ```
    pub fn blocking<R>(&self, f: impl FnOnce() -> R + Send) -> R {
        away::blocking(self.worker, f)
    }

    /// The address of the task whose turn it is.
    #[inline]
    pub fn address(&self) -> Address<M> {
        if self.cell.home() == self.worker.home {
            self.cell.clone_local();
        } else {
            self.cell.clone_foreign();
        }
        // SAFETY: the turn's type says what the cell receives, and the reference was counted above.
        unsafe { Address::from_counted(self.cell) }
    }

    /// This turn as that of a task which is known by the address `front`: for a task that stands behind a
    /// [`door`](crate::door()), and handles the messages of the door's kind.
    #[doc(hidden)]
    #[must_use]
    pub fn seen_as<'b, N: 'static>(&'b self, front: &'b Address<N>) -> Turn<'b, N> {
        Turn::new(self.worker, front.cell())
    }

    /// Makes a new task on another sponsor. If the turn is undone nothing can have reached it, and it is
    /// dropped with its address. A sponsor that has ended takes nobody: the task then lives on this worker.
    pub fn spawn_on<T>(&self, sponsor: &Handle, task: T) -> Address<T::Message>
    where
        T: Task + Send,
        T::Message: Send,
    {
        let worker = self.worker;
        let cell = task::new_cell(&worker.pool, worker.home, task, true);
        worker.lane.begun(cell);
        // It starts where it is to live.
        worker.send_note(cell, move_note(worker, sponsor));
        // SAFETY: the cell was made for this task, with one reference.
        unsafe { Address::from_counted(cell) }
    }

    /// Sends `message` to `to`, which handles it on that sponsor and stays there: seed 004's SENDX. What was sent
    /// to it before is handled where it was. A task that was made by [`Here::spawn`](crate::Here::spawn), and
    /// so may not be `Send`, stays where it is, and so does one whose new sponsor has ended: it handles the
    /// message all the same.
    ///
    /// # Errors
    /// Gives the message back if the task is known to have stopped.
    pub fn send_on<N: 'static>(
        &self,
        sponsor: &Handle,
        to: &Address<N>,
        message: N,
    ) -> Result<(), SendError<N>> {
        let (worker, cell) = (self.worker, to.cell());
        if cell.is_door() {
            return worker.send(to, message);
        }
        if to.is_stopped() {
            return Err(SendError(message));
        }
        worker.send_note(cell, move_note(worker, sponsor));
        worker.send(to, message)
    }

    /// Has a task called without a message, by [`Task::nudged`], behind what was sent to it before. Nothing comes of it if the task has
    /// stopped, or is a [`door`](crate::door()).
    #[doc(hidden)]
    pub fn nudge<N: 'static>(&self, to: &Address<N>) {
        let (worker, cell) = (self.worker, to.cell());
        if !cell.is_door() {
            worker.send_note(cell, worker.pool.take_envelope(Kind::Nudge, 0, 0));
        }
    }

    /// Whether another message waits in the mailbox of the task whose turn it is, which will be handled next. One that
    /// gathers messages, to do something for several of them at once, does it when this is false. What is still on its
    /// way from other threads is not seen.
    pub fn has_more(&self) -> bool {
        if let Some(has_more) = self.worker.visit_has_more() {
            return has_more;
        }
        // Not of `self.cell`, which may be an address that the task is seen as.
        let Some(cell) = self.worker.running() else {
            return false;
        };
        let tail = cell.mailbox_tail();
        // SAFETY: the cell runs here, so its local mailbox is ours; it is circular.
        unsafe {
            let oldest = tail.as_ref().map(|tail| &*tail.next());
            oldest.is_some_and(|oldest| oldest.kind() == Kind::Messages && oldest.unread() > 0)
        }
    }

    /// The time of the sponsor's world, in nanoseconds.
    pub fn now(&self) -> Nanos {
        self.worker.now()
    }

    /// The sponsor that runs this.
    pub fn sponsor(&self) -> Handle {
        self.worker.sponsor_handle()
    }
}

fn move_note(worker: &Worker, to: &Handle) -> *mut Envelope {
    parcel::note(&worker.pool, Kind::Move, to.clone())
}

impl<M> fmt::Debug for Turn<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("cell", &self.cell)
            .finish_non_exhaustive()
    }
}

impl Worker {
    /// Sends from this worker: a staged send. Two comparisons of whole state words find the two cases that
    /// matter; everything else is `send_on`'s, so that little code stands at each place that sends.
    #[inline(always)]
    pub(crate) fn send<M: 'static>(&self, to: &Address<M>, message: M) -> Result<(), SendError<M>> {
        let cell = to.cell();
        if !cell.inbox_is_idle() {
            return self.send_out(cell, message);
        }
        let state = cell.state();
        // A cell of ours that has nothing to do and nothing waiting.
        if fits_slot::<M>() && state == self.sends_at.get().idle() {
            if self.handoff.is_empty() && !self.is_running(cell) {
                cell.set_state(state | SCHEDULED);
                self.handoff.put(self.turn(), cell, message);
                return Ok(());
            }
        } else if state == self.stage.covered() {
            // A scheduled cell of ours that this turn has sent to before.
            // SAFETY: a covered mailbox is ours, and this one is for messages `M`.
            return match unsafe { parcel::put(tail_of(state), message) } {
                Ok(()) => Ok(()),
                Err(message) => self.send_on(cell, message),
            };
        }
        self.send_on(cell, message)
    }

    /// Whether a cell is ours, has not stopped, and nothing is on its way to it that came first.
    pub(crate) fn is_at_home_and_calm(&self, cell: CellPtr) -> bool {
        cell.inbox_is_idle() && cell.home() == self.home && !cell.has(flag::STOPPED)
    }

    /// Sends to such a cell from this worker's thread while it runs no turn: at once, and for good.
    pub(crate) fn send_between_turns<M: 'static>(&self, cell: CellPtr, message: M) {
        self.begin_pause();
        if cell.state() & !flag::NEWBORN == self.home.idle() {
            self.schedule_with(cell, message);
        } else {
            self.schedule(cell);
            stage::append_for_good(&self.pool, cell, message);
        }
    }

    /// Sends the first message to a newborn of ours, which is to run behind all that is ready by now: newborns run newest first,
    /// and what several of them carry for the same sender would come in the wrong order.
    pub(crate) fn send_in_line<M: 'static>(&self, to: &Address<M>, message: M) {
        let cell = to.cell();
        cell.set_state(self.home.idle() | SCHEDULED);
        if const { fits_slot::<M>() } {
            self.old.push_message(self.turn(), cell, message);
        } else {
            let envelope = parcel::alone(&self.pool, message);
            self.old.push_message(self.turn(), cell, envelope);
        }
    }

    /// A send to a cell whose inbox is idle. Each way ends in a call that takes everything along, so that there
    /// is nothing to keep for later.
    #[inline(never)]
    fn send_on<M: 'static>(&self, cell: CellPtr, message: M) -> Result<(), SendError<M>> {
        let state = cell.state();
        let idle = self.sends_at.get().idle();
        if state & !flag::NEWBORN != idle {
            return self.send_on_busy(cell, message);
        }
        self.schedule_with(cell, message);
        Ok(())
    }

    /// Has a cell of ours run with this message, which has nothing to do, or is newborn.
    #[inline(always)]
    fn schedule_with<M>(&self, cell: CellPtr, message: M) {
        let (state, idle) = (cell.state(), self.home.idle());
        cell.set_state(state | SCHEDULED);
        if const { fits_slot::<M>() } {
            // The first message to a newborn cell, or to one that is not to run next.
            let queue = if state == idle { &self.old } else { &self.born };
            queue.push_message(self.turn(), cell, message);
        } else {
            self.schedule_for(cell, state == idle, parcel::alone(&self.pool, message));
        }
    }

    /// Has a cell run with the one message of that envelope. A message of 40 bytes to an idle cell takes 36 ns by this, 80 by the
    /// cell's mailbox, and one that fits a slot 25 (ten receivers a turn, Zen 3).
    #[inline(never)]
    fn schedule_for(&self, cell: CellPtr, was_idle: bool, envelope: *mut Envelope) {
        if !was_idle {
            self.born.push_message(self.turn(), cell, envelope);
        } else if self.handoff.is_empty() && !self.is_running(cell) {
            self.handoff.put(self.turn(), cell, envelope);
        } else {
            self.old.push_message(self.turn(), cell, envelope);
        }
    }

    /// The same for a cell that may have something to do already.
    #[inline(never)]
    fn send_on_busy<M: 'static>(&self, cell: CellPtr, message: M) -> Result<(), SendError<M>> {
        if cell.home() != self.sends_at.get() || cell.has(flag::STOPPED) {
            return self.send_out(cell, message);
        }
        self.schedule(cell);
        self.stage.append(&self.pool, cell, message);
        Ok(())
    }

    /// A message to a cell of another worker, or to one of ours that foreign threads have reached: that
    /// must go the same way as theirs, or it would overtake what its own sender sent from elsewhere
    /// (README, invariant 5).
    #[inline(always)]
    fn send_out<M: 'static>(&self, cell: CellPtr, message: M) -> Result<(), SendError<M>> {
        self.stage.send_out(&self.pool, cell, message)
    }

    /// Sends a message that came back, if the only reason was a closed gate.
    #[cold]
    pub(crate) fn send_past_gate<M: 'static>(
        &self,
        to: &Address<M>,
        message: M,
    ) -> Result<(), SendError<M>> {
        (self.stage).send_out_to_other(&self.pool, to.cell(), message, true)
    }

    /// A staged note to a cell, in order with the messages to it.
    pub(crate) fn send_note(&self, cell: CellPtr, note: *mut Envelope) {
        if cell.home() == self.sends_at.get() && cell.inbox_is_idle() && !cell.has(flag::STOPPED) {
            self.schedule(cell);
            self.stage.append_note(cell, note);
        } else {
            self.stage.send_note(cell, note);
        }
    }

    /// Makes a cell here, which may go to another worker.
    #[inline]
    pub(crate) fn spawn<T>(&self, task: T) -> Address<T::Message>
    where
        T: Task + Send,
        T::Message: Send,
    {
        self.spawn_as(task, true)
    }

    /// Makes a cell here. One that `moves` asks for a task and messages that are `Send`.
    #[inline]
    pub(crate) fn spawn_as<T: Task>(&self, task: T, moves: bool) -> Address<T::Message> {
        let cell = task::new_cell(&self.pool, self.home, task, moves);
        self.lane.begun(cell);
        if T::STARTS {
            cell.set(SCHEDULED);
            self.born.push_cell(self.turn(), cell);
        }
        // SAFETY: the cell was made for this task, with one reference.
        unsafe { Address::from_counted(cell) }
    }
}
