//! A turn: the handling of one message, and the operations that the handler can use.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::cell::{CellPtr, Envelope, Kind, TaskId};
use crate::parcel;
use crate::runtime::address::{Address, SendError};
use crate::runtime::pending::Pending;
use crate::runtime::room::room_of;
use crate::runtime::sponsor::{Handle, away};
use crate::runtime::stage::Given;
use crate::runtime::timer::{Later, Timer, owners};
use crate::runtime::trail::Trail;
use crate::runtime::watch::{Ended, Watch, ends_as_failed};
use crate::runtime::worker::Worker;
use crate::world::{Nanos, nanos};

/// The current turn: the handling of one message. The handler gets this value together with the
/// message, and uses it to send messages and to spawn tasks.
///
/// All effects of a turn are staged, including messages that are sent by [`Address::send`] during
/// the turn. The effects take place when the turn commits, and not at all if the turn is undone.
pub struct Turn<'a, M> {
    pub(super) worker: &'a Worker,
    cell: CellPtr,
    /// Makes the turn invariant, because a turn also returns messages:
    /// ```compile_fail,E0308
    /// use garrick_sched::Turn;
    ///
    /// fn other<'a>(turn: &'a Turn<'a, fn(&'static str)>) -> &'a Turn<'a, for<'b> fn(&'b str)> {
    ///     turn
    /// }
    /// ```
    message: PhantomData<fn(M) -> M>,
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
    /// Returns the message if the receiving task is known to have stopped, or if the message is not
    /// accepted for another reason ([`SendError`]).
    #[inline]
    pub fn send<N: 'static>(&self, to: &Address<N>, message: N) -> Result<(), SendError<N>> {
        self.worker.send(to, message)
    }

    /// Sends `message` to `to` after `delay`. Timers have a resolution of about 10 us. Until the
    /// message is sent, the message keeps its receiver alive. The message must be [`Send`], because
    /// the worker may continue on another thread before the delay has passed.
    ///
    /// # Errors
    /// Returns the message if the receiving task is known to have stopped.
    pub fn send_after<N: Send + 'static>(
        &self,
        delay: Duration,
        to: &Address<N>,
        message: N,
    ) -> Result<(), SendError<N>> {
        let deadline = self.now().saturating_add(nanos(delay));
        self.send_later(deadline, to, message, None)
    }

    /// Frees the place that a message occupies in the task's bounded mailbox. If the task has held
    /// a message back, it must call this method when it handles the message. Does nothing if the
    /// mailbox has no bound.
    #[doc(hidden)]
    pub fn use_up_place(&self) {
        if self.cell.is_bounded() {
            // SAFETY: it is bounded, and runs.
            unsafe { room_of(self.cell) }.use_up();
        }
    }

    /// Returns the name of the task that runs this turn. By default, this is the name of its type.
    #[doc(hidden)]
    #[must_use]
    pub fn task_name(&self) -> &'static str {
        (self.running().table().name)()
    }

    /// Cancels the failure of this turn if a simulation has chosen to let the turn fail. Turns that
    /// run no user code call this method, because such turns cannot fail in production.
    #[doc(hidden)]
    pub fn spare(&self) {
        self.worker.shared.hooks.spare();
    }

    /// Counts this turn as failed, for telemetry. Panics are counted automatically.
    #[doc(hidden)]
    pub fn count_failure(&self) {
        self.worker.lane.failed(self.running().table());
    }

    /// Counts a panic that the task has caught during this turn, as if the panic had ended the turn
    /// and the task had then recovered. The task must report the panic itself.
    #[doc(hidden)]
    pub fn count_caught_panic(&self) {
        self.count_failure();
        self.worker.shared.count_failure();
        self.worker.lane.recovered(self.running());
    }

    /// Counts a restart of the task that runs this turn, for telemetry.
    #[doc(hidden)]
    pub fn count_restart(&self) {
        self.worker.lane.restarted(self.running());
    }

    /// Returns the cell of the task that runs this turn. If the turn calls a door (a function
    /// behind an address), this is the cell of the sender, not the cell of the door.
    fn running(&self) -> CellPtr {
        self.worker.running().unwrap_or(self.cell)
    }

    /// Registers an action for the end of this turn, such as the publication of an answer.
    pub(super) fn give(&self, given: Given) {
        self.worker.stage.give(given);
    }

    /// Creates a timer for a single message. This turn can set the timer once, by
    /// [`Turn::set_timer`] or [`Turn::set_own_timer`]. Use [`Timer::repeating`] for a timer that is
    /// set several times.
    ///
    /// A timer that is not set must be cancelled, because it uses memory until it is cancelled.
    #[doc(hidden)]
    pub fn timer(&self) -> Timer {
        Timer::once(self.worker.timers.wheel)
    }

    /// Sets a timer, which sends `message` to `to` at `deadline`, unless the timer is cancelled
    /// before the deadline.
    ///
    /// `deadline` is a point in time by the clock of [`Turn::now`]. Until the deadline, the message
    /// keeps its receiver alive.
    ///
    /// If a [repeating](Timer::repeating) timer is set again before its deadline, its previous
    /// message is dropped. If the timer was cancelled before, or is a timer of [`Turn::timer`] that
    /// was already set, `message` is dropped.
    ///
    /// # Errors
    /// Returns the message if the receiving task is known to have stopped.
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

    /// Sets a timer like [`Turn::set_timer`]. In addition, the timer is cancelled when the task
    /// that runs this turn ends, or when [`cancel_timers_of`](crate::cancel_timers_of) is called
    /// for that task.
    ///
    /// # Errors
    /// Returns the message if the receiving task is known to have stopped.
    #[doc(hidden)]
    pub fn set_own_timer<N: Send + 'static>(
        &self,
        timer: &Timer,
        deadline: Nanos,
        to: &Address<N>,
        message: N,
    ) -> Result<(), SendError<N>> {
        if to.is_stopped() {
            return Err(SendError(message));
        }
        self.stage_own_timer(timer, deadline, to, message);
        Ok(())
    }

    /// Stages the message of a timer that the task of this turn owns.
    fn stage_own_timer<N: 'static>(
        &self,
        timer: &Timer,
        deadline: Nanos,
        to: &Address<N>,
        message: N,
    ) {
        let address = self.address();
        let owner = address.id();
        self.stage_later(deadline, to, message, Some((timer, Some(owner))));
        if !owners::knows(owner) && self.worker.stage.watches_timers(self.worker.turn()) {
            address.watch(move |_| owners::forget(owner));
        }
    }

    /// Creates a timer, and sets it like [`Turn::set_own_timer`]. The timer fires after `delay`.
    ///
    /// # Errors
    /// Returns the message if the receiving task is known to have stopped.
    #[doc(hidden)]
    pub fn start_own_timer<N: Send + 'static>(
        &self,
        delay: Duration,
        to: &Address<N>,
        message: N,
    ) -> Result<Timer, SendError<N>> {
        // Before the timer has a place in the wheel: a door may panic here, and a place of an
        // undone turn is freed only if the timer has a message.
        if to.is_stopped() {
            return Err(SendError(message));
        }
        let timer = self.timer();
        let deadline = self.now().saturating_add(nanos(delay));
        self.stage_own_timer(&timer, deadline, to, message);
        Ok(timer)
    }

    /// Stages a message that is sent at `deadline`, as [`Turn::stage_later`] does.
    ///
    /// # Errors
    /// Returns the message if the receiving task is known to have stopped.
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
        self.stage_later(deadline, to, message, timer);
        Ok(())
    }

    /// Stages a message that is sent at `deadline`. The message may belong to a timer. If the timer
    /// has an owner (a task), the timer is cancelled when the owner ends.
    fn stage_later<N: 'static>(
        &self,
        deadline: Nanos,
        to: &Address<N>,
        message: N,
        timer: Option<(&Timer, Option<TaskId>)>,
    ) {
        let worker = self.worker;
        worker.count_reference(to.cell());
        let envelope = parcel::alone(&worker.pool, message);
        let mut later = Later::new(deadline, to.cell(), envelope);
        if let Some((timer, owner)) = timer {
            later = later.by(timer, owner);
        }
        worker.stage.send_later(later);
    }

    /// Sets the reason of the end that the watchers of this task are told if this turn stops the
    /// task: the task has failed because of `why`.
    #[doc(hidden)]
    pub fn ends_as_failed(&self, why: &Arc<str>) {
        ends_as_failed(self.running(), why);
    }

    /// Watches another task. When the other task ends, `convert` creates a message from the
    /// [`Ended`] value, and this message is sent to the task that runs this turn.
    ///
    /// The message comes after all messages that the other task has sent to the watching task. The
    /// mailbox of the watching task accepts the message even if it is full. Until the message is
    /// sent, the watch keeps the watching task alive.
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
            let _ = watcher.send_promised(convert(ended));
        })
    }

    /// Calls `f`, which may block the thread, for example on a file, a database, a lock or a long
    /// computation.
    ///
    /// During the call, another thread runs the other tasks of this worker. New messages to this
    /// task wait until the turn has ended.
    ///
    /// `f` is not part of the turn. If `f` sends a message, the message is sent immediately, and
    /// therefore before the messages of this turn. The message is not taken back if the turn is
    /// undone. Messages that the turn itself sends, before or after the call, are sent in order
    /// when the turn commits. `f` must be `Send`, so that it cannot use the turn.
    ///
    /// `garrick bench blocking` measures the cost of a call. At most
    /// [`Builder::blocking_threads`](crate::Builder::blocking_threads) turns can block at the same
    /// time without blocking their workers. While this number of turns is blocking, each further
    /// call blocks its worker. In some cases, a call always blocks its worker: if the worker is
    /// pinned or has a driver, if the sponsor is a [`Here`](crate::Here), and during
    /// [`Task::recover`](crate::Task::recover).
    ///
    /// # Panics
    /// Panics if `f` panics. The turn is then undone, as after any other panic.
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
    /// The turn cannot be used in `f`, because another thread runs the worker meanwhile. Do not
    /// bypass this check by a wrapper that makes any value `Send`, even on the same thread: using
    /// the turn in `f` would be a data race.
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

    /// Returns the trail (a value such as a trace context) of this turn. If no trail was set during
    /// the turn, returns the trail that came with the message.
    #[doc(hidden)]
    #[must_use]
    pub fn trail(&self) -> Option<Trail> {
        self.worker.trail().filter(|trail| !trail.is_departure())
    }

    /// Sets the trail (a value such as a trace context) of this turn. The trail travels with the
    /// messages that the turn sends from now on. The trail does not travel with the messages of
    /// timers or to other nodes. Must not be called in a turn of a task with
    /// [`Task::COMMITS_LATER`](crate::Task::COMMITS_LATER).
    #[doc(hidden)]
    pub fn set_trail(&self, trail: Trail) {
        self.worker.set_trail(trail);
    }

    /// Leaves the decision about the commit of this turn to `decide`, which is called after the
    /// turn has ended. Until the turn is committed or undone, its effects are kept, and the task
    /// handles no other message.
    ///
    /// `decide` belongs to no turn. A panic of `decide` is caught. If the turn is undone, for
    /// example because it panics, `decide` is dropped without a call. A second call of this method
    /// in the same turn replaces the first function.
    ///
    /// # Panics
    /// Panics if the task is not declared with [`Task::COMMITS_LATER`](crate::Task::COMMITS_LATER),
    /// if an earlier [part](Turn::next_message) of the turn has called this method, or if the turn
    /// runs [`Task::start`](crate::Task::start) or [`Task::recover`](crate::Task::recover).
    #[doc(hidden)]
    #[track_caller]
    pub fn commit_later(&self, decide: impl FnOnce(Pending) + 'static) {
        self.worker.later.request(Box::new(decide));
    }

    /// Returns true if this turn has left its commit to a later decision, by
    /// [`Turn::commit_later`].
    #[doc(hidden)]
    #[must_use]
    pub fn commits_later(&self) -> bool {
        self.worker.later.is_requested()
    }

    /// Calls `first` when this turn has ended and waits for a decision about its commit. `first`
    /// belongs to no turn: what it sends is sent even if the turn is undone later. Drops `first` if
    /// the turn is undone before it has ended, or has not left its commit to a later decision.
    #[doc(hidden)]
    pub fn before_decision(&self, first: impl FnOnce() + 'static) {
        self.worker.later.precede(first);
    }

    /// Takes the next message out of the mailbox of the task. Returns `None` if there is no message
    /// that this run of the task (its activation) may handle, or if the turn has
    /// [blocked](Turn::blocking). Also returns `None` if the turn does not handle a message, if the
    /// task does not receive messages of type `M`, or if the task is not declared with
    /// [`Task::COMMITS_LATER`](crate::Task::COMMITS_LATER).
    ///
    /// Each message that is taken begins a new part of the turn. If the turn later panics or is
    /// discarded, only its last part is undone. The earlier parts are committed together, before
    /// the task fails or handles another message. If an earlier part has requested a later
    /// decision, the earlier parts wait for this decision. Otherwise, they are committed
    /// immediately.
    #[doc(hidden)]
    #[must_use]
    pub fn next_message(&self) -> Option<M> {
        let message = self.worker.next_message(self.cell)?;
        self.use_up_place();
        Some(message)
    }

    /// Makes [`Turn::next_message`] take messages out of `held`, oldest first, instead of out of
    /// the mailbox. Before the turn ends, the task must [take back](Turn::take_back) the messages
    /// that the turn has not taken.
    #[doc(hidden)]
    pub fn lend(&self, held: VecDeque<M>) {
        self.worker.later.lend(held);
    }

    /// Takes back the messages that [`Turn::lend`] has lent to the turn and that the turn has not
    /// taken.
    #[doc(hidden)]
    #[must_use]
    pub fn take_back(&self) -> VecDeque<M> {
        self.worker.later.take_back()
    }

    /// Forbids this turn to take more messages with [`Turn::next_message`].
    #[doc(hidden)]
    pub fn take_no_more(&self) {
        self.worker.later.take_no_more();
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

    /// Returns a view of this turn in which [`Turn::address`] returns `front`. `front` is the
    /// address of a [`door`](crate::door()) in front of the task. With this view, the task can
    /// handle messages of the door's type.
    #[doc(hidden)]
    #[must_use]
    pub fn seen_as<'b, N: 'static>(&'b self, front: &'b Address<N>) -> Turn<'b, N> {
        Turn::new(self.worker, front.cell())
    }

    /// Moves a task to another sponsor (group of workers), `sponsor`, and sends `message` to the
    /// task. `to` is the address of the task. The task handles the message on the new sponsor.
    ///
    /// Messages that were sent to the task earlier are handled on its old sponsor. If the new
    /// sponsor has stopped, the task does not move, but still handles the message. A task that
    /// [`Here::spawn`](crate::Here::spawn) has created does not move either, because such a task
    /// might not be `Send`. (This method corresponds to SENDX of the Lisp TActors.)
    ///
    /// # Errors
    /// Returns the message if the receiving task is known to have stopped, or if the message is not
    /// accepted for another reason ([`SendError`]).
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

    /// Sends a nudge (a notification without a message) to the task `to`. The task then runs
    /// [`Task::nudged`](crate::Task::nudged).
    ///
    /// The nudge is handled after all messages that were sent to the task earlier. Does nothing if
    /// the task has stopped, or if `to` is the address of a [`door`](crate::door()).
    #[doc(hidden)]
    pub fn nudge<N: 'static>(&self, to: &Address<N>) {
        let (worker, cell) = (self.worker, to.cell());
        if !cell.is_door() {
            worker.send_note(cell, worker.pool.take_envelope(Kind::Nudge, 0, 0));
        }
    }

    /// Returns true if another message is waiting in this task's mailbox.
    ///
    /// Messages that other threads have sent, but that have not reached the mailbox yet, do not
    /// count. A task that collects messages in batches can process its batch when this method
    /// returns false.
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
            oldest.is_some_and(Envelope::has_messages)
        }
    }

    /// Returns the current time in nanoseconds, according to the clock of the
    /// [`World`](crate::World) of the sponsor (group of workers).
    pub fn now(&self) -> Nanos {
        self.worker.now()
    }

    /// Returns the current time by the clock for leases
    /// ([`World::lease_now`](crate::World::lease_now)).
    #[doc(hidden)]
    #[must_use]
    pub fn lease_now(&self) -> Nanos {
        self.worker.lease_now()
    }

    /// Returns the current date and time, according to the [`World`](crate::World) of the sponsor
    /// (group of workers).
    ///
    /// # Panics
    /// Panics if [`World::date`](crate::World::date) panics.
    pub fn date(&self) -> SystemTime {
        self.worker.date()
    }

    /// Returns a handle to the sponsor (group of workers) that runs this turn.
    pub fn sponsor(&self) -> Handle {
        self.worker.sponsor_handle()
    }
}

/// Creates a note (an envelope without messages) that makes a task move to the sponsor `to`, which
/// is another group of workers.
pub(super) fn move_note(worker: &Worker, to: &Handle) -> *mut Envelope {
    parcel::note(&worker.pool, Kind::Move, to.clone())
}

impl<M> fmt::Debug for Turn<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("cell", &self.cell)
            .finish_non_exhaustive()
    }
}
