//! A turn: the handling of one message, and what the handler may do meanwhile.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use crate::cell::{CellPtr, Envelope, Kind};
use crate::parcel;
use crate::runtime::address::{Address, SendError, TaskId};
use crate::runtime::sponsor::{Handle, away};
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

    /// Starts a timer that this turn sets, once, as [`Turn::set_own_timer`] does.
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
        let begin_move = || worker.send_note(cell, move_note(worker, sponsor));
        if cell.is_bounded() {
            // SAFETY: it is bounded, and the address is a reference.
            return unsafe { worker.send_to_bounded(cell, message, false, begin_move) };
        }
        begin_move();
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
