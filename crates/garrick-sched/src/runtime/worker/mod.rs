//! A worker: the run queues, blocks and staged turn of one seat, and the order in which it runs cells.
//!
//! Nothing in here is touched but by the thread that sits there (`sponsor/README.md`, seats); what others may touch is in
//! [`Remote`](crate::remote::Remote) and in the cells.

mod away;
pub(crate) mod balance;
mod drive;
mod end;
mod ready;
mod rescue;
mod shown;
mod timers;
mod undo;

use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use garrick_core::prim::unmodelled::{AtomicU64, Relaxed};

use balance::{Kept, Pace, Patience, SharedWait};
use drive::Drive;
use rescue::Visiting;
pub(crate) use shown::Shown;

use crate::cell::{CellPtr, Chain, Envelope, Home, Slot};
use crate::driver::Driver;
use crate::pool::Pool;
use crate::probe::Lane;
use crate::quiet::{self, Panic};
use crate::remote::Remote;
use crate::run_queue::{Entry, Handoff, RunQueue};
use crate::runtime::address::{push_out, release_foreign};
use crate::runtime::current::Entered;
use crate::runtime::run::Limits;
use crate::runtime::sponsor::away::Permission;
use crate::runtime::sponsor::guest::{Hold, VisitTimes};
use crate::runtime::sponsor::keep::KeptSeat;
use crate::runtime::sponsor::{Crew, Handle, Shared, Signal};
use crate::runtime::stage::Stage;
use crate::runtime::timer::Timers;
use crate::world::Nanos;

/// Every so many picks the order is looked at again.
const FAIR_EVERY: u32 = 16;
/// Every so many of those looks a newborn is next, whoever was woken, and half way between the oldest of the
/// others. Rarely, because what is old may make newborns faster than they are run.
const NEWBORN_EVERY: u32 = 16;
const OLDEST_AT: u32 = NEWBORN_EVERY / 2;

/// Envelopes whose messages are counted where a mailbox is long; the last of them have room for hundreds.
const ENVELOPES_LOOKED_AT: u32 = 64;

/// The end of a step of the worker's loop.
enum Step {
    /// A cell has run, or there is one to run.
    Ran,
    /// There is none.
    Nothing,
    /// The worker was told to stop.
    Stopped,
}

/// See the module.
pub(crate) struct Worker {
    pub(crate) home: Home,
    /// Its number among the workers of its sponsor.
    pub(crate) index: usize,
    /// Cells that have run before, oldest first.
    pub(crate) old: RunQueue,
    /// Cells that have not, newest first.
    pub(crate) born: RunQueue,
    /// The cell that the last turn woke first.
    pub(crate) handoff: Handoff,
    /// The number of the turn under way, or of the last one. What a turn leaves in the run queues is known
    /// by it. Others look at it, while the worker is in a turn that takes long; not modelled, as the run queues are not.
    pub(crate) turn: AtomicU64,
    pub(crate) stage: Stage,
    pub(crate) pool: Pool,
    /// The watch of the depot for which it has given away its spare blocks last.
    pub(crate) bared: Cell<u64>,
    remote: &'static Remote,
    pub(crate) shared: Arc<Shared>,
    /// The same, for guests.
    pub(crate) hold: Arc<Hold>,
    /// Who serves it.
    pub(crate) crew: Arc<Crew>,
    /// The seat that the last turn woke, if the hand that sits here goes there next: it has that seat already.
    pub(crate) next_seat: Cell<Option<KeptSeat>>,
    /// The cell that was gathered since the last look around.
    pub(crate) gathered: Cell<Option<CellPtr>>,
    /// Whether it closes its cells, because the sponsor ends.
    pub(crate) closes: Cell<bool>,
    /// Its home, to whose cells the turn under way sends by their mailboxes; nobody's if the turn has been away, so that what it
    /// sends comes behind what it carries.
    pub(crate) sends_at: Cell<Home>,
    /// Turns of its cells that have left the seat, and come back.
    pub(crate) away: Cell<usize>,
    /// Whether the cell that runs stands in a run queue since its turn has come back.
    in_line: Cell<bool>,
    /// Whether the activation under way may leave the seat where it blocks.
    pub(crate) permit: Cell<Permission>,
    /// Whether a task recovers, whose cell may stand in a run queue: its turn stays.
    recovers: Cell<bool>,
    /// The cell that runs.
    pub(crate) shown: Shown,
    /// The cell of another worker that this one visits.
    visiting: Visiting,
    /// Cells of ours that others visit, since we have seen that they do.
    pub(crate) visited: Cell<usize>,
    /// The cell that was taken out of its queue, and is about to run, unless others visit it.
    in_hand: Cell<Option<CellPtr>>,
    /// How far the activation under way goes, once it has come to the mailbox.
    pub(crate) limits: Cell<Limits>,
    /// The envelope of the message handled last, if it was the last in there, or null: no mailbox has it any
    /// more, but it may still be read.
    held: Cell<*mut Envelope>,
    /// The message that waits for the start of its task, which is under way; a dead letter if that fails.
    pub(crate) waiting: Cell<Option<Slot>>,
    /// Cells that nobody can reach, to be dropped before the next activation.
    garbage: RefCell<Vec<CellPtr>>,
    pub(crate) shared_wait: SharedWait,
    pub(crate) kept: Kept,
    pub(crate) patience: Patience,
    pub(crate) pace: Pace,
    pub(crate) visit_times: VisitTimes,
    pub(crate) timers: Timers,
    /// What it sleeps in, if that is more than its thread's sleep.
    driver: Option<Drive>,
    /// What it counts; apart, so that what each turn needs stays close together.
    pub(crate) lane: Box<Lane>,
    /// Cells to be closed whose token is still on its way.
    pub(crate) awaited: Cell<usize>,
    /// Lets models see who sits here, and that each has what the one before has left.
    #[cfg(garrick_loom)]
    sitter: garrick_core::prim::UnsafeCell<()>,
    /// How often `turn` was raised for something else than a turn. Not beside `turn`: the compiler would raise both by one
    /// load and one store of 16 bytes, and that load waits until the two stores of 8 bytes before it are in the cache.
    pauses: Cell<u64>,
}

impl Worker {
    pub(crate) fn new(home: Home, shared: Arc<Shared>, driver: Option<Box<dyn Driver>>) -> Self {
        let now = shared.now();
        let index = shared.index_of(home);
        let lane = shared.open_lane(index);
        let crew = shared.place_of(index).0.clone();
        let shown = crew.lends();
        Self {
            crew,
            next_seat: Cell::new(None),
            gathered: Cell::new(None),
            closes: Cell::new(false),
            home,
            index,
            old: RunQueue::new(),
            born: RunQueue::new(),
            handoff: Handoff::new(),
            turn: AtomicU64::new(0),
            pauses: Cell::new(0),
            stage: Stage::new(),
            pool: Pool::new(),
            bared: Cell::new(0),
            remote: Remote::of(home),
            hold: Arc::new(CachePadded::new(shared.clone())),
            shared,
            sends_at: Cell::new(home),
            away: Cell::new(0),
            in_line: Cell::new(false),
            permit: Cell::new(Permission::Unasked),
            recovers: Cell::new(false),
            shown: Shown::new(shown),
            visiting: Visiting::default(),
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
            timers: Timers::new(home, now, driver.is_some()),
            driver: driver.map(Drive::new),
            lane,
            awaited: Cell::new(0),
            #[cfg(garrick_loom)]
            sitter: garrick_core::prim::UnsafeCell::new(()),
        }
    }

    /// Tells models that the caller sits here.
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

    pub(crate) fn remote(&self) -> &'static Remote {
        self.remote
    }

    /// Whether the activation under way should end early: the sponsor ends, somebody wants the seat back, or another worker is idle and
    /// could run what waits here.
    #[inline]
    pub(crate) fn is_wanted_elsewhere(&self) -> bool {
        let signal = self.shared.signal();
        !signal.is_quiet()
            && (self.is_to_stop(signal) || !self.pace.is_fine() && self.may_give(self.backlog()))
    }

    /// Cells that wait to be run here.
    #[inline]
    pub(crate) fn backlog(&self) -> usize {
        self.old.len() + self.born.len() + usize::from(!self.handoff.is_empty())
    }

    /// Takes a cell out of the run queues, the oldest newborn first and the one that is to run next last.
    pub(crate) fn take_oldest(&self) -> Option<Entry> {
        let queued = self.born.pop_oldest().or_else(|| self.old.pop_oldest());
        queued.copied().or_else(|| self.handoff.take_entry())
    }

    /// Runs cells until there is nothing to run, or `until` says stop.
    pub(crate) fn run_ready(&self, until: impl Fn(Signal) -> bool) {
        let _entered = Entered::new(self);
        // One landing pad for all turns, so that a turn itself pays nothing for it.
        let run_cells = if self.lane.counts() {
            Self::run_cells::<true>
        } else {
            Self::run_cells::<false>
        };
        while let Err(panic) = quiet::call(|| run_cells(self, &until)) {
            self.survive(panic);
        }
        self.stop_running();
    }

    /// A turn has panicked, and the others go on.
    pub(crate) fn survive(&self, panic: Panic) {
        self.turn_panicked(&panic);
        // What the panic carried may send while it is dropped, which is in no turn either.
        drop(panic);
        self.commit();
    }

    /// No cell runs any more.
    pub(crate) fn stop_running(&self) {
        self.shown.name_none();
        self.lane.show_turns(self.turns());
    }

    /// Runs cells until there is nothing to run, or `is_over`, or the sponsor ends.
    pub(crate) fn run_some(&self, is_over: impl Fn() -> bool) {
        while !is_over() {
            let step = if self.lane.counts() {
                self.step::<true>(&Signal::is_stopping)
            } else {
                self.step::<false>(&Signal::is_stopping)
            };
            match step {
                Step::Ran => {}
                Step::Nothing => return self.hold(ptr::null_mut()),
                Step::Stopped => return,
            }
        }
    }

    /// `COUNTED` is for sponsors that count what each kind of task does.
    fn run_cells<const COUNTED: bool>(&self, until: &impl Fn(Signal) -> bool) {
        loop {
            match self.step::<COUNTED>(until) {
                Step::Ran => {}
                Step::Nothing => {
                    self.old.shrink();
                    self.born.shrink();
                    return self.hold(ptr::null_mut());
                }
                Step::Stopped => return,
            }
        }
    }

    /// Returns whether nothing is to be looked after before the next activation.
    #[inline(always)]
    fn is_calm(&self) -> bool {
        !self.remote.ready.has_some() && self.shared.signal().is_quiet() && self.timers.are_calm()
    }

    /// Takes back what is lent. No cell runs here from then on, so nothing is lent until one is named.
    fn end_loan(&self) {
        self.shown.name_none_and_fence();
        while self.remote.ready.is_lent() {
            self.take_ready();
            self.shown.name_none_and_fence();
        }
    }

    /// Does what is to be done between two activations; true if that is to end. So many cells are in hand, about to run.
    #[inline(never)]
    fn attend(&self, in_hand: usize, until: &impl Fn(Signal) -> bool) -> bool {
        // Before anything is taken out of a queue, or done to a timer.
        self.end_loan();
        self.gathered.set(None);
        if !self.timers.are_calm() && self.timers.wants_look(self.turn()) {
            let now = self.fire_timers();
            self.poll_driver(now);
        }
        // What was due is among it.
        if self.remote.ready.has_some() {
            self.take_ready();
        }
        if self.backlog() + in_hand > 0 {
            // There is something to do here after all.
            self.give_next_seat();
        }
        let signal = self.shared.signal();
        if !signal.is_quiet() {
            if until(signal) {
                // The caller puts back what it has in hand. A task that has recovered just now may have counted as one that runs.
                self.end_loan();
                return true;
            }
            self.share(in_hand, signal);
        }
        false
    }

    /// Runs the next cell, if there is one. That is the one that the last turn woke first, because
    /// it and its message are warm; else newborns, newest first, which is depth first; else the rest,
    /// oldest first; and every now and then in another order, so that nothing starves.
    ///
    /// Each case runs its cell itself, which gives each its own place in the branch predictor.
    #[inline(always)]
    fn step<const COUNTED: bool>(&self, until: &impl Fn(Signal) -> bool) -> Step {
        let picks = self.shown.count_pick();
        if picks.is_multiple_of(FAIR_EVERY)
            && let Some(entry) = self.pick_fairly(picks / FAIR_EVERY)
        {
            return self.activate::<COUNTED>(entry.cell(), entry.message(), until);
        }
        if let Some((cell, message)) = self.handoff.take() {
            return self.activate::<COUNTED>(cell, message, until);
        }
        if let Some(entry) = self.born.pop_newest() {
            return self.activate::<COUNTED>(entry.cell(), entry.message(), until);
        }
        if let Some(entry) = self.old.pop_oldest() {
            return self.activate::<COUNTED>(entry.cell(), entry.message(), until);
        }
        if !self.is_calm() {
            if self.attend(0, until) {
                return Step::Stopped;
            }
            if self.backlog() > 0 {
                return Step::Ran;
            }
        }
        Step::Nothing
    }

    /// Looks at the clock now and then, to find out how fast this worker works.
    #[inline]
    pub(crate) fn keep_pace(&self) {
        if self.pace.wants_look(self.turn()) {
            (self.pace).look(self.turn(), self.shown.picks(), self.now());
        }
    }

    /// The pick that no flood of others can keep a cell from.
    #[inline(never)]
    fn pick_fairly(&self, looks: u32) -> Option<&Entry> {
        self.keep_pace();
        if let Some(activation) = self.pace.take_activation() {
            self.shown.name_none();
            self.balance(activation);
        }
        if looks.is_multiple_of(NEWBORN_EVERY) {
            self.lane.show_turns(self.turns());
        }
        match looks % NEWBORN_EVERY {
            0 if (looks / NEWBORN_EVERY).is_multiple_of(2) => self.born.pop_oldest(),
            0 => self.born.pop_newest(),
            OLDEST_AT => self.old.pop_oldest(),
            // With no newborns to run, those that wake each other must not keep the rest waiting.
            _ if self.born.is_empty() => self.old.pop_oldest(),
            _ => None,
        }
    }

    /// Runs a cell with the message that it was scheduled with, or null, after a look at what is to be done before.
    #[inline(always)]
    fn activate<const COUNTED: bool>(
        &self,
        cell: CellPtr,
        message: *const Slot,
        until: &impl Fn(Signal) -> bool,
    ) -> Step {
        // Named first: see `Shown`.
        self.shown.name(cell);
        if !self.is_calm() {
            return self.attend_before::<COUNTED>(cell, message, until);
        }
        self.run::<COUNTED>(cell, message);
        Step::Ran
    }

    /// Does what is to be done before a cell runs that was taken out of its queue, and runs it, if this is not to end.
    #[cold]
    #[inline(never)]
    fn attend_before<const COUNTED: bool>(
        &self,
        cell: CellPtr,
        message: *const Slot,
        until: &impl Fn(Signal) -> bool,
    ) -> Step {
        // What is done now may write where the message lies.
        // SAFETY: it came out of a queue of ours with the cell, and is read once, here.
        let entry = unsafe { Entry::with_slot(cell, message) };
        self.in_hand.set(Some(cell));
        loop {
            let ends = self.attend(1, until);
            if self.in_hand.get().is_none() {
                // Others have it. This is no activation, but what ends it is seen before the next.
                return if ends { Step::Stopped } else { Step::Ran };
            }
            if ends {
                self.in_hand.set(None);
                self.old.push_oldest(entry);
                return Step::Stopped;
            }
            self.shown.name(cell);
            if !self.remote.ready.is_lent() {
                break;
            }
        }
        self.in_hand.set(None);
        self.run::<COUNTED>(cell, entry.message());
        Step::Ran
    }

    /// Runs a cell, which is named.
    #[inline(always)]
    fn run<const COUNTED: bool>(&self, cell: CellPtr, message: *const Slot) {
        if COUNTED {
            return self.run_counted(cell, message);
        }
        // SAFETY: both came from our run queues, so the cell is ours, and the message is its.
        unsafe { (cell.table().run)(cell, NonNull::from(self).cast(), message) };
    }

    /// Runs a cell, and counts that.
    #[inline(never)]
    fn run_counted(&self, cell: CellPtr, message: *const Slot) {
        let table = cell.table();
        let look = || (self.now(), self.waiting(cell));
        self.lane.begin(table, self.turns(), look);
        // SAFETY: as in `run`.
        unsafe { (table.run)(cell, NonNull::from(self).cast(), message) };
        self.lane.end(self.turns(), || self.now());
    }

    /// Messages that wait in the mailbox of a cell of ours, as far as it is worth counting.
    fn waiting(&self, cell: CellPtr) -> u64 {
        let tail = cell.mailbox_tail();
        let (mut at, mut waiting) = (tail, 0);
        if tail.is_null() {
            return 0;
        }
        for _ in 0..ENVELOPES_LOOKED_AT {
            // SAFETY: the local mailbox is ours, and circular.
            unsafe {
                at = (*at).next();
                waiting += u64::from((*at).unread());
            }
            if at == tail {
                break;
            }
        }
        waiting
    }

    /// Whether a cell of ours runs just now.
    #[inline]
    pub(crate) fn is_running(&self, cell: CellPtr) -> bool {
        self.shown.get() == Some(cell)
    }

    /// The cell that runs is about to be freed or closed.
    #[inline]
    pub(crate) fn forget_running(&self) {
        self.shown.name_none();
    }

    /// The cell whose turn is under way.
    pub(crate) fn running(&self) -> Option<CellPtr> {
        self.shown.get()
    }

    /// A turn begins: what is in the run queues is there to stay.
    #[inline]
    pub(crate) fn begin_turn(&self) {
        self.stage.purse.check_settled();
        // No read-modify-write, because nobody else writes.
        self.turn.store(self.turn() + 1, Relaxed);
    }

    /// What is done now belongs to no turn: what is in the run queues is there to stay.
    #[inline]
    pub(crate) fn begin_pause(&self) {
        self.begin_turn();
        self.pauses.set(self.pauses.get() + 1);
    }

    /// Turns so far.
    pub(crate) fn turns(&self) -> u64 {
        self.turn() - self.pauses.get()
    }

    /// The number of the turn under way, or of the last one.
    #[inline]
    pub(crate) fn turn(&self) -> u64 {
        self.turn.load(Relaxed)
    }

    /// A cell that has just run goes to the end of the line.
    pub(crate) fn requeue(&self, cell: CellPtr) {
        self.old.push_cell(self.turn(), cell);
    }

    /// The turn's effects happen.
    #[inline]
    pub(crate) fn commit(&self) {
        if self.stage.is_dirty() {
            self.commit_dirty();
        }
    }

    #[inline(never)]
    fn commit_dirty(&self) {
        self.sends_at.set(self.home);
        self.in_line.set(false);
        // What is dropped here may send while it is dropped, hence the loop.
        while self.stage.is_dirty() {
            self.stage.clear_dirty();
            self.stage
                .commit(|cell, chain| self.deliver_staged(cell, chain));
            self.commit_timers();
            self.stage.purse.wake_waiting();
            self.stage.commit_given(|given| {
                // Whoever is woken may take long.
                self.let_others();
                // SAFETY: it was given in this turn, and is taken out of the stage.
                unsafe { (given.publish)(given.slot) };
            });
            for door in self.stage.take_kept() {
                // It may be dropped here.
                self.let_others();
                // SAFETY: the reference that came with it.
                unsafe { release_foreign(door) };
            }
            self.sweep();
        }
        self.gather();
    }

    /// Whether there is anything to run, or to look after.
    pub(crate) fn has_something(&self) -> bool {
        self.backlog() > 0 || self.remote.ready.has_some()
    }

    /// Pushes a chain as [`push_out`] does. If that wakes a seat, this hand sits there next, or another one does.
    ///
    /// # Safety
    /// As for [`push_out`].
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

    /// Delivers a chain, with the reference that kept its receiver alive.
    fn deliver_staged(&self, cell: CellPtr, chain: Chain) {
        // SAFETY: the chain comes with a reference of its own.
        unsafe {
            if let Some(door) = cell.table().door {
                // Timers alone get here with one; they keep single envelopes.
                let refused = (door.pass_unread)(cell, chain.oldest);
                self.count_dead_letters(refused);
                self.pool.give_envelope(chain.oldest);
            } else if !self.deliver(cell, chain) {
                self.discard(cell, chain);
            }
            release_foreign(cell);
        }
    }

    /// Drops a chain that will not be delivered, with its reference; says how many letters were in it.
    pub(crate) fn drop_staged(&self, cell: CellPtr, chain: Chain) -> u64 {
        let dropped = self.drop_chain(cell, chain);
        self.let_go(cell);
        dropped
    }
}
