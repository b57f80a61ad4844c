//! A worker: its run queues, memory blocks and current turn, and the order in which it runs cells.
//!
//! Only the thread that runs a worker accesses it (`sponsor/README.md`, seats). The state that
//! other threads may access is in [`Remote`](crate::remote::Remote) and in the cells.

mod limits;

mod asked;
mod step;

mod armed;
mod away;
pub(crate) mod balance;
mod census;
mod closing;
mod deliver;
mod drive;
mod end;
mod look;
mod messages;
mod pending;
mod ready;
mod rescue;
mod shown;
#[cfg(feature = "sim")]
mod simulated;
mod timers;
mod trail;
mod undo;

mod due;

pub(crate) use closing::Closing;
pub(crate) use limits::Limits;

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::time::SystemTime;

use crossbeam_utils::CachePadded;
use garrick_core::prim::unmodelled::{AtomicU64, Relaxed};

use balance::{Kept, Pace, Patience, SharedWait};
use drive::Drive;
use pending::Later;
pub(crate) use rescue::Input;
use rescue::Visiting;
pub(crate) use shown::Shown;
#[cfg(feature = "sim")]
pub(crate) use simulated::Arrival;
use step::{PLAIN, SHOWN, Step, UNCOUNTED, Way};
use trail::Trails;

use crate::cell::{CellPtr, Chain, Envelope, Home, Slot};
use crate::driver::Driver;
use crate::letters::LetterReason;
use crate::pool::Pool;
use crate::probe::{Lane, Vitals};
use crate::quiet::{self, Panic};
use crate::remote::Remote;
use crate::run_queue::{Entry, Handoff, RunQueue};
use crate::runtime::address::{push_out, release_foreign};
use crate::runtime::current::Entered;
use crate::runtime::sponsor::away::Permission;
use crate::runtime::sponsor::guest::{Hold, VisitTimes};
use crate::runtime::sponsor::keep::KeptSeat;
use crate::runtime::sponsor::{Crew, Handle, Shared, Signal};
use crate::runtime::stage::Stage;
use crate::runtime::timer::Timers;
use crate::world::Nanos;

/// State of a worker. Only the thread that runs the worker uses it.
pub(crate) struct Worker {
    pub(crate) home: Home,
    /// Index of the worker among the workers of its sponsor (a group of workers).
    pub(crate) index: usize,
    /// Ready cells that have run before. They run oldest first.
    pub(crate) old: RunQueue,
    /// Ready cells that have not run yet. They run newest first.
    pub(crate) born: RunQueue,
    /// First cell that the latest turn has woken. This cell runs next.
    pub(crate) handoff: Handoff,
    /// Sequence number of the current turn, or of the latest turn if none is in progress. The
    /// entries that a turn pushes to the run queues are marked with the number of this turn. Other
    /// threads read this field while the worker is in a long turn. Not modelled in loom, like the
    /// run queues.
    pub(crate) turn: AtomicU64,
    pub(crate) stage: Stage,
    pub(crate) pool: Pool,
    /// Sequence number of the last search for unused memory for which this worker has moved its
    /// spare memory blocks to the depot (the free blocks that all threads share).
    pub(crate) bared: Cell<u64>,
    remote: &'static Remote,
    pub(crate) shared: Arc<Shared>,
    /// Second reference to the state that the workers of the sponsor (the group of workers) share.
    /// Used by threads that run this worker while they wait for an answer (guests).
    pub(crate) hold: Arc<Hold>,
    /// Group of threads that may run the worker.
    pub(crate) crew: Arc<Crew>,
    /// Idle worker to which the latest turn has sent a message without waking another thread. The
    /// thread of this worker runs the idle worker next, or this worker takes over the receiving
    /// cell.
    pub(crate) next_seat: Cell<Option<KeptSeat>>,
    /// Cell that this worker has taken over from another worker since the last check between two
    /// activations.
    pub(crate) gathered: Cell<Option<CellPtr>>,
    /// Progress of the worker in closing its cells, because the sponsor (the group of workers)
    /// stops.
    pub(crate) closing: Cell<Closing>,
    /// Reason why messages of the task that the worker is dropping become dead letters. `None`
    /// while the worker drops no task that has ended.
    pub(super) leaves: Cell<Option<LetterReason>>,
    /// Owner of the cells to whose mailboxes the current turn can send directly: usually this
    /// worker. `STRANGER` (no worker) if the turn was away, so that later messages of the turn do
    /// not overtake the earlier ones. Also `STRANGER` if the turn has a trail (a trace context).
    pub(crate) sends_at: Cell<Home>,
    /// Number of this worker's cells whose turns have left the worker in order to block, or have
    /// ended and wait for a decision about their commit.
    pub(crate) away: Cell<usize>,
    /// True if the running cell is in a run queue, because messages for this cell came while its
    /// turn was away (blocked, while another thread ran the worker).
    in_line: Cell<bool>,
    /// Trail (trace context) of the current turn. Boxed, so that the fields that each turn needs
    /// are close together.
    trails: Box<Trails>,
    /// Turns that have ended and wait for a decision about their commit. They belong to cells of
    /// this worker. Boxed, so that the fields that each turn needs are close together.
    pub(crate) later: Box<Later>,
    /// Permission for the current activation to leave this worker when it blocks.
    pub(crate) permit: Cell<Permission>,
    /// True while a task recovers after a panic. The cell of this task may be in a run queue, so
    /// its turn must not leave this worker.
    recovers: Cell<bool>,
    /// Cell that runs now. Other threads read this field to check if this worker is stuck.
    pub(crate) shown: Shown,
    /// Sequence number of the next activation that is timed. From activation number `arms_at` on,
    /// the worker is *armed*: it checks before each activation if it must time this activation.
    /// `arms_at` is `due`, rounded down to a multiple of `FAIR_EVERY`.
    due: Cell<u32>,
    arms_at: Cell<u32>,
    /// Counts of tasks that have begun or ended on this worker and are not yet included in `lane`
    /// (the worker's counters).
    vitals: Vitals,
    /// State of this worker while it runs a cell that another worker has lent (visits a cell).
    visiting: Visiting,
    /// True while this worker is counted as busy. While a guest (a thread that waits for an answer)
    /// runs the worker for a short time, the worker stays counted as idle.
    pub(crate) is_counted_busy: Cell<bool>,
    /// Number of cells that this worker has lent to other workers and has recalled, but that the
    /// other workers are still running.
    pub(crate) visited: Cell<usize>,
    /// Run queue entry of the cell that will run next, unless another worker has run the cell in
    /// the meantime. No queue contains this entry any more.
    in_hand: Cell<Option<Entry>>,
    /// Limits of the current activation. Valid as soon as the activation handles the mailbox.
    pub(crate) limits: Cell<Limits>,
    /// Envelope of the latest handled message, if that message was the final message of the
    /// envelope. Otherwise null. No mailbox contains the envelope any more, but code can still read
    /// it.
    held: Cell<*mut Envelope>,
    /// Message that waits until the start of its task has finished. The message becomes a dead
    /// letter if the start fails.
    pub(crate) waiting: Cell<Option<Slot>>,
    /// Unreachable cells, which are dropped before the next activation.
    garbage: RefCell<Vec<CellPtr>>,
    pub(crate) shared_wait: SharedWait,
    pub(crate) kept: Kept,
    pub(crate) patience: Patience,
    pub(crate) pace: Pace,
    pub(crate) visit_times: VisitTimes,
    pub(crate) timers: Timers,
    /// Driver in which the worker sleeps, if it has one.
    driver: Option<Drive>,
    /// Counters of the worker. They are boxed, so that the fields that each turn needs are close
    /// together.
    pub(crate) lane: Box<Lane>,
    /// Number of cells that must still be closed, but whose tokens (the rights to notify this
    /// worker) other threads still have.
    pub(crate) awaited: Cell<usize>,
    /// Used in loom models to check that only one thread at a time uses the worker, and that each
    /// thread sees the writes of the previous one.
    #[cfg(garrick_loom)]
    sitter: garrick_core::prim::UnsafeCell<()>,
    /// Number of times that `turn` was increased for something other than a turn. This field must
    /// not be next to `turn`. The compiler would then increase both fields by one load and one
    /// store of 16 bytes. This load would wait until the two previous stores of 8 bytes are in the
    /// cache.
    pauses: Cell<u64>,
}

impl Worker {
    pub(crate) fn new(home: Home, shared: Arc<Shared>, driver: Option<Box<dyn Driver>>) -> Self {
        let now = shared.now();
        let index = shared.index_of(home);
        let lane = shared.open_lane(index);
        let crew = shared.place_of(index).0.clone();
        let shown = crew.lends();
        let sends_at = shared.hooks.sends_from(home);
        let precision = shared.precision();
        Self {
            crew,
            next_seat: Cell::new(None),
            gathered: Cell::new(None),
            closing: Cell::new(Closing::No),
            leaves: Cell::new(None),
            home,
            index,
            old: RunQueue::new(),
            born: RunQueue::new(),
            handoff: Handoff::new(),
            turn: AtomicU64::new(0),
            pauses: Cell::new(0),
            stage: Stage::new(),
            pool: Pool::of(home),
            bared: Cell::new(0),
            remote: Remote::of(home),
            hold: Arc::new(CachePadded::new(shared.clone())),
            shared,
            sends_at: Cell::new(sends_at),
            away: Cell::new(0),
            in_line: Cell::new(false),
            trails: Box::default(),
            later: Box::default(),
            permit: Cell::new(Permission::Unasked),
            recovers: Cell::new(false),
            shown: Shown::new(shown),
            due: Cell::new(1),
            arms_at: Cell::new(0),
            vitals: Vitals::new(lane.counts()),
            visiting: Visiting::default(),
            is_counted_busy: Cell::new(false),
            visited: Cell::new(0),
            in_hand: Cell::new(None),
            limits: Cell::new(Limits::NONE),
            held: Cell::new(ptr::null_mut()),
            waiting: Cell::new(None),
            garbage: RefCell::default(),
            shared_wait: SharedWait::default(),
            kept: Kept::default(),
            patience: Patience::default(),
            pace: Pace::new(),
            visit_times: VisitTimes::default(),
            timers: Timers::new(home, now, precision, driver.is_some()),
            driver: driver.map(Drive::new),
            lane,
            awaited: Cell::new(0),
            #[cfg(garrick_loom)]
            sitter: garrick_core::prim::UnsafeCell::new(()),
        }
    }

    /// In a loom model, records that the calling thread uses the worker.
    #[inline(always)]
    pub(crate) fn touch(&self) {
        #[cfg(garrick_loom)]
        self.sitter.with_mut(|_| {});
    }

    pub(crate) fn sponsor_handle(&self) -> Handle {
        Handle::new(self.shared.clone())
    }

    pub(crate) fn now(&self) -> Nanos {
        self.shared.now()
    }

    pub(crate) fn lease_now(&self) -> Nanos {
        self.shared.lease_now()
    }

    pub(crate) fn date(&self) -> SystemTime {
        self.shared.date()
    }

    pub(crate) fn remote(&self) -> &'static Remote {
        self.remote
    }

    /// Returns true if the current activation should stop early. There are four reasons: the
    /// sponsor (the group of workers) stops, another thread wants the worker back, a census (a
    /// count of waiting messages) is due, or another worker is idle and could run cells that are
    /// waiting here.
    #[inline]
    pub(crate) fn is_wanted_elsewhere(&self) -> bool {
        let signal = self.shared.signal();
        !signal.is_silent()
            && (self.is_to_stop(signal)
                || self.lane.wants_census()
                || !self.pace.is_fine() && self.may_give(self.backlog()))
    }

    /// Returns the number of ready cells of this worker.
    #[inline]
    pub(crate) fn backlog(&self) -> usize {
        self.old.len() + self.born.len() + usize::from(!self.handoff.is_empty())
    }

    /// Takes a cell out of the run queues: first the oldest new cell, then the oldest other cell,
    /// and finally the handoff cell, which would run next.
    pub(crate) fn take_oldest(&self) -> Option<Entry> {
        let queued = self.born.pop_oldest().or_else(|| self.old.pop_oldest());
        queued.copied().or_else(|| self.handoff.take_entry())
    }

    /// Runs cells until there are no ready cells or `until` returns true.
    pub(crate) fn run_ready(&self, until: impl Fn(Signal) -> bool) {
        self.run_stretch(until, || false);
    }

    /// Runs cells until there are no ready cells, or until about `max` activations have run.
    pub(crate) fn run_at_most(&self, max: u32) {
        let first = self.shown.picks();
        self.run_stretch(|_| false, || self.shown.picks().wrapping_sub(first) >= max);
    }

    /// Runs cells until there are no ready cells, `until` returns true, or `is_over` returns true
    /// after an activation.
    fn run_stretch(&self, until: impl Fn(Signal) -> bool, is_over: impl Fn() -> bool) {
        let _entered = Entered::new(self);
        // A single landing pad for all turns, so that a turn itself pays nothing for it.
        let run_cells = if self.lane.counts() {
            Self::run_cells::<SHOWN>
        } else {
            Self::run_cells::<PLAIN>
        };
        while let Err(panic) = quiet::call(|| run_cells(self, &until, &is_over)) {
            self.survive(panic);
        }
        self.stop_running();
    }

    /// Handles the panic of a turn, so that the other cells continue.
    pub(crate) fn survive(&self, panic: Panic) {
        self.turn_panicked(&panic);
        // The panic's payload may send while it is dropped, which belongs to no turn either.
        drop(panic);
        self.commit();
    }

    /// Records that no cell runs any more.
    pub(crate) fn stop_running(&self) {
        self.shown.name_none();
        self.lane.show_turns(self.turns());
    }

    /// Runs cells until there are no ready cells, `is_over` returns true, or the sponsor (the group
    /// of workers) stops.
    pub(crate) fn run_some(&self, is_over: impl Fn() -> bool) {
        let until = Signal::is_stopping;
        if !self.lane.counts() {
            self.run_by(is_over, || self.step::<PLAIN>(&until));
        } else if !self.lane.is_parked() {
            let nothing = self.run_by(is_over, || self.step_armed(self.shown.count_pick(), &until));
            if nothing {
                self.lane.skip();
            }
        } else if self.run_by(is_over, || self.step::<UNCOUNTED>(&until)) {
            // The books of the lane are left alone, because they may be in the cache of another
            // core.
            self.shown.uncount_pick();
        }
    }

    /// Runs cells by `step` until `is_over` returns true. Returns true if the last step has run no
    /// cell.
    #[inline(always)]
    fn run_by(&self, is_over: impl Fn() -> bool, step: impl Fn() -> Step) -> bool {
        while !is_over() {
            match step() {
                Step::Ran => {}
                Step::Nothing => {
                    self.hold(ptr::null_mut());
                    return true;
                }
                Step::Stopped => return true,
            }
        }
        false
    }

    /// Runs cells until there are no ready cells, `until` returns true, or `is_over` returns true
    /// after an activation. `WAY` is [`SHOWN`] for sponsors (groups of workers) that count the work
    /// of each kind of task, and otherwise [`PLAIN`].
    fn run_cells<const WAY: Way>(
        &self,
        until: &impl Fn(Signal) -> bool,
        is_over: &impl Fn() -> bool,
    ) {
        if WAY == SHOWN && self.is_armed() {
            match self.run_armed(self.shown.count_pick(), until) {
                Step::Ran => {}
                Step::Nothing => return self.has_nothing(),
                Step::Stopped => return self.lane.skip(),
            }
        }
        loop {
            match self.step::<WAY>(until) {
                Step::Ran if is_over() => return,
                Step::Ran => {}
                Step::Nothing => return self.has_nothing(),
                Step::Stopped => return self.lane.skip(),
            }
        }
    }

    /// Records that the last step has found no cell to run, and frees memory that is not needed
    /// now.
    fn has_nothing(&self) {
        self.lane.skip();
        self.old.shrink();
        self.born.shrink();
        self.hold(ptr::null_mut());
    }

    /// Returns true if nothing needs attention before the next activation.
    #[inline(always)]
    fn is_calm(&self) -> bool {
        !self.remote.ready.has_some() && self.shared.signal().is_quiet() && self.timers.are_calm()
    }

    /// Takes back the cells that this worker has lent to other workers. After this call, no cells
    /// are lent until the worker stores the next cell to run in [`Shown`].
    pub(crate) fn end_loan(&self) {
        self.shown.name_none_and_fence();
        while self.remote.ready.is_lent() {
            self.timers.watched_from(None);
            self.take_ready();
            self.shown.name_none_and_fence();
        }
    }

    /// Does the work that is due between two activations. Returns true if the worker should stop.
    #[inline(never)]
    fn attend(&self, until: &impl Fn(Signal) -> bool) -> bool {
        // Before anything is taken out of a queue, or done to a timer.
        self.end_loan();
        self.gathered.set(None);
        if !self.timers.are_calm() && self.timers.wants_look(self.turn()) {
            let now = self.fire_timers();
            self.poll_driver(now);
        }
        // Cells of due timers are among it.
        if self.remote.ready.has_some() {
            self.take_ready();
        }
        if self.ready_count() > 0 {
            // There is work here after all.
            self.give_next_seat();
            self.watch_timers();
        }
        let signal = self.shared.signal();
        if !signal.is_quiet() {
            if until(signal) {
                // The caller puts back the cell that it has in hand. A task that has recovered just
                // now may have counted as running.
                self.end_loan();
                return true;
            }
            self.share(signal);
        }
        false
    }

    /// Returns true if `cell`, which belongs to this worker, is running.
    #[inline]
    pub(crate) fn is_running(&self, cell: CellPtr) -> bool {
        self.shown.is(cell)
    }

    /// Records that no cell runs, because the running cell is about to be freed or closed.
    #[inline]
    pub(crate) fn forget_running(&self) {
        self.shown.name_none();
    }

    /// Returns the cell whose turn is in progress.
    pub(crate) fn running(&self) -> Option<CellPtr> {
        self.shown.get()
    }

    /// Begins a turn. Entries that are already in the run queues are not part of this turn.
    #[inline]
    pub(crate) fn begin_turn(&self) {
        self.stage.purse.check_settled();
        // No read-modify-write, because nobody else writes.
        self.turn.store(self.turn() + 1, Relaxed);
    }

    /// Begins work that belongs to no turn. Entries that are already in the run queues are not part
    /// of this work.
    #[inline]
    pub(crate) fn begin_pause(&self) {
        self.stage.purse.check_settled();
        self.end_turn();
    }

    /// Ends the latest turn, so that all entries that are now in the run queues no longer belong to
    /// a turn.
    pub(crate) fn end_turn(&self) {
        // No read-modify-write, because nobody else writes.
        self.turn.store(self.turn() + 1, Relaxed);
        self.pauses.set(self.pauses.get() + 1);
    }

    /// Returns the number of turns so far.
    pub(crate) fn turns(&self) -> u64 {
        self.turn() - self.pauses.get()
    }

    /// Returns the sequence number of the current turn, or of the latest turn if none is in
    /// progress.
    #[inline]
    pub(crate) fn turn(&self) -> u64 {
        self.turn.load(Relaxed)
    }

    /// Appends a cell, which has just run, to the run queue.
    pub(crate) fn requeue(&self, cell: CellPtr) {
        self.old.push_cell(self.turn(), cell);
    }

    /// Commits the effects of the turn.
    #[inline]
    pub(crate) fn commit(&self) {
        if self.stage.is_dirty() {
            self.commit_dirty(None);
        }
    }

    /// Commits the effects of a turn of `cell`, which has just ended.
    #[inline]
    pub(crate) fn commit_turn(&self, cell: CellPtr) {
        if self.stage.is_dirty() {
            self.commit_dirty(Some(cell));
        }
    }

    #[inline(never)]
    fn commit_dirty(&self, running: Option<CellPtr>) {
        self.shared.hooks.fail_if_chosen();
        if running.is_some() {
            self.shared.hooks.fail_if_broken_off();
        }
        self.send_from_home();
        self.in_line.set(false);
        // Dropped values may send, hence the loop.
        while self.stage.is_dirty() {
            self.stage.clear_dirty();
            self.stage
                .commit(|cell, chain| self.deliver_staged(cell, chain));
            self.commit_timers(running);
            self.stage.purse.wake_waiting();
            self.stage.commit_given(|given| {
                // A woken asker may take a long time.
                self.let_others();
                // SAFETY: it was given in this turn, and is taken out of the stage.
                unsafe { (given.publish)(given.slot) };
            });
            for door in self.stage.take_kept() {
                // The door may be dropped here.
                self.let_others();
                // SAFETY: the reference that came with it.
                unsafe { release_foreign(door) };
            }
            self.sweep();
        }
        self.gather();
    }

    /// Returns true if this worker has ready cells, or if anything has come from other threads.
    pub(crate) fn has_something(&self) -> bool {
        self.backlog() > 0 || self.remote.ready.has_some()
    }

    /// Pushes a chain (a list of envelopes) like [`push_out`]. If the push gives this thread the
    /// right to run an idle worker, either keeps this right in `next_seat`, or passes it to another
    /// thread.
    ///
    /// # Safety
    /// The requirements of [`push_out`] apply.
    unsafe fn deliver(&self, cell: CellPtr, chain: Chain) -> bool {
        let mut kept = None;
        let keeps = |remote: &Remote| {
            kept = self.keeps(remote, cell, chain.oldest);
            kept.is_some()
        };
        // SAFETY: by contract.
        let Some(wake) = (unsafe { push_out(cell, chain, keeps) }) else {
            return false;
        };
        if kept.is_some() && wake.keep() {
            self.next_seat.set(kept);
        } else {
            wake.call();
        }
        true
    }
}
