//! The steps of a worker in a simulation. The simulation chooses which step comes next.

use std::ptr;

use super::Worker;
use super::census::label;
use super::ready::Received;
use super::step::PLAIN;
use crate::cell::{CellPtr, Chain, Envelope, Kind, reverse};
use crate::pool::Pool;
use crate::quiet;
use crate::run_queue::Entry;
use crate::runtime::current::Entered;
use crate::runtime::watch::{self, Ended, Notice};
use crate::world::Nanos;

/// Something that has arrived at a cell.
#[derive(Clone, Copy)]
pub(crate) enum Arrival {
    /// An envelope that must be delivered in order. It contains one message, or requests a turn (a
    /// nudge), a stop or a move of the task.
    Envelope(*mut Envelope),
    /// An entry of the cell in a run queue, without a message.
    Scheduled,
}

impl Worker {
    /// Returns true if [`Worker::take_arrivals`] would find anything that was sent to this worker.
    #[inline]
    pub(crate) fn has_arrivals(&self) -> bool {
        self.has_something() || self.shared.queued() > 0
    }

    /// Calls `arrive` with everything that was sent to cells of this worker. Handles notes
    /// (envelopes that make requests) whose order does not matter. After the call, there may be new
    /// arrivals, because foreign code runs at the end.
    pub(crate) fn take_arrivals(&self, mut arrive: impl FnMut(CellPtr, Arrival)) {
        let _entered = Entered::new(self);
        if self.shared.queued() > 0 {
            self.claim();
        }
        while let Some(entry) = self.take_oldest() {
            self.unwrap_scheduled(&entry, &mut arrive);
        }
        if !self.remote.ready.has_some() {
            return;
        }
        let (mut carrier, _) = self.remote.ready.take();
        let (mut closed, mut late) = (Vec::new(), Vec::new());
        while !carrier.is_null() {
            // SAFETY: as in `take_ready`.
            let (cell, next) = unsafe { ((*carrier).token_of(), (*carrier).ready_next()) };
            let cell = cell.expect("the carrier of a token names its cell");
            if cell.state().waits_for_token() {
                if let Received::Shut(list) = self.receive(cell) {
                    closed.push((cell, list));
                }
            } else {
                self.take_apart(cell, cell.take_and_idle(), &mut arrive, &mut late);
            }
            carrier = next;
        }
        // Last, because destructors and notices may do anything.
        for (cell, list) in closed {
            self.leave_closed(cell, list);
        }
        watch::tell_late(late);
        self.commit();
    }

    /// Pushes a chain (a list of envelopes that a commit has sent) to the inbox of its receiver.
    /// Called outside of the steps of the simulation.
    pub(crate) fn push_sent(&self, cell: CellPtr, chain: Chain) {
        let _entered = Entered::new(self);
        self.push_staged(cell, chain);
        self.commit();
    }

    /// Returns the envelope of a chain (a list of envelopes that a commit has sent), if the chain
    /// consists of one message to a cell of this worker. Otherwise returns `None`.
    #[inline]
    pub(crate) fn only_message(&self, cell: CellPtr, chain: Chain) -> Option<*mut Envelope> {
        // SAFETY: the chain is ours.
        let (kind, unread) = unsafe { ((*chain.newest).kind(), (*chain.newest).unread()) };
        let is_one = chain.oldest == chain.newest && kind == Kind::Messages && unread == 1;
        (is_one && cell.local_refs() > 0).then_some(chain.newest)
    }

    /// Calls `arrive` with each message of a chain (a list of envelopes) that a commit has sent.
    /// Then drops the chain's reference to the receiver. The receiver belongs to this worker and is
    /// not closed.
    pub(crate) fn take_sent(
        &self,
        cell: CellPtr,
        chain: Chain,
        mut arrive: impl FnMut(CellPtr, Arrival),
    ) {
        let _entered = Entered::new(self);
        // SAFETY: the chain is ours; its oldest may have a stale link.
        unsafe { (*chain.oldest).set_next(ptr::null_mut()) };
        let mut late = Vec::new();
        self.take_apart(cell, chain.newest, &mut arrive, &mut late);
        self.let_go(cell);
        watch::tell_late(late);
        self.commit();
    }

    /// Calls `arrive` with each message of an inbox, oldest first. `list` is the newest envelope of
    /// the inbox, which links to older ones.
    fn take_apart(
        &self,
        cell: CellPtr,
        list: *mut Envelope,
        arrive: &mut impl FnMut(CellPtr, Arrival),
        late: &mut Vec<Notice>,
    ) {
        let mut releases = 0;
        // SAFETY: the list was taken from the inbox, so it is ours.
        let mut list = unsafe { reverse(list) };
        while !list.is_null() {
            // SAFETY: as above.
            let (next, kind) = unsafe { ((*list).next(), (*list).kind()) };
            match kind {
                Kind::Messages => {
                    self.split(cell, list, |one| arrive(cell, Arrival::Envelope(one)));
                }
                Kind::Nudge | Kind::Stop | Kind::Move => arrive(cell, Arrival::Envelope(list)),
                // No turn of a simulation has a trail.
                Kind::Trail => {
                    // SAFETY: as above; it is freed below.
                    unsafe { Self::drop_trail(list) };
                }
                Kind::Release => releases += 1,
                Kind::Wake if self.later.note_wake(cell) => {}
                Kind::Wake => self.schedule(cell),
                // SAFETY: as above.
                Kind::Watch => unsafe { self.watch(cell, list, late) },
            }
            if matches!(kind, Kind::Release | Kind::Wake | Kind::Watch | Kind::Trail) {
                // SAFETY: as above; it is empty.
                unsafe { self.pool.give_envelope(list) };
            }
            list = next;
        }
        for _ in 0..releases {
            self.drop_reference(cell);
        }
        if !cell.state().is_looked_after() {
            self.free_if_unreachable(cell);
        }
    }

    /// Calls `each` with each message of an envelope, oldest first. Each message is then in a
    /// separate envelope.
    fn split(&self, cell: CellPtr, envelope: *mut Envelope, mut each: impl FnMut(*mut Envelope)) {
        let pool = ptr::NonNull::from(&self.pool).cast();
        // SAFETY: the envelope is ours, and its messages are of the cell's type.
        let unread = unsafe { (*envelope).unread() };
        if unread == 1 {
            return each(envelope);
        }
        let mut newer: Vec<_> = (1..unread)
            // SAFETY: as above.
            .map(|_| unsafe { (cell.table().split_newest)(pool, envelope, 1) })
            .collect();
        each(envelope);
        while let Some(next) = newer.pop() {
            each(next);
        }
    }

    /// Calls `arrive` with an entry of a run queue. If the entry has a message, moves the message
    /// to an envelope first.
    fn unwrap_scheduled(&self, entry: &Entry, arrive: &mut impl FnMut(CellPtr, Arrival)) {
        let cell = entry.cell();
        if entry.message().is_null() {
            return arrive(cell, Arrival::Scheduled);
        }
        let pool = ptr::NonNull::from(&self.pool).cast();
        // SAFETY: the message of the entry is of the cell's type, and is not used again.
        let envelope = unsafe { (cell.table().wrap_slot)(pool, entry.message()) };
        arrive(cell, Arrival::Envelope(envelope));
        cell.unschedule();
    }

    /// Runs a cell with an empty mailbox, after appending `envelope` (unless it is null) and the
    /// envelopes in `more` to the mailbox. Handles a panic as the worker's loop does. If `lets_go`
    /// is true, drops a reference to the cell before it runs.
    pub(crate) fn run_alone(
        &self,
        cell: CellPtr,
        envelope: *mut Envelope,
        more: &[*mut Envelope],
        lets_go: bool,
    ) {
        let _entered = Entered::new(self);
        for &envelope in [envelope].iter().chain(more) {
            if envelope.is_null() {
                continue;
            }
            // SAFETY: the envelope is ours, and in no list.
            unsafe { cell.append(envelope) };
        }
        if !cell.state().is_scheduled() {
            cell.schedule();
        }
        if lets_go {
            // The end of its activation frees the cell if nobody else needs it.
            self.drop_reference(cell);
        }
        self.shown.name(cell);
        if let Err(panic) = quiet::call(|| self.run::<PLAIN>(cell, ptr::null())) {
            self.survive(panic);
        }
        self.hold(ptr::null_mut());
        self.stop_running();
    }

    /// Commits or undoes the waiting turn of a cell, if the commit of this turn was decided. Called
    /// when the cell has received a WAKE note (a request for an activation). Runs no further turn.
    /// Returns true if the turn is still waiting for a decision, or waits again.
    pub(crate) fn finish_woken(&self, cell: CellPtr) -> bool {
        let _entered = Entered::new(self);
        self.finish_one(cell);
        self.stop_running();
        self.later.is_undecided(cell)
    }

    /// Stops a task, because the worker is about to close.
    pub(crate) fn stop_now(&self, cell: CellPtr) {
        let _entered = Entered::new(self);
        self.give_up(cell);
        self.begin_pause();
        self.stop(cell, &Ended::SponsorEnded);
    }

    /// Returns the label of a task of this worker. No other code may be using the task.
    pub(crate) fn label(&self, cell: CellPtr) -> Option<String> {
        cell.check_home(self.home);
        label(cell)
    }

    /// Makes the worker ask the simulation at the end of the next turn whether this turn fails.
    pub(crate) fn expect_choice(&self) {
        self.stage.set_dirty();
    }

    /// Keeps a cell of this worker alive while a message to the cell is on its way.
    pub(crate) fn keep(&self, cell: CellPtr) {
        cell.check_home(self.home);
        cell.clone_local();
    }

    /// Returns the pool of memory blocks of this worker.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Drops a list of envelopes that were sent to a cell, oldest first. Counts their messages as
    /// dead letters.
    pub(crate) fn drop_flights(&self, cell: CellPtr, oldest: *mut Envelope) {
        let _entered = Entered::new(self);
        let name = cell.table().name;
        // SAFETY: the envelopes are ours, and were sent to the cell.
        let dropped = unsafe { self.drop_list(cell, oldest) };
        self.count_dead_letters(name, self.end_reason(), dropped);
        self.commit();
    }

    /// Drops a reference to a cell of any worker. Called outside of the steps of the simulation.
    pub(crate) fn let_go_now(&self, cell: CellPtr) {
        let _entered = Entered::new(self);
        self.let_go(cell);
        self.commit();
    }

    /// Delivers one message of a timer that is due at `now`. Returns false if there is none.
    pub(crate) fn fire_one(&self, now: Nanos) -> bool {
        let _entered = Entered::new(self);
        let due = self.timers.wheel.with(|wheel| wheel.pop_due(now));
        let has_some = due.is_some();
        if let Some(timed) = due {
            self.fire(timed);
            self.commit();
        }
        has_some
    }

    /// Returns the exact deadline of the next timer, or `None` if there is no timer.
    pub(crate) fn earliest(&self) -> Option<Nanos> {
        self.timers.wheel.with(|wheel| wheel.earliest())
    }

    /// Returns true if this worker has timers.
    #[inline]
    pub(crate) fn has_timers(&self) -> bool {
        !self.timers.are_calm() && self.has_timers_in_wheel()
    }

    #[cold]
    fn has_timers_in_wheel(&self) -> bool {
        let is_empty = self.timers.wheel.with(|wheel| wheel.is_empty());
        if is_empty {
            self.timers.note_look(self.now(), false, true);
        }
        !is_empty
    }
}
