//! Rescue: a worker that is stuck in a long turn lends its idle cells (tasks) to the other workers
//! of its crew (README.md, rescue).
//!
//! The ready stack of a worker contains the cells for which messages have come. If the current turn
//! takes a long time, an idle thread (the *watch*) takes the stack and stores LENT
//! ([`Ready::lend`](crate::cell::Ready)). The other workers *visit* these cells: they handle the
//! messages, but the cells still belong to their owner. After the turn, the owner finds LENT and
//! recalls the cells that it has lent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::PoisonError;

use garrick_core::fence::Asymmetric;

use garrick_core::prim::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread::{self, Thread},
    unmodelled::Acquire,
};

use super::crew::Crew;
use super::lent_timers::Due;
use super::visit::{After, Left, Notes, Outcome, Parted, Visit};
use super::{Shared, Signal};
use crate::cell::{CellPtr, Envelope, Header, Home, Mail, Ready};
#[cfg(all(test, garrick_loom))]
use crate::remote::Serve;
use crate::run_queue::{Entry, Stood};
#[cfg(all(test, garrick_loom))]
use crate::runtime::current::Entered;
use crate::runtime::worker::Worker;

/// Result of a recall: the cells that a worker gets back after it has lent them to other workers.
#[derive(Default)]
pub(crate) struct Recalled {
    /// Cells whose tokens (the rights to notify the lending worker) have come back to the lending
    /// worker.
    pub(crate) back: Vec<CellPtr>,
    /// Cells that other workers have run, with the work that they have left for the owner (the
    /// lending worker). The owner also gets the tokens of these cells (the rights to notify the
    /// owner).
    pub(crate) left: Vec<(CellPtr, Left)>,
    /// Cells that other workers have run and that are idle now: their inbox has the value RESTING.
    /// Each cell is listed once.
    pub(crate) rested: Vec<CellPtr>,
    /// Work that the owner (the lending worker) must do for its cells, because notes have requested
    /// it. Notes are internal messages, for example about watchers. The key of each entry is the
    /// cell.
    pub(crate) notes: BTreeMap<NonNull<Header>, Notes>,
    /// Cells that other workers are still running. The flag is true if the cell was lent out of a
    /// run queue.
    pub(crate) visited: Vec<(CellPtr, bool)>,
    /// Number of cells in `visited` for which other workers will notify the owner (the lending
    /// worker) later, by notes (internal messages). The owner waits for the other cells in
    /// `visited`.
    pub(crate) to_be_told: usize,
    /// Number of cells that other workers have run again while the tokens of these cells (the
    /// rights to notify the owner) were on the way to the owner.
    pub(crate) resumed: usize,
    /// Run queue entries that were lent, but whose cells no other worker has run. Oldest first.
    pub(crate) entries: Vec<Entry>,
    /// Cells that were in a run queue and that other workers have run, with the snapshots of their
    /// mailboxes.
    pub(crate) stood: Vec<(CellPtr, Mail)>,
    /// Position at which the lent part of each run queue ends.
    pub(crate) ends: Option<Ends>,
}

/// Positions at which the lent entries of a worker's two run queues end.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) old: usize,
    pub(crate) born: usize,
    pub(crate) handoff: Option<CellPtr>,
}

/// Cells that a worker lends to other workers during a long turn.
#[derive(Default)]
pub(super) struct Loan {
    lent: Mutex<Lent>,
    /// True if other workers may run the lent cells. The value may be outdated.
    is_open: AtomicBool,
    /// Number of lent cells that no other worker has started to run. The number may be outdated.
    waiting: AtomicUsize,
    pub(super) due: Due,
}

#[derive(Default)]
pub(super) struct Lent {
    /// Cell that the owner (the lending worker) runs. `Some` while other workers may run the
    /// owner's other cells.
    stuck: Option<*const Header>,
    /// Run queues of the owner (the lending worker). `Some` while the owner lends its cells.
    stood: Option<Queues>,
    /// Lent cells that are waiting until another worker runs them, oldest first.
    waiting: VecDeque<Visit>,
    /// Lent cells that other workers are running. The flag is true if the cell was lent out of a
    /// run queue.
    visited: Vec<(CellPtr, bool)>,
    /// Cells that other workers were running when their owner took back (recalled) its cells. The
    /// owner does not wait for these cells.
    recalled: Vec<CellPtr>,
    /// Cells that other workers are still running after the owner (the lending worker) has taken
    /// back its cells. The owner waits until these cells are finished.
    awaited: Vec<CellPtr>,
    /// Cells that other workers have run, with the work that they have left for the owner (the
    /// lending worker). The owner also gets the tokens of these cells (the rights to notify the
    /// owner).
    left: Vec<(CellPtr, Left)>,
    /// Cells that other workers were still running when the owner (the lending worker) recalled its
    /// cells, and the work that they have left for the owner. The tokens of these cells (the rights
    /// to notify the owner) are on the way to the owner.
    told: Vec<(CellPtr, Left)>,
    /// Number of cells that were taken out of `told` (the cells with remaining work) because other
    /// workers can do this work.
    resumed: usize,
    /// Cells that only the owner (the lending worker) is allowed to run: cells from `told` (cells
    /// with work that another worker has left) whose tokens (the rights to notify the owner) have
    /// come back, and cells to which the current turn has sent messages.
    kept: Vec<CellPtr>,
    /// Cells that have got messages and are perhaps also in a lent run queue. Their tokens (the
    /// rights to notify the owner) are kept until the cells are taken out of this queue.
    held: BTreeSet<NonNull<Header>>,
    /// Cells that other workers have run and that are idle now: their inbox has the value RESTING.
    /// Some cells are listed more than once.
    rested: Vec<CellPtr>,
    /// Work that the owner (the lending worker) must do for its cells, because notes have requested
    /// it. Notes are internal messages, for example about watchers. The key of each entry is the
    /// cell.
    notes: BTreeMap<NonNull<Header>, Notes>,
    /// Snapshots of the mailboxes of cells that were taken out of a run queue and that no other
    /// worker runs now.
    mails: BTreeMap<NonNull<Header>, Mail>,
    /// Entries that were taken out of the run queues, but whose cells other workers must not run.
    /// Oldest first.
    entries: Vec<Entry>,
    /// True while a thread delivers timers from the wheel of the owner (the lending worker).
    pub(super) is_firing: bool,
    /// Thread of the owner (the lending worker), if it is waiting until another worker has finished
    /// a lent cell or has delivered the owner's timers.
    pub(super) waits: Option<Thread>,
}

// SAFETY: what is in there is a seat's tokens, entries of its run queues, and lists that came
// through inboxes. They belong to the thread that holds the lock; the cells have tasks and messages
// that are `Send`. The worker of `stood` stays until it has recalled.
unsafe impl Send for Lent {}

/// Entries that were in a worker's run queues before its current turn.
struct Queues {
    worker: NonNull<Worker>,
    old: Stood,
    born: Stood,
    /// Handoff cell of the worker: the cell that an earlier turn has woken, and that runs next.
    /// `None` after its entry was taken.
    handoff: Option<Entry>,
    /// Handoff cell of the worker (the cell that runs next), if its entry was taken.
    taken: Option<CellPtr>,
}

impl Queues {
    fn of(worker: NonNull<Worker>) -> Self {
        let worker_at = worker.as_ptr();
        // SAFETY: the caller holds the lock under which the worker is closed; all threads may look
        // at these fields of it.
        let (turn, old, born, handoff) = unsafe {
            (
                &(*worker_at).turn,
                &(*worker_at).old,
                &(*worker_at).born,
                &(*worker_at).handoff,
            )
        };
        let now = || turn.load(Acquire);
        Self {
            worker,
            old: old.stood_before(now),
            born: born.stood_before(now),
            handoff: handoff.stood_before(now),
            taken: None,
        }
    }

    /// Adds the run queue entries of the turns that have ended since the queues were last read. The
    /// queues were read when this value was created, and by each call of this method.
    fn extend(&mut self) {
        let later = Self::of(self.worker);
        self.old.extend(later.old);
        self.born.extend(later.born);
        if self.taken.is_none() && self.handoff.is_none() {
            self.handoff = later.handoff;
        }
    }

    /// Returns the number of lent run queue entries that other workers have not taken.
    fn len(&self) -> usize {
        self.old.len() + self.born.len() + usize::from(self.handoff.is_some())
    }

    /// Returns the sequence number of the current turn of the owner (the lending worker).
    fn turn(&self) -> u64 {
        // SAFETY: as in `of`; the owner recalls, under our lock, before its worker is closed.
        unsafe { &(*self.worker.as_ptr()).turn }.load(Acquire)
    }

    /// Takes the next entry: first the entry of the handoff cell (which the owner would run next),
    /// then the other entries, oldest first. Does not take an entry of the running cell `runs`. The
    /// running cell has an entry only if its turn has left the worker in order to block, and has
    /// come back. In this case, the entry is the last one in its queue.
    fn take(&mut self, runs: *const Header) -> Option<Entry> {
        if let Some(entry) = self.handoff.take() {
            self.taken = Some(entry.cell());
            return Some(entry);
        }
        // SAFETY: as in `turn`.
        let (old, born) = unsafe {
            let worker = self.worker.as_ptr();
            (&(*worker).old, &(*worker).born)
        };
        let entry = old.read_stood(&mut self.old, runs);
        entry.or_else(|| born.read_stood(&mut self.born, runs))
    }

    fn ends(&self) -> Ends {
        Ends {
            old: self.old.next,
            born: self.born.next,
            handoff: self.taken,
        }
    }
}

impl Lent {
    /// Returns true if other workers may run the cells of the owner (the lending worker) and
    /// deliver its timers.
    pub(super) fn is_open(&self) -> bool {
        self.stuck.is_some()
    }

    /// Lends more run queue entries: those of turns that have ended since the owner (the lending
    /// worker) began to lend its cells. Lends nothing, and returns false, while other workers must
    /// not run the owner's cells. Returns true if other workers have new entries to take.
    fn extend(&mut self) -> bool {
        let (true, Some(queues)) = (self.is_open(), &mut self.stood) else {
            return false;
        };
        let before = queues.len();
        queues.extend();
        queues.len() > before
    }

    /// Takes a list of envelopes. Each of them carries the token of a cell (the right to notify the
    /// owner). Adds these cells to the lent cells that wait for a visit (a run by another worker).
    /// `seat` is the owner's index in the crew, and `home` is the owner's number.
    fn add(&mut self, mut carrier: *mut Envelope, seat: usize, home: Home) {
        while !carrier.is_null() {
            // SAFETY: a carrier lives until the inbox of its cell is taken, for which one must have
            // the token, as we do.
            let (cell, next) = unsafe { ((*carrier).token_of(), (*carrier).ready_next()) };
            let cell = cell.expect("the carrier of a token names its cell");
            self.waiting.push_back(Visit::of(cell, seat, home));
            carrier = next;
        }
    }

    /// Takes some of the cells in the run queues of the owner (the lending worker), with their
    /// tokens (the rights to notify the owner).
    fn take_stood(&mut self, seat: usize, home: Home, fence: Asymmetric) {
        let (Some(stuck), Some(mut queues)) = (self.stuck, self.stood.take()) else {
            return;
        };
        let mut taken = Vec::new();
        while taken.len() < TAKEN_MAX
            && let Some(entry) = queues.take(stuck)
        {
            let cell = entry.cell();
            let has_token = may_visit(cell) && (cell.try_hold() || self.held.remove(&cell.0));
            if has_token {
                taken.push(entry);
            } else {
                self.entries.push(entry);
            }
        }
        if !taken.is_empty() {
            // Pairs only with a compiler fence in `Worker::send`: from here on the owner sends to
            // these cells through their inboxes, except for one send that has already checked the
            // inbox.
            fence.heavy();
        }
        for entry in taken {
            let cell = entry.cell();
            let mail = cell.snapshot(home, || queues.turn());
            if mail.is_none() {
                // The current turn has sent to the cell.
                self.entries.push(entry);
                self.kept.push(cell);
                continue;
            }
            self.waiting.push_back(Visit {
                entry: Some(entry),
                mail,
                ..Visit::of(cell, seat, home)
            });
        }
        self.stood = Some(queues);
    }

    /// Adds work to `visit`, which is a run of a lent cell by another worker. If the owner recalled
    /// the cell during an earlier visit, the earlier visit has left work, which `visit` then does
    /// first. Returns `None` if only the owner can do this work.
    fn resume(&mut self, visit: Visit) -> Option<Visit> {
        let place = self.told.iter().position(|(cell, _)| *cell == visit.cell);
        let Some(place) = place else {
            return Some(visit);
        };
        if !matches!(self.told[place].1.outcome, Outcome::Done | Outcome::Later) {
            return None;
        }
        self.resumed += 1;
        Some(visit.resume(self.told.swap_remove(place).1))
    }

    /// Stores, for the owner of a lent cell, the notes (internal messages) that came while another
    /// worker was running the cell.
    fn leave_notes(&mut self, visit: &mut Visit) {
        let notes = mem::take(&mut visit.notes);
        if !notes.is_empty() {
            self.notes.entry(visit.cell.0).or_default().add(&notes);
        }
    }

    /// Returns the number of cells that other workers may still take: those that are waiting for a
    /// visit, and those in lent run queues.
    fn len(&self) -> usize {
        let stood = self.stood.as_ref().map_or(0, Queues::len);
        self.waiting.len() + stood
    }
}

/// Returns true if a visitor (another worker, during a long turn of the owner) may run the task of
/// an idle or scheduled cell.
fn may_visit(cell: CellPtr) -> bool {
    let table = cell.table();
    let stays = table.blocks || table.commits_later;
    table.moves && !stays && !(table.starts && cell.state().is_newborn())
}

/// Maximum number of cells that are taken out of run queues at a time. Each time, a thread passes
/// the heavy side of a fence, so a larger number saves passes.
const TAKEN_MAX: usize = if cfg!(garrick_loom) { 1 } else { 32 };

/// Removes a cell from a list. Returns false if it is not in the list.
fn take_out(cells: &mut Vec<CellPtr>, cell: CellPtr) -> bool {
    let place = cells.iter().position(|&other| other == cell);
    place.map(|place| cells.swap_remove(place)).is_some()
}

impl Loan {
    pub(super) fn lent(&self) -> MutexGuard<'_, Lent> {
        // No code that holds the lock can panic halfway.
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the number of lent cells that are waiting until another worker runs them. The caller
    /// holds the lock.
    fn note_waiting(&self, lent: &Lent) {
        // Relaxed: hints; a fence orders them against sleep.
        self.is_open.store(lent.stuck.is_some(), Relaxed);
        self.waiting.store(lent.len(), Relaxed);
        if lent.stuck.is_none() {
            self.due.set(None);
        }
    }

    /// Returns true if the worker with the ready stack `ready` probably lends cells that no other
    /// worker has taken yet.
    fn has_to_visit(&self, ready: &Ready) -> bool {
        // Relaxed: a hint, as in `note_waiting`.
        self.is_open.load(Relaxed) && (self.waiting.load(Relaxed) > 0 || ready.has_lent())
    }
}

impl Crew {
    /// Returns true if the workers of this crew lend their cells to each other during long turns.
    pub(crate) fn lends(&self) -> bool {
        self.lend_by.is_some()
    }

    pub(super) fn lends_at_once(&self) -> bool {
        self.lend_by.is_some_and(|by| by.at_once)
    }

    /// Lends the idle cells of a worker that seems to be stuck in a long turn. Returns false if no
    /// cells were lent. Otherwise, the caller must wake a thread, which then runs the cells.
    pub(super) fn lend(&self, number: usize, shared: &Shared) -> bool {
        let Some(by) = self.lend_by else {
            return false;
        };
        let seat = &self.seats[number];
        let look = seat.look();
        let Some(shown) = self.shown(number, &look) else {
            return false;
        };
        let mut lent = seat.loan.lent();
        if lent.extend() {
            // The owner has run no other cell since step L3, or is about to wait for this lock.
            seat.loan.note_waiting(&lent);
            return true;
        }
        // Step L1: from here on every push leaves the seat's stack to visitors.
        let ready = &self.remote(number).ready;
        match ready.lend() {
            Some(list) => {
                lent.add(list, number, seat.home);
                shared.lends(true);
            }
            // At an earlier look, no cell was named in step L3, and the owner has named one since
            // without looking at its stack: for the next message of a visit, or for a destructor.
            None if ready.is_lent() && !lent.is_open() && lent.stood.is_none() => {}
            None => return false,
        }
        // Step L2: pairs with the light side in `Shown::name`. Either the owner sees LENT before it
        // runs another cell than the one that it has named, or this thread reads the name.
        by.fence.heavy();
        // Step L3: the one cell that the owner runs. If there is none, the owner is about to look
        // at its stack, or drops something: then nothing is visited.
        let stuck = shown.look();
        // A worker that winds up has seen STOP before it runs its next cell, and so does this
        // thread after it reads that name.
        let runs = !stuck.is_null() && !shared.signal().is_stopping();
        // If something is still lent, the owner has removed LENT just now, and is about to recall.
        let lends = runs && lent.stood.is_none();
        lent.stuck = lends.then_some(stuck);
        if lends {
            lent.stood = Some(Queues::of(self.worker(number)));
            self.lend_timers(number, &lent);
        }
        seat.loan.note_waiting(&lent);
        lent.stuck.is_some()
    }

    /// Returns true if a lent cell is probably waiting until another worker runs it.
    pub(crate) fn has_to_visit(&self) -> bool {
        let waits = |seat: usize| {
            let ready = &self.remote(seat).ready;
            self.seats[seat].loan.has_to_visit(ready)
        };
        self.lends() && (0..self.seats.len()).any(waits)
    }

    /// Takes the next lent cell, so that the calling worker can run it (visit it).
    pub(crate) fn next_visit(&self) -> Option<Visit> {
        (0..self.seats.len()).find_map(|seat| self.next_visit_of(seat))
    }

    fn next_visit_of(&self, seat: usize) -> Option<Visit> {
        let ready = &self.remote(seat).ready;
        let loan = &self.seats[seat].loan;
        if !loan.has_to_visit(ready) {
            return None;
        }
        let by = self.lend_by?;
        let home = self.seats[seat].home;
        let mut lent = loan.lent();
        let stuck = lent.stuck?;
        let visit = loop {
            if lent.waiting.is_empty() {
                let list = ready.take_lent().unwrap_or(ptr::null_mut());
                lent.add(list, seat, home);
            }
            if lent.waiting.is_empty() {
                lent.take_stood(seat, home, by.fence);
            }
            let Some(visit) = lent.waiting.pop_front() else {
                break None;
            };
            let cell = visit.cell;
            let Some(mut visit) = lent.resume(visit) else {
                lent.kept.push(cell);
                continue;
            };
            if visit.mail.is_none() {
                visit.mail = lent.mails.remove(&cell.0);
            }
            // The table of the running cell must not be read: its owner may be about to replace it.
            let runs = ptr::eq(cell.0.as_ptr(), stuck);
            if visit.mail.is_some() || !runs && cell.state().rests_at(home) && may_visit(cell) {
                lent.visited.push((cell, visit.mail.is_some()));
                break Some(visit);
            }
            if !runs && visit.rest.is_none() && lent.stood.as_ref().is_some_and(|s| s.len() > 0) {
                // The cell may stand in a run queue that is lent: its token is kept for the time
                // when it is taken from there.
                lent.held.insert(cell.0);
                continue;
            }
            lent.left.push((cell, Left::for_owner(visit)));
        };
        loan.note_waiting(&lent);
        visit
    }

    /// Ends a visit: the calling worker has stopped running a lent cell. `parted` contains the
    /// outcome of the run and the work that is left. Returns the next step of the calling worker.
    pub(crate) fn part(&self, mut visit: Visit, parted: Parted) -> After {
        let (cell, seat) = (visit.cell, visit.seat);
        let loan = &self.seats[seat].loan;
        let mut lent = loan.lent();
        let place = lent.visited.iter().position(|(other, _)| *other == cell);
        let is_lent = place.map(|place| lent.visited.swap_remove(place)).is_some();
        if is_lent && matches!(parted.outcome, Outcome::Done) {
            lent.leave_notes(&mut visit);
            if cell.try_rest() {
                lent.rested.push(cell);
                if let Some(mail) = visit.mail {
                    lent.mails.insert(cell.0, mail);
                }
                return After::Nothing;
            }
            lent.visited.push((cell, visit.mail.is_some()));
            return After::Again(visit);
        }
        if is_lent && matches!(parted.outcome, Outcome::Later) {
            lent.leave_notes(&mut visit);
            visit.rest = Some(parted.rest);
            lent.waiting.push_back(visit);
            loan.note_waiting(&lent);
            return After::Nothing;
        }
        let left = Left {
            rest: parted.rest,
            outcome: parted.outcome,
            mail: visit.mail,
            notes: visit.notes,
        };
        if is_lent {
            lent.left.push((cell, left));
            return After::Nothing;
        }
        if take_out(&mut lent.awaited, cell) {
            lent.left.push((cell, left));
            let owner = lent.waits.take();
            drop(lent);
            if let Some(owner) = owner {
                owner.unpark();
            }
            return After::Nothing;
        }
        let was_recalled = take_out(&mut lent.recalled, cell);
        debug_assert!(was_recalled, "a cell that is visited is lent or recalled");
        lent.told.push((cell, left));
        After::Tell(cell)
    }

    /// Prevents other workers from taking more of the lent cells. Only the worker that lends the
    /// cells calls this method.
    pub(crate) fn stop_lending(&self, seat: usize) {
        let loan = &self.seats[seat].loan;
        let mut lent = loan.lent();
        lent.stuck = None;
        loan.note_waiting(&lent);
    }

    /// Takes back the lent cells. Before the call, the mark LENT must have been removed from the
    /// ready stack of the lending worker. Only the lending worker calls this method.
    pub(crate) fn recall(&self, seat: usize) -> Recalled {
        let loan = &self.seats[seat].loan;
        let mut lent = loan.lent();
        lent.stuck = None;
        let mut recalled = Recalled {
            back: mem::take(&mut lent.kept),
            entries: mem::take(&mut lent.entries),
            ends: lent.stood.take().map(|queues| queues.ends()),
            resumed: mem::take(&mut lent.resumed),
            ..Recalled::default()
        };
        while let Some(mut visit) = lent.waiting.pop_front() {
            if let Some(entry) = visit.take_entry() {
                // No visitor has begun with it.
                recalled.entries.push(entry);
                recalled.back.push(visit.cell);
            } else if visit.rest.is_none() && visit.mail.is_none() {
                recalled.back.push(visit.cell);
            } else {
                lent.left.push((visit.cell, Left::for_owner(visit)));
            }
        }
        loan.note_waiting(&lent);
        recalled.visited = mem::take(&mut lent.visited);
        for &(cell, stood) in &recalled.visited {
            if !stood && cell.state().is_scheduled() {
                // The long turn has sent to the cell just before it was visited: it stands in a run
                // queue, or is about to run.
                lent.awaited.push(cell);
            } else {
                lent.recalled.push(cell);
                recalled.to_be_told += 1;
            }
        }
        recalled.rested = mem::take(&mut lent.rested);
        recalled.rested.sort_unstable_by_key(|cell| cell.0);
        recalled.rested.dedup();
        recalled.left = mem::take(&mut lent.left);
        recalled.notes = mem::take(&mut lent.notes);
        let held = mem::take(&mut lent.held);
        recalled.back.extend(held.into_iter().map(CellPtr));
        let mails = mem::take(&mut lent.mails);
        recalled.stood = (mails.into_iter())
            .map(|(cell, mail)| (CellPtr(cell), mail))
            .collect();
        recalled
    }

    /// Waits until other workers have finished those recalled cells for which the owner (the
    /// lending worker) must wait. Returns the work that these workers have left. Only the owner
    /// calls this method.
    pub(crate) fn await_visits(&self, seat: usize) -> Vec<(CellPtr, Left)> {
        loop {
            {
                let mut lent = self.seats[seat].loan.lent();
                if lent.awaited.is_empty() {
                    return mem::take(&mut lent.left);
                }
                lent.waits = Some(thread::current());
            }
            thread::park();
        }
    }

    /// Takes the work that another worker has left for a cell, if that worker was still running the
    /// cell when the owner (the lending worker) recalled it. Only the owner calls this method.
    pub(crate) fn take_told(&self, seat: usize, cell: CellPtr) -> Option<Left> {
        let mut lent = self.seats[seat].loan.lent();
        let place = lent.told.iter().position(|(other, _)| *other == cell)?;
        Some(lent.told.swap_remove(place).1)
    }
}

impl Shared {
    /// Changes the number of workers that lend their cells. Adds 1 if `lends` is true. Subtracts 1
    /// if `lends` is false, because a worker has recalled its cells.
    pub(crate) fn lends(&self, lends: bool) {
        let mut loans = self.loans.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: a hint to look closer; fences order it against sleep.
        if lends {
            *loans += 1;
            self.signal.fetch_or(Signal::LENT, Relaxed);
        } else {
            *loans -= 1;
            if *loans == 0 {
                self.signal.fetch_and(!Signal::LENT, Relaxed);
            }
        }
    }
}

/// Lends the cells of the first worker of a sponsor, on a thread of a loom model. Returns true if
/// cells were lent.
#[cfg(all(test, garrick_loom))]
pub(crate) fn lend_in_model(shared: &Shared) -> bool {
    let (crew, seat) = shared.place_of(0);
    crew.lend(seat, shared)
}

/// Takes the second worker of a sponsor on a thread of a loom model, calls `run` with it, and
/// leaves it.
#[cfg(all(test, garrick_loom))]
fn with_second_in_model<R>(shared: &Shared, run: impl FnOnce(&Crew, &Worker) -> R) -> R {
    let (crew, seat) = shared.place_of(1);
    assert!(crew.retake(seat, Ready::sit), "nobody else sits there");
    // SAFETY: the seat is ours.
    let worker = unsafe { crew.worker(seat).as_ref() };
    worker.touch();
    let result = run(crew, worker);
    if !crew.remote(seat).ready.try_park() {
        crew.hand_over(seat);
    }
    result
}

/// Runs the second worker of a sponsor on a thread of a loom model, after the first worker has lent
/// its cells. Begins with a call of `before`. The second worker then runs its own cells, and those
/// of the first worker.
#[cfg(all(test, garrick_loom))]
pub(crate) fn run_beside_loan_in_model(shared: &Shared, before: impl FnOnce()) {
    with_second_in_model(shared, |_, worker| {
        before();
        worker.run_ready(Signal::is_stopping);
        worker.give_next_seat();
    });
}

/// Runs the second worker of a sponsor on a thread of a loom model, and calls `before`. Then lends
/// the cells of the first worker, and lets the second worker run them. Returns true if cells were
/// lent.
#[cfg(all(test, garrick_loom))]
pub(crate) fn visit_in_model(shared: &Shared, before: impl FnOnce()) -> bool {
    with_second_in_model(shared, |crew, worker| {
        before();
        let has_lent = crew.lend(0, shared);
        let _entered = Entered::new(worker);
        while worker.visit_some() {}
        // Adds what the owner has scheduled since, if it is still in the same activation.
        crew.lend(0, shared);
        while worker.visit_some() {}
        worker.run_ready(Signal::is_stopping);
        has_lent
    })
}
