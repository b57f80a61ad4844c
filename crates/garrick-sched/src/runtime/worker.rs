//! A worker: one thread's run queues, blocks and staged turn, and the order in which it runs cells.
//!
//! Nothing in here is touched by another thread; what others may touch is in
//! [`Remote`](crate::remote::Remote) and in the cells.

use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::cell::{
    CellPtr, Chain, Envelope, Home, Kind, SCHEDULED, Settled, Slot, Table, flag, reverse,
};
use crate::pool::{self, Pool};
use crate::quiet::{self, Panic};
use crate::remote::Remote;
use crate::run_queue::{Entry, Handoff, RunQueue};
use crate::runtime::address::{deliver, release_foreign};
use crate::runtime::current::Entered;
use crate::runtime::run::Limits;
use crate::runtime::sponsor::{Failure, Handle, Shared, Signal};
use crate::runtime::stage::Stage;
use crate::runtime::timer::Timers;
use crate::world::Nanos;

/// Every so many picks the order is looked at again.
const FAIR_EVERY: u32 = 16;
/// Every so many of those looks a newborn is next, whoever was woken, and half way between the oldest of the
/// others. Rarely, because what is old may make newborns faster than they are run.
const NEWBORN_EVERY: u32 = 16;
const OLDEST_AT: u32 = NEWBORN_EVERY / 2;

/// See the module.
pub(crate) struct Worker {
    pub(crate) home: Home,
    /// Cells that have run before, oldest first.
    pub(crate) old: RunQueue,
    /// Cells that have not, newest first.
    pub(crate) born: RunQueue,
    /// The cell that the last turn woke first.
    pub(crate) handoff: Handoff,
    /// The number of the turn under way, or of the last one. What a turn leaves in the run queues is known
    /// by it.
    turn: Cell<u64>,
    pub(crate) stage: Stage,
    pub(crate) pool: Pool,
    remote: &'static Remote,
    pub(crate) shared: Arc<Shared>,
    /// The cell that runs now, or ran last; none once anything else has been done.
    running: Cell<Option<CellPtr>>,
    /// How far the activation under way goes, once it has come to the mailbox.
    pub(crate) limits: Cell<Limits>,
    /// The envelope of the message handled last, if it was the last in there, or null: no mailbox has it any
    /// more, but it may still be read.
    held: Cell<*mut Envelope>,
    /// Cells that nobody can reach, to be dropped before the next activation.
    garbage: RefCell<Vec<CellPtr>>,
    picks: Cell<u32>,
    /// Activations since the last claim, while cells wait in the shared queue.
    pub(crate) looks: Cell<u32>,
    pub(crate) timers: Timers,
    /// Cells to be closed whose token is still on its way.
    pub(crate) awaited: Cell<usize>,
}

impl Worker {
    pub(crate) fn new(home: Home, shared: Arc<Shared>) -> Self {
        let now = shared.world.now();
        Self {
            home,
            old: RunQueue::new(),
            born: RunQueue::new(),
            handoff: Handoff::new(),
            turn: Cell::new(0),
            stage: Stage::new(),
            pool: Pool::new(),
            remote: Remote::of(home),
            shared,
            running: Cell::new(None),
            limits: Cell::new(Limits::NONE),
            held: Cell::new(ptr::null_mut()),
            garbage: RefCell::default(),
            picks: Cell::new(0),
            looks: Cell::new(0),
            timers: Timers::new(now),
            awaited: Cell::new(0),
        }
    }

    pub(crate) fn sponsor_handle(&self) -> Handle {
        Handle::new(self.shared.clone())
    }

    pub(crate) fn now(&self) -> Nanos {
        self.shared.world.now()
    }

    pub(crate) fn remote(&self) -> &'static Remote {
        self.remote
    }

    /// Whether the activation under way should end early: the sponsor ends, or another worker is idle and
    /// could run what waits here.
    #[inline]
    pub(crate) fn is_wanted_elsewhere(&self) -> bool {
        let signal = self.shared.signal();
        !signal.is_quiet() && (signal.is_stopping() || self.may_give())
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
        while let Err(panic) = quiet::call(|| self.run_cells(&until)) {
            self.turn_panicked(&panic);
        }
        self.running.set(None);
    }

    fn run_cells(&self, until: &impl Fn(Signal) -> bool) {
        let (ready, shared) = (&self.remote.ready, &*self.shared);
        loop {
            let calm = !ready.has_some() && shared.signal().is_quiet() && self.timers.is_empty();
            if !calm && self.attend(until) {
                return;
            }
            if !self.run_next() {
                self.old.shrink();
                self.born.shrink();
                self.hold(ptr::null_mut());
                return;
            }
        }
    }

    /// Does what is to be done between two activations; true if that is to end.
    #[inline(never)]
    fn attend(&self, until: &impl Fn(Signal) -> bool) -> bool {
        self.running.set(None);
        if self.remote.ready.has_some() {
            self.take_ready();
        }
        let signal = self.shared.signal();
        if !signal.is_quiet() {
            if until(signal) {
                return true;
            }
            self.share(signal);
        }
        if !self.timers.is_empty() && self.timers.count_down() {
            self.fire_timers();
        }
        false
    }

    /// Runs the next cell; false if there is none. That is the one that the last turn woke first, because
    /// it and its message are warm; else newborns, newest first, which is depth first; else the rest,
    /// oldest first; and every now and then in another order, so that nothing starves.
    ///
    /// Each case runs its cell itself, which gives each its own place in the branch predictor.
    #[inline(always)]
    fn run_next(&self) -> bool {
        let picks = self.picks.get().wrapping_add(1);
        self.picks.set(picks);
        if picks.is_multiple_of(FAIR_EVERY)
            && let Some(entry) = self.pick_fairly(picks / FAIR_EVERY)
        {
            return self.activate(Some(entry));
        }
        if let Some((cell, message)) = self.handoff.take() {
            self.run(cell, message);
            return true;
        }
        if !self.born.is_empty() {
            return self.activate(self.born.pop_newest());
        }
        self.activate(self.old.pop_oldest())
    }

    /// The pick that no flood of others can keep a cell from.
    #[inline(never)]
    fn pick_fairly(&self, looks: u32) -> Option<&Entry> {
        match looks % NEWBORN_EVERY {
            0 if (looks / NEWBORN_EVERY).is_multiple_of(2) => self.born.pop_oldest(),
            0 => self.born.pop_newest(),
            OLDEST_AT => self.old.pop_oldest(),
            // With no newborns to run, those that wake each other must not keep the rest waiting.
            _ if self.born.is_empty() => self.old.pop_oldest(),
            _ => None,
        }
    }

    /// Runs the cell of an entry; false if there is none.
    #[inline(always)]
    fn activate(&self, entry: Option<&Entry>) -> bool {
        let Some(entry) = entry else { return false };
        self.run(entry.cell(), entry.message());
        true
    }

    /// Runs a cell with the message that it was scheduled with, or null.
    #[inline(always)]
    fn run(&self, cell: CellPtr, message: *const Slot) {
        self.running.set(Some(cell));
        // SAFETY: both came from our run queues, so the cell is ours, and the message is its.
        unsafe { (cell.table().run)(cell, NonNull::from(self).cast(), message) };
    }

    /// Whether a cell of ours runs just now.
    #[inline]
    pub(crate) fn is_running(&self, cell: CellPtr) -> bool {
        self.running.get() == Some(cell)
    }

    /// A turn begins: what is in the run queues is there to stay.
    #[inline]
    pub(crate) fn begin_turn(&self) {
        self.turn.set(self.turn.get() + 1);
    }

    /// The number of the turn under way, or of the last one.
    #[inline]
    pub(crate) fn turn(&self) -> u64 {
        self.turn.get()
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
        // What is dropped here may send while it is dropped, hence the loop.
        while self.stage.is_dirty() {
            self.stage.clear_dirty();
            self.stage
                .commit(|cell, chain| self.deliver_staged(cell, chain));
            for timed in self.stage.take_timed() {
                self.timers.insert(timed);
            }
            self.sweep();
        }
    }

    /// Delivers what is due, on a worker that is not in its loop.
    pub(crate) fn fire_due(&self) {
        let _entered = Entered::new(self);
        self.fire_timers();
    }

    /// Whether there is anything to run, or to look after.
    pub(crate) fn has_something(&self) -> bool {
        self.backlog() > 0 || self.remote.ready.has_some()
    }

    /// Delivers what is due.
    #[cold]
    pub(crate) fn fire_timers(&self) {
        let now = self.now();
        while let Some(timed) = self.timers.pop_due(now) {
            self.deliver_staged(timed.cell, timed.chain);
        }
        // What a message to nobody did while it was dropped.
        self.commit();
    }

    /// Delivers a chain, with the reference that kept its receiver alive.
    fn deliver_staged(&self, cell: CellPtr, chain: Chain) {
        // SAFETY: the chain comes with a reference of its own.
        unsafe {
            if !deliver(cell, chain) {
                self.discard(cell, chain);
            }
            release_foreign(cell);
        }
    }

    /// Drops a chain that will not be delivered, with its reference; says how many messages were in it.
    pub(crate) fn drop_staged(&self, cell: CellPtr, chain: Chain) -> u64 {
        let dropped = self.drop_chain(cell, chain);
        // SAFETY: the reference that came with the chain.
        unsafe { release_foreign(cell) };
        dropped
    }

    /// The turn's effects vanish. Everything is taken out of the world before any of it is dropped, because
    /// a message may send while it is dropped.
    #[cold]
    pub(crate) fn undo(&self) {
        let (mut envelopes, mut chains, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        let pool = NonNull::from(&self.pool).cast();
        self.stage.undo(
            // SAFETY: the messages are of the cell's type.
            |cell, envelope, count| unsafe { (cell.table().split_newest)(pool, envelope, count) },
            |cell, envelope| envelopes.push((cell, envelope)),
            |cell, chain| chains.push((cell, chain)),
        );
        chains.extend(
            self.stage
                .take_timed()
                .into_iter()
                .map(|timed| (timed.cell, timed.chain)),
        );
        let turn = self.turn();
        entries.extend(self.handoff.take_of_turn(turn));
        for queue in [&self.old, &self.born] {
            entries.extend(std::iter::from_fn(|| queue.pop_of_turn(turn)));
        }
        for entry in &entries {
            entry.cell().clear(SCHEDULED);
        }
        self.begin_turn();
        for owed in self.stage.take_owed(turn) {
            // SAFETY: the staged answer that keeps the asker alive is dropped below.
            let _ = quiet::call(|| unsafe { (owed.refuse)(self, owed.cell) });
        }
        for (cell, envelope) in envelopes {
            // SAFETY: cut off its mailbox, so it is ours alone.
            unsafe {
                (*envelope).set_next(ptr::null_mut());
                self.drop_list(cell, envelope);
            }
        }
        for (cell, chain) in chains {
            self.drop_staged(cell, chain);
        }
        for entry in &entries {
            self.drop_entry(entry);
        }
        // What was sent meanwhile was sent by destructors, not by the turn.
        self.commit();
    }

    /// Drops the message of an entry that is in no queue any more.
    fn drop_entry(&self, entry: &Entry) {
        let cell = entry.cell();
        if !entry.message().is_null() {
            // SAFETY: the entry's message, of the cell's type, is nobody else's.
            unsafe { (cell.table().drop_slot)(entry.message()) };
        }
        if !cell.has(SCHEDULED) {
            self.free_if_unreachable(cell);
        }
    }

    /// A chain came back from a closed cell: its messages are dead letters.
    fn discard(&self, cell: CellPtr, chain: Chain) {
        let dropped = self.drop_chain(cell, chain);
        self.count_dead_letters(dropped);
    }

    /// Drops a chain that was not pushed, and says how many messages were in it.
    fn drop_chain(&self, cell: CellPtr, chain: Chain) -> u64 {
        // SAFETY: the chain is ours; its oldest may have a stale link from a push that failed.
        unsafe {
            (*chain.oldest).set_next(ptr::null_mut());
            self.drop_list(cell, chain.newest)
        }
    }

    /// Drops a list of envelopes, and says how many messages were in it.
    ///
    /// # Safety
    /// The list is the caller's, and its messages are of the cell's type.
    unsafe fn drop_list(&self, cell: CellPtr, mut list: *mut Envelope) -> u64 {
        let mut dropped = 0;
        while !list.is_null() {
            // SAFETY: by contract. A table is never replaced by one for other messages.
            unsafe {
                let next = (*list).next();
                if (*list).kind() == Kind::Messages {
                    dropped += (cell.table().drop_unread)(&*list);
                }
                self.pool.give_envelope(list);
                list = next;
            }
        }
        dropped
    }

    /// Takes the oldest envelope, which is read, out of the mailbox and frees it.
    #[inline]
    pub(crate) fn drop_oldest(&self, cell: CellPtr) {
        let oldest = cell.take_oldest();
        // SAFETY: it was in the local mailbox, and all of it is read.
        unsafe { self.pool.give_envelope(oldest) };
    }

    /// Keeps an envelope while its last message is handled, and frees the one before; null for none.
    pub(crate) fn hold(&self, envelope: *mut Envelope) {
        let before = self.held.replace(envelope);
        if !before.is_null() {
            // SAFETY: it was taken out of a mailbox, and its last message has been handled.
            unsafe { self.pool.give_envelope(before) };
        }
    }

    /// Counts messages that nobody will handle.
    pub(crate) fn count_dead_letters(&self, count: u64) {
        self.shared.count_dead_letters(count);
    }

    /// Looks after the cells whose token others took (README, step 2).
    #[inline(never)]
    pub(crate) fn take_ready(&self) {
        let mut carrier = self.remote.ready.take();
        while !carrier.is_null() {
            // SAFETY: the carrier is alive until we take its cell's inbox, below.
            let (cell, next) = unsafe { ((*carrier).token_of(), (*carrier).ready_next()) };
            self.receive(cell.expect("the carrier of a token names its cell"));
            carrier = next;
        }
        // What cannot be reached any more is dropped now, not with the next turn, which may be far.
        self.commit();
    }

    /// Takes a cell's inbox, with its token in hand.
    fn receive(&self, cell: CellPtr) {
        debug_assert_eq!(cell.home(), self.home, "a token goes to its cell's home");
        if cell.state() & (flag::STOPPED | SCHEDULED) == flag::STOPPED {
            self.awaited.set(self.awaited.get().saturating_sub(1));
            let list = cell.take_and_hold();
            self.drop_inbox(cell, list);
            return self.close(cell);
        }
        let list = cell.take_and_idle();
        self.sort_in(cell, list);
    }

    /// Sorts what came through an inbox into the mailbox, and schedules the cell if need be. References
    /// are given back last: a cell with something in its mailbox must be scheduled before that, or it would
    /// be freed.
    pub(crate) fn sort_in(&self, cell: CellPtr, list: *mut Envelope) {
        // SAFETY: the list was taken from the inbox, so it is ours.
        let mut list = unsafe { reverse(list) };
        let (mut wanted, mut releases) = (false, 0);
        while !list.is_null() {
            // SAFETY: as above.
            unsafe {
                let (next, kind) = ((*list).next(), (*list).kind());
                match kind {
                    Kind::Messages | Kind::Stop => cell.append(list),
                    Kind::Release => releases += 1,
                    Kind::Wake => wanted = true,
                }
                if matches!(kind, Kind::Release | Kind::Wake) {
                    self.pool.give_envelope(list);
                }
                list = next;
            }
        }
        if wanted || !cell.mailbox_tail().is_null() {
            self.schedule(cell);
        }
        for _ in 0..releases {
            self.drop_reference(cell);
        }
        if !cell.has(SCHEDULED) {
            self.free_if_unreachable(cell);
        }
    }

    pub(crate) fn schedule(&self, cell: CellPtr) {
        if !cell.has(SCHEDULED) {
            let queue = if cell.has(flag::NEWBORN) {
                &self.born
            } else {
                &self.old
            };
            cell.set(SCHEDULED);
            queue.push_cell(self.turn(), cell);
        }
    }

    fn drop_reference(&self, cell: CellPtr) {
        if cell.drop_local() {
            self.settle(cell);
        }
    }

    /// Makes sure that a cell without references is freed when it has nothing left to do.
    pub(crate) fn look_after(&self, cell: CellPtr) {
        if cell.home() == self.home && cell.local_refs() == 0 {
            self.settle(cell);
        }
    }

    /// Our count of a cell of ours is zero.
    pub(crate) fn settle(&self, cell: CellPtr) {
        if cell.settle() == Settled::Referenced
            || cell.has(SCHEDULED | flag::STOPPED | flag::GARBAGE)
            || self.is_running(cell)
        {
            // What is scheduled or runs is looked at more closely when its activation ends.
            return;
        }
        if cell.inbox_is_idle() {
            self.bury(cell);
        }
    }

    /// Whether nobody can reach a cell of ours whose local count is zero. With its inbox idle, nobody
    /// ever will.
    #[inline]
    pub(crate) fn is_unreachable(&self, cell: CellPtr) -> bool {
        cell.settle() == Settled::Unreferenced && cell.inbox_is_idle()
    }

    /// Frees a cell that is not scheduled, if nobody can reach it.
    fn free_if_unreachable(&self, cell: CellPtr) {
        if cell.local_refs() == 0 {
            self.settle(cell);
        }
    }

    fn bury(&self, cell: CellPtr) {
        cell.set(flag::GARBAGE);
        self.garbage.borrow_mut().push(cell);
        self.stage.set_dirty();
    }

    /// Drops the cells that nobody can reach; dropping one may make more of them.
    fn sweep(&self) {
        loop {
            let Some(cell) = self.garbage.borrow_mut().pop() else {
                return;
            };
            // SAFETY: ours and unreachable, so the task is dropped once and then the block is freed.
            unsafe {
                let table = cell.table();
                self.drop_task(cell, table);
                self.pool
                    .give_cell(pool::cell_class(table.block_bytes), cell);
            }
        }
    }

    /// Stops a task of ours: drops it and what waits for it, and closes its cell.
    #[cold]
    pub(crate) fn stop(&self, cell: CellPtr) {
        debug_assert_eq!(cell.home(), self.home, "a cell is closed once");
        self.retire(cell);
        self.drop_mailbox(cell);
        cell.clear(SCHEDULED);
        if cell.try_hold() {
            self.close(cell);
        } else {
            self.awaited.set(self.awaited.get() + 1);
        }
        self.commit();
    }

    /// Drops the task of a cell, and lets the dead one take its place.
    pub(crate) fn retire(&self, cell: CellPtr) {
        if cell.has(flag::STOPPED) {
            return;
        }
        cell.set(flag::STOPPED);
        // SAFETY: the cell is ours and does not run; its task is dropped once, because the dead table
        // takes the place of the live one first.
        unsafe {
            let table = cell.table();
            if let Some(dead) = table.dead {
                cell.set_table(dead);
                self.drop_task(cell, table);
            }
        }
    }

    /// Drops a task. A panic of its destructor must not keep the cell from being closed or freed.
    ///
    /// # Safety
    /// As for `Table::drop_task`.
    unsafe fn drop_task(&self, cell: CellPtr, table: &Table) {
        // SAFETY: by contract.
        if let Err(panic) = quiet::call(|| unsafe { (table.drop_task)(cell) }) {
            self.report(cell, &panic);
        }
    }

    fn drop_mailbox(&self, cell: CellPtr) {
        loop {
            let envelope = cell.take_oldest();
            if envelope.is_null() {
                return;
            }
            // SAFETY: it was in the local mailbox, so it is ours.
            unsafe {
                (*envelope).set_next(ptr::null_mut());
                let dropped = self.drop_list(cell, envelope);
                self.count_dead_letters(dropped);
            }
        }
    }

    /// Drops what came through the inbox of a stopped cell.
    fn drop_inbox(&self, cell: CellPtr, list: *mut Envelope) {
        let mut releases = 0;
        let mut at = list;
        while !at.is_null() {
            // SAFETY: the list was taken from the inbox, so it is ours.
            unsafe {
                releases += u32::from((*at).kind() == Kind::Release);
                at = (*at).next();
            }
        }
        // SAFETY: as above.
        let dropped = unsafe { self.drop_list(cell, list) };
        self.count_dead_letters(dropped);
        for _ in 0..releases {
            if cell.home() == self.home {
                if cell.drop_local() {
                    let _ = cell.settle();
                }
            } else {
                // SAFETY: the reference that the note gave back.
                unsafe { release_foreign(cell) };
            }
        }
    }

    /// Closes a stopped cell whose token we hold (README, step 7).
    fn close(&self, cell: CellPtr) {
        cell.orphan_refs();
        cell.set_home(Home::NOBODY);
        let list = cell.close();
        self.drop_inbox(cell, list);
        // SAFETY: the reference that `orphan_refs` made for us.
        unsafe { release_foreign(cell) };
    }

    /// A turn ended in a panic: its effects vanish and its task stops.
    #[cold]
    fn turn_panicked(&self, panic: &Panic) {
        let Some(cell) = self.running.get() else {
            return;
        };
        self.undo();
        self.running.set(None);
        self.report(cell, panic);
        if cell.has(flag::GARBAGE) {
            // Its own destructor panicked, in `run::finish`.
            // SAFETY: unreachable, and what could be dropped of its task is.
            unsafe {
                self.pool
                    .give_cell(pool::cell_class(cell.table().block_bytes), cell);
            }
        } else {
            self.stop(cell);
        }
        // What the reporter sent.
        self.commit();
    }

    fn report(&self, cell: CellPtr, panic: &Panic) {
        let name = cell.table().name;
        let _ = quiet::call(|| {
            self.shared.report(&Failure {
                task: name(),
                message: panic.message(),
            });
        });
    }
}
