//! Rescue: a worker that is stuck in a turn lends its idle cells to the others of its crew (README.md, rescue).
//!
//! A seat's ready stack names the cells for which something has come. Where the turn under way takes long, the hand that keeps watch takes
//! the stack, leaves LENT on it ([`Ready::lend`](crate::cell::Ready)), and the other workers *visit* those cells: they handle what came,
//! without taking the cells from their owner. When the turn is over the owner finds LENT, and recalls what it has lent.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr;
use std::sync::PoisonError;
use std::time::Duration;

use garrick_core::prim::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread::{self, Thread},
};

use super::crew::{Crew, Hand};
use super::{Shared, Signal};
use crate::cell::{CellPtr, Envelope, Header, Home, Ready, flag};
#[cfg(all(test, garrick_loom))]
use crate::remote::Serve;
#[cfg(all(test, garrick_loom))]
use crate::runtime::current::Entered;
use crate::world::Nanos;

/// A cell that a worker visits: the visitor has its token. Its owner runs other cells, or none, until it recalls.
pub(crate) struct Visit {
    pub(crate) cell: CellPtr,
    seat: usize,
    home: Home,
    /// Messages that the last visit has left, oldest first.
    rest: Option<*mut Envelope>,
    /// References that were given back to the cell.
    pub(crate) releases: usize,
}

impl Visit {
    /// Takes the messages that the last visit has left.
    pub(crate) fn take_rest(&mut self) -> Option<*mut Envelope> {
        self.rest.take()
    }

    /// Returns whether the cell has nothing to do at its home, so that what comes by its inbox overtakes nothing.
    pub(crate) fn is_calm(&self) -> bool {
        self.cell.is_idle_at(self.home)
    }
}

/// The reason for which a visitor parts from a cell.
pub(crate) enum Outcome {
    /// All is handled.
    Done,
    /// The visitor has something else to do.
    Later,
    /// Something came that is for the owner.
    ForOwner,
    /// The task has stopped.
    Stops,
    /// A turn has panicked, with that message, and was undone.
    Failed(String),
}

/// A visit that is over.
pub(crate) struct Parted {
    /// Envelopes that the visitor has not handled, oldest first.
    pub(crate) rest: *mut Envelope,
    pub(crate) outcome: Outcome,
}

/// The next step after a visit.
pub(crate) enum After {
    /// Nothing.
    Nothing,
    /// Something has come: the visit goes on.
    Again(Visit),
    /// The owner has recalled the cell. It is to be told by a note that carries the token.
    Tell(CellPtr),
}

/// Work that a visit has left to the owner of the cell, who has its token.
pub(crate) struct Left {
    /// Envelopes that were not handled, oldest first.
    pub(crate) rest: *mut Envelope,
    pub(crate) outcome: Outcome,
    /// References that were given back.
    pub(crate) releases: usize,
}

impl Left {
    /// Leaves to the owner what came for a cell, or what an earlier visit has left of it.
    fn for_owner(rest: *mut Envelope) -> Self {
        let (outcome, releases) = (Outcome::ForOwner, 0);
        Self {
            rest,
            outcome,
            releases,
        }
    }
}

/// The cells that an owner gets back.
pub(crate) struct Recalled {
    /// Cells whose token is the owner's again.
    pub(crate) back: Vec<CellPtr>,
    /// Cells that were visited, and have something for their owner, with their tokens.
    pub(crate) left: Vec<(CellPtr, Left)>,
    /// Cells that rest, each once.
    pub(crate) rested: Vec<CellPtr>,
    /// Cells to which a reference was given back.
    pub(crate) released: Vec<CellPtr>,
    /// Cells that are visited still.
    pub(crate) visited: Vec<CellPtr>,
}

/// The cells that a seat has lent.
#[derive(Default)]
pub(super) struct Loan {
    lent: Mutex<Lent>,
    /// True if others may visit; a hint.
    is_open: AtomicBool,
    /// Cells that wait to be visited; a hint.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct Lent {
    /// The cell that the owner runs, while others may be visited.
    stuck: Option<*const Header>,
    /// Cells that wait to be visited, oldest first, with what the last visit has left of their messages.
    waiting: VecDeque<(CellPtr, Option<*mut Envelope>)>,
    /// Cells that are visited.
    visited: Vec<CellPtr>,
    /// Those that were when the owner recalled them.
    recalled: Vec<CellPtr>,
    /// Cells that were visited, and have something for their owner, with their tokens.
    left: Vec<(CellPtr, Left)>,
    /// Such cells whose visits have lasted longer than the loan. Their tokens are on the way to the owner.
    told: Vec<(CellPtr, Left)>,
    /// Cells of `told` whose tokens have come back to us.
    kept: Vec<CellPtr>,
    /// Cells that were visited and rest, some of them more than once.
    rested: Vec<CellPtr>,
    /// Cells to which a reference was given back, once for each.
    released: Vec<CellPtr>,
    /// The owner, if it waits for a visit to end.
    waits: Option<Thread>,
}

// SAFETY: what is in there is a seat's tokens, and lists that came through inboxes. They belong to whoever holds the lock; the cells have
// tasks and messages that are `Send`.
unsafe impl Send for Lent {}

impl Lent {
    /// Adds the cells of a list of carriers.
    fn add(&mut self, mut carrier: *mut Envelope) {
        while !carrier.is_null() {
            // SAFETY: a carrier lives until the inbox of its cell is taken, for which one must have the token, as we do.
            let (cell, next) = unsafe { ((*carrier).token_of(), (*carrier).ready_next()) };
            let cell = cell.expect("the carrier of a token names its cell");
            self.waiting.push_back((cell, None));
            carrier = next;
        }
    }
}

/// Takes a cell out of a list; false if it is not in there.
fn take_out(cells: &mut Vec<CellPtr>, cell: CellPtr) -> bool {
    let place = cells.iter().position(|&other| other == cell);
    place.map(|place| cells.swap_remove(place)).is_some()
}

impl Loan {
    fn lent(&self) -> MutexGuard<'_, Lent> {
        // No code that holds the lock can panic half way.
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells how many cells wait, under the lock.
    fn note_waiting(&self, lent: &Lent) {
        // Relaxed: hints; a fence orders them against sleep.
        self.is_open.store(lent.stuck.is_some(), Relaxed);
        self.waiting.store(lent.waiting.len(), Relaxed);
    }

    /// Returns whether a cell of the seat with that stack waits to be visited, as far as can be seen.
    fn has_to_visit(&self, ready: &Ready) -> bool {
        // Relaxed: as above.
        self.is_open.load(Relaxed) && (self.waiting.load(Relaxed) > 0 || ready.has_lent())
    }
}

impl Crew {
    /// Returns whether its seats lend their cells.
    pub(crate) fn lends(&self) -> bool {
        self.lend_by.is_some()
    }

    fn lends_at_once(&self) -> bool {
        self.lend_by.is_some_and(|by| by.at_once)
    }

    /// Lends the idle cells of a seat, whose owner is stuck as far as the caller can see; false if it is not. The caller wakes somebody to
    /// visit them.
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
        // Step L1: whoever pushes from here on leaves the seat's stack to us.
        let Some(list) = self.remote(number).ready.lend() else {
            return false;
        };
        lent.add(list);
        shared.lends(true);
        // Step L2: pairs with the light side in `Shown::name`. Either the owner sees LENT before it runs another cell than the one that it
        // has named, or we read the name.
        by.fence.heavy();
        // Step L3: the one cell that it runs. If there is none, it is about to come by, or drops something: then nothing is visited.
        let stuck = shown.look();
        lent.stuck = (!stuck.is_null()).then_some(stuck);
        seat.loan.note_waiting(&lent);
        lent.stuck.is_some()
    }

    /// Returns whether a cell waits to be visited, as far as can be seen.
    pub(super) fn has_to_visit(&self) -> bool {
        let waits = |seat: usize| {
            let ready = &self.remote(seat).ready;
            self.seats[seat].loan.has_to_visit(ready)
        };
        self.lends() && (0..self.seats.len()).any(waits)
    }

    /// Takes the next cell to visit.
    pub(crate) fn next_visit(&self) -> Option<Visit> {
        (0..self.seats.len()).find_map(|seat| self.next_visit_of(seat))
    }

    fn next_visit_of(&self, seat: usize) -> Option<Visit> {
        let ready = &self.remote(seat).ready;
        let loan = &self.seats[seat].loan;
        if !loan.has_to_visit(ready) {
            return None;
        }
        let home = self.seats[seat].home;
        let mut lent = loan.lent();
        let stuck = lent.stuck?;
        let visit = loop {
            if lent.waiting.is_empty() {
                let list = ready.take_lent().unwrap_or(ptr::null_mut());
                lent.add(list);
            }
            let Some((cell, rest)) = lent.waiting.pop_front() else {
                break None;
            };
            if lent.told.iter().any(|(other, _)| *other == cell) {
                // What an earlier visit has left comes first.
                lent.kept.push(cell);
                continue;
            }
            // Not the table of the cell that runs: its owner may be about to replace it.
            let may_run = !ptr::eq(cell.0.as_ptr(), stuck) && cell.is_idle_at(home) && {
                let table = cell.table();
                table.moves && !table.blocks && !(table.starts && cell.has(flag::NEWBORN))
            };
            if may_run {
                lent.visited.push(cell);
                break Some(Visit {
                    cell,
                    seat,
                    home,
                    rest,
                    releases: 0,
                });
            }
            let left = Left::for_owner(rest.unwrap_or(ptr::null_mut()));
            lent.left.push((cell, left));
        };
        loan.note_waiting(&lent);
        visit
    }

    /// Ends a visit.
    pub(crate) fn part(&self, visit: &Visit, parted: Parted) -> After {
        let &Visit {
            cell,
            seat,
            home,
            releases,
            ..
        } = visit;
        let loan = &self.seats[seat].loan;
        let mut lent = loan.lent();
        let is_lent = take_out(&mut lent.visited, cell);
        if is_lent && matches!(parted.outcome, Outcome::Done) {
            lent.released.extend((0..releases).map(|_| cell));
            if cell.try_rest() {
                lent.rested.push(cell);
                return After::Nothing;
            }
            lent.visited.push(cell);
            return After::Again(Visit {
                cell,
                seat,
                home,
                rest: None,
                releases: 0,
            });
        }
        if is_lent && matches!(parted.outcome, Outcome::Later) {
            lent.released.extend((0..releases).map(|_| cell));
            lent.waiting.push_back((cell, Some(parted.rest)));
            loan.note_waiting(&lent);
            return After::Nothing;
        }
        let left = Left {
            rest: parted.rest,
            outcome: parted.outcome,
            releases,
        };
        if is_lent {
            lent.left.push((cell, left));
            return After::Nothing;
        }
        let was_recalled = take_out(&mut lent.recalled, cell);
        debug_assert!(was_recalled, "a cell that is visited is lent or recalled");
        lent.told.push((cell, left));
        if let Some(owner) = lent.waits.take() {
            owner.unpark();
        }
        After::Tell(cell)
    }

    /// Owner only: nobody else is visited from here on.
    pub(crate) fn stop_lending(&self, seat: usize) {
        let loan = &self.seats[seat].loan;
        let mut lent = loan.lent();
        lent.stuck = None;
        loan.note_waiting(&lent);
    }

    /// Owner only: takes back what the seat has lent, whose stack is not LENT any more.
    pub(crate) fn recall(&self, seat: usize) -> Recalled {
        let loan = &self.seats[seat].loan;
        let mut lent = loan.lent();
        lent.stuck = None;
        let mut back = std::mem::take(&mut lent.kept);
        while let Some((cell, rest)) = lent.waiting.pop_front() {
            let Some(rest) = rest else {
                back.push(cell);
                continue;
            };
            lent.left.push((cell, Left::for_owner(rest)));
        }
        loan.note_waiting(&lent);
        let visited = std::mem::take(&mut lent.visited);
        lent.recalled.extend(&visited);
        let mut rested = std::mem::take(&mut lent.rested);
        rested.sort_unstable_by_key(|cell| cell.0);
        rested.dedup();
        Recalled {
            back,
            left: std::mem::take(&mut lent.left),
            rested,
            released: std::mem::take(&mut lent.released),
            visited,
        }
    }

    /// Owner only: waits until a cell that it has recalled is visited no more.
    pub(crate) fn await_visit(&self, seat: usize, cell: CellPtr) {
        loop {
            {
                let mut lent = self.seats[seat].loan.lent();
                if !lent.recalled.contains(&cell) {
                    return;
                }
                lent.waits = Some(thread::current());
            }
            thread::park();
        }
    }

    /// Owner only: takes what a visitor has left of a cell, if the visit has lasted longer than the loan.
    pub(crate) fn take_told(&self, seat: usize, cell: CellPtr) -> Option<Left> {
        let mut lent = self.seats[seat].loan.lent();
        let place = lent.told.iter().position(|(other, _)| *other == cell)?;
        Some(lent.told.swap_remove(place).1)
    }
}

/// Looks for stuck seats before nobody looks any more, unless something is found.
const LOOKS: usize = 10;
/// Time from one look to the next: that long at first, and twice as long each time.
const LOOK_AFTER: Nanos = 100_000;
const LOOK_AFTER_MAX: Nanos = 1_000_000;

/// Time from one look to the next of a crew that lends at once.
const AT_ONCE: Duration = Duration::from_micros(20);

/// Looks for stuck seats by the hand that keeps watch.
#[derive(Default)]
pub(super) struct Looks {
    /// Time of the next look; none if it is not to look.
    next: Cell<Option<Nanos>>,
    /// The activations of each seat at the last look, where somebody sat.
    picks: RefCell<Vec<Option<u32>>>,
}

impl Looks {
    /// No look is due.
    fn end(&self) {
        self.next.set(None);
        self.picks.borrow_mut().clear();
    }
}

impl Crew {
    /// Lets the hand that keeps watch look for stuck seats. The caller wakes it.
    pub(super) fn allow_looks(&self) {
        // Relaxed: the lock of the lists orders it for the hand that is woken.
        self.looks_left.store(LOOKS, Relaxed);
        self.set_unwatched(false);
    }

    fn set_unwatched(&self, is_unwatched: bool) {
        for seat in 0..self.seats.len() {
            self.remote(seat).set_unwatched(is_unwatched);
        }
    }

    /// The activations of a seat's worker that is in one, if somebody sits there.
    fn picks(&self, number: usize) -> Option<u32> {
        if !self.remote(number).ready.is_sat_on() {
            return None;
        }
        let look = self.seats[number].look();
        let shown = self.shown(number, &look)?;
        (!shown.look().is_null()).then(|| shown.picks())
    }
}

impl Hand {
    /// Returns how long this hand, which keeps watch, may sleep before it looks for stuck seats; none if it is not to look.
    pub(super) fn time_to_look(&self) -> Option<Duration> {
        let left = self.crew.looks_left.load(Relaxed);
        if left == 0 {
            self.looks.end();
            return None;
        }
        if self.crew.lends_at_once() {
            return Some(AT_ONCE);
        }
        let now = self.shared.now();
        let next = self.looks.next.get().unwrap_or_else(|| {
            let doubled = LOOKS.saturating_sub(left).min(8);
            now.saturating_add((LOOK_AFTER << doubled).min(LOOK_AFTER_MAX))
        });
        self.looks.next.set(Some(next));
        Some(Duration::from_nanos(next.saturating_sub(now)))
    }

    /// Looks for stuck seats, if it is time, and lends their cells. Returns a seat from which to visit them, and takes this hand out of the
    /// line.
    pub(super) fn look_for_stuck_seats(&self) -> Option<usize> {
        let left = self.time_to_look()?;
        let at_once = self.crew.lends_at_once();
        if !left.is_zero() && !at_once {
            return None;
        }
        let crew = &*self.crew;
        self.looks.next.set(None);
        let mut has_lent = false;
        let seats = crew.seats.len();
        self.looks.picks.borrow_mut().resize(seats, None);
        for seat in 0..seats {
            let picks = crew.picks(seat);
            let before = std::mem::replace(&mut self.looks.picks.borrow_mut()[seat], picks);
            // The same activation as at the last look.
            if picks.is_some() && (picks == before || at_once) {
                has_lent |= crew.lend(seat, &self.shared);
            }
        }
        // Relaxed: whoever calls the watch meanwhile wants more looks, and gets them by the next call if this is lost.
        let left = crew.looks_left.load(Relaxed).saturating_sub(1);
        crew.looks_left.store(left, Relaxed);
        if left == 0 {
            self.looks_no_more();
        }
        if has_lent { self.take_parked() } else { None }
    }

    /// Ends the looks. From here on a push that finds a sitter calls the watch.
    fn looks_no_more(&self) {
        let crew = &*self.crew;
        crew.set_unwatched(true);
        // Dekker: either whoever has pushed sees that nobody looks, or we see what it has pushed.
        if let Some(by) = crew.lend_by {
            by.fence.heavy();
        }
        let waits = |seat: usize| {
            let ready = &crew.remote(seat).ready;
            ready.has_some() && !ready.is_lent()
        };
        if (0..crew.seats.len()).any(waits) {
            crew.set_unwatched(false);
            crew.looks_left.store(1, Relaxed);
        }
    }

    /// Takes a seat where nobody sits, and this hand out of the line; none if somebody sits on each.
    fn take_parked(&self) -> Option<usize> {
        let crew = &self.crew;
        let seat = (0..crew.seats.len()).find(|&seat| crew.retake(seat, Ready::sit))?;
        self.leave_line(seat)
    }
}

impl Shared {
    /// A worker lends its cells, or does so no more.
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

/// Sits on the second seat of a sponsor on a thread of a model, does something, and lends and visits what is to be had of the first.
/// Returns whether it has lent.
#[cfg(all(test, garrick_loom))]
pub(crate) fn visit_in_model(shared: &Shared, before: impl FnOnce()) -> bool {
    let (crew, seat) = shared.place_of(1);
    assert!(crew.retake(seat, Ready::sit), "nobody else sits there");
    // SAFETY: the seat is ours.
    let worker = unsafe { crew.worker(seat).as_ref() };
    worker.touch();
    before();
    let has_lent = crew.lend(0, shared);
    {
        let _entered = Entered::new(worker);
        while worker.visit_some() {}
        worker.run_ready(Signal::is_stopping);
    }
    if !crew.remote(seat).ready.try_park() {
        crew.hand_over(seat);
    }
    has_lent
}
