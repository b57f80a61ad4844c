//! A turn: the handling of one message, and the operations that the handler may use.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use crate::cell::{CellPtr, Envelope, Kind};
use crate::parcel;
use crate::runtime::address::{Address, SendError, TaskId};
use crate::runtime::bounded;
use crate::runtime::sponsor::{Handle, away};
use crate::runtime::stage::Given;
use crate::runtime::task::{self, Task};
use crate::runtime::timer::{Later, Timer, owners};
use crate::runtime::watch::{Ended, Watch};
use crate::runtime::worker::Worker;
use crate::world::{Nanos, nanos};

/// The current turn, as its handler sees it.
///
/// Everything that a handler does through a turn, or through [`Address::send`], is staged: it
/// happens when the turn commits, or not at all.
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

    /// Sends `message` to `to` once `delay` has passed. The timers' resolution is about 10 us.
    /// Until then the message keeps its receiver alive.
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

    /// Uses up the place in a bounded mailbox of a message that the task has held back, and handles
    /// in this turn.
    #[doc(hidden)]
    pub fn use_up_place(&self) {
        if self.cell.is_bounded() {
            // SAFETY: it is bounded, and runs.
            unsafe { bounded::room_of(self.cell) }.use_up();
        }
    }

    /// Returns the name of the type of the task whose turn this is.
    #[doc(hidden)]
    #[must_use]
    pub fn task_name(&self) -> &'static str {
        let running = self.worker.running().unwrap_or(self.cell);
        (running.table().name)()
    }

    /// Registers an action for the end of this turn.
    pub(super) fn give(&self, given: Given) {
        self.worker.stage.give(given);
    }

    /// Makes a timer that this turn sets, once.
    ///
    /// A timer that is never set must be cancelled: it takes up room until then.
    #[doc(hidden)]
    pub fn timer(&self) -> Timer {
        Timer::once(self.worker.timers.wheel)
    }

    /// Sets a timer: `message` is sent to `to` at `deadline`, a time of [`Turn::now`], unless the
    /// timer is cancelled first. If the timer is set already, its earlier message is dropped. Until
    /// the deadline the message keeps its receiver alive.
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

    /// Sets a timer like [`Turn::set_timer`]. The timer also ends with this task, and with a call
    /// of [`cancel_timers_of`](crate::cancel_timers_of) for it.
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

    /// Makes a timer and sets it once, like [`Turn::set_own_timer`], `delay` from now.
    ///
    /// # Errors
    /// Gives the message back if the task is known to have stopped.
    #[doc(hidden)]
    pub fn start_own_timer<N: Send + 'static>(
        &self,
        delay: Duration,
        to: &Address<N>,
        message: N,
    ) -> Result<Timer, SendError<N>> {
        let timer = self.timer();
        let deadline = self.now().saturating_add(nanos(delay));
        match self.set_own_timer(&timer, deadline, to, message) {
            Ok(()) => Ok(timer),
            Err(error) => {
                timer.cancel();
                Err(error)
            }
        }
    }

    /// Stages a message that is sent at `deadline`. The message may belong to a timer, and the
    /// timer to a task that it ends with.
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

    /// Makes a new task on this worker. If the turn is undone, nothing can have reached the task,
    /// and it is dropped with its address.
    #[inline]
    pub fn spawn<T>(&self, task: T) -> Address<T::Message>
    where
        T: Task + Send,
        T::Message: Send,
    {
        self.worker.spawn(task)
    }

    /// Notifies this task when another task ends, by a message that `convert` makes of the
    /// [`Ended`] value. The notice comes after everything that the other task has sent before. The
    /// watch keeps this task alive until then.
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
            // A watcher that has stopped needs no notice.
            let _ = watcher.send(convert(ended));
        })
    }

    /// Calls `f`, which may block the thread: on a file, a database, a lock or a computation.
    /// Meanwhile another thread runs the other tasks of this worker, and new messages for this task
    /// wait.
    ///
    /// `f` belongs to no turn. Messages that `f` sends go out at once, before the messages of this
    /// turn, and stay sent if the turn is undone. `f` cannot use the turn, and so must be `Send`.
    /// Messages that the turn sends, before `f` and after it, go out when the turn commits, in the
    /// order of sending.
    ///
    /// `garrick bench blocking` measures the cost of a call. At most
    /// [`Builder::blocking_threads`](crate::Builder::blocking_threads) turns can be in here at once
    /// without their worker. A further turn keeps its worker meanwhile. So does a turn on a worker
    /// that is pinned or has a driver, on a [`Here`](crate::Here), and in [`Task::recover`].
    ///
    /// # Panics
    /// Panics if `f` panics. The turn is undone then, as by any other panic.
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
    /// The turn cannot be used inside of `f`:
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

    /// Returns the address of the task that runs this turn.
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

    /// Returns this turn, seen as a turn of the task with the address `front`. Used for a task that
    /// stands behind a [`door`](crate::door()), and handles messages of the door's type.
    #[doc(hidden)]
    #[must_use]
    pub fn seen_as<'b, N: 'static>(&'b self, front: &'b Address<N>) -> Turn<'b, N> {
        Turn::new(self.worker, front.cell())
    }

    /// Makes a new task on another sponsor. If the turn is undone, nothing can have reached the
    /// task, and it is dropped with its address. A sponsor that has ended takes no tasks: the task
    /// then lives on this worker.
    pub fn spawn_on<T>(&self, sponsor: &Handle, task: T) -> Address<T::Message>
    where
        T: Task + Send,
        T::Message: Send,
    {
        let worker = self.worker;
        let cell = task::new_cell(&worker.pool, worker.home, task, true);
        worker.lane.begun(cell);
        // The task starts on the sponsor where it is to live.
        worker.send_note(cell, move_note(worker, sponsor));
        // SAFETY: the cell was made for this task, with one reference.
        unsafe { Address::from_counted(cell) }
    }

    /// Moves `to` to another sponsor and sends it `message`, which it handles there (SENDX of the
    /// Lisp TActors). Messages that were sent before are handled at the old place. Two kinds of
    /// tasks do not move, but handle the message all the same: a task made by
    /// [`Here::spawn`](crate::Here::spawn), which may not be `Send`, and a task whose new sponsor
    /// has ended.
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
        let begin_move = || worker.send_note(cell, move_note(worker, sponsor));
        if cell.is_bounded() {
            // SAFETY: it is bounded, and the address is a reference.
            return unsafe { worker.send_to_bounded(cell, message, false, begin_move) };
        }
        begin_move();
        worker.send(to, message)
    }

    /// Calls [`Task::nudged`] of a task, without a message, after everything that was sent to it
    /// before. Does nothing if the task has stopped, or is a [`door`](crate::door()).
    #[doc(hidden)]
    pub fn nudge<N: 'static>(&self, to: &Address<N>) {
        let (worker, cell) = (self.worker, to.cell());
        if !cell.is_door() {
            worker.send_note(cell, worker.pool.take_envelope(Kind::Nudge, 0, 0));
        }
    }

    /// Returns true if another message waits in this task's mailbox, to be handled next. A task
    /// that handles messages in batches processes its batch when this returns false. Messages still
    /// in transit from other threads are not counted.
    pub fn has_more(&self) -> bool {
        if let Some(has_more) = self.worker.visit_has_more() {
            return has_more;
        }
        // Not `self.cell`, which may be an address that the task is seen as.
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

    /// Returns the time of the sponsor's world, in nanoseconds.
    pub fn now(&self) -> Nanos {
        self.worker.now()
    }

    /// Returns the sponsor that runs this turn.
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
