//! Seats of other workers that a worker wakes by sending. Either its thread moves to such a seat
//! next, or the worker takes over (*gathers*) the receiving cell (README.md, seats).

use std::sync::Arc;

use super::idle::Came;
use crate::cell::{CellPtr, Envelope};
use crate::remote::{Remote, Serve as _};
use crate::run_queue::Entry;
use crate::runtime::worker::Worker;

/// A seat that a worker owns because of a push, and on which no thread sits.
#[derive(Clone, Copy)]
pub(crate) struct KeptSeat {
    /// Number of the seat in the crew.
    pub(crate) seat: usize,
    /// Receiving cell and carrier of its token, if the worker takes over the cell and then leaves
    /// the seat. `None` if the hand moves to the seat.
    pub(crate) gathers: Option<(CellPtr, *mut Envelope)>,
}

impl Worker {
    /// Returns true if this worker has kept no seat and has gathered no cell.
    #[inline]
    pub(crate) fn has_kept_nothing(&self) -> bool {
        self.next_seat.get().is_none() && self.gathered.get().is_none()
    }

    /// Hands over the seat that the last turn has woken, if this hand has kept it.
    #[inline]
    pub(crate) fn give_next_seat(&self) {
        if let Some(next) = self.next_seat.take() {
            self.crew.hand_over(next.seat);
        }
    }

    /// Gives away the seat that this worker has kept and the cell that it has gathered, and has the
    /// timers and the ready cells watched. Called before values are dropped, because a destructor
    /// may take a long time, or wait for one of these cells. The last turn must have been committed
    /// or undone.
    pub(crate) fn let_others(&self) {
        self.end_pushed_turn();
        self.let_others_after_turn();
    }

    /// Does the same as [`Worker::let_others`], for a caller that has begun a pause.
    #[inline]
    pub(crate) fn let_others_after_turn(&self) {
        self.watch_timers();
        if !self.has_kept_nothing() {
            self.give_kept();
        }
        self.watch_ready();
    }

    #[cold]
    fn give_kept(&self) {
        self.give_next_seat();
        self.give_gathered();
    }

    /// Ends the last turn if it has scheduled cells of this worker, so that other workers may visit
    /// them. That turn must have been committed or undone.
    fn end_pushed_turn(&self) {
        let turn = self.turn();
        let has_pushed = self.old.was_pushed_in(turn)
            || self.born.was_pushed_in(turn)
            || self.handoff.was_put_in(turn);
        if has_pushed {
            self.end_turn();
        }
    }

    /// Has the ready cells watched. Called before foreign code that may take a long time.
    #[inline]
    fn watch_ready(&self) {
        if self.backlog() > 0 {
            self.crew.watch_ready(&self.shared);
        }
    }

    /// Returns the seat to keep, and the reason for keeping it, if this worker should keep the
    /// seat. Called when this worker sends to `cell` of a seat on which no thread sits. `carrier`
    /// carries the token.
    pub(crate) fn keeps(
        &self,
        remote: &Remote,
        cell: CellPtr,
        carrier: *mut Envelope,
    ) -> Option<KeptSeat> {
        if self.next_seat.get().is_some() || self.is_visiting() {
            return None;
        }
        let (crew, seat) = remote.seat();
        if crew != Arc::as_ptr(&self.crew).cast() {
            return None;
        }
        let gathers = self.gathers(cell).then_some((cell, carrier));
        (gathers.is_some() || self.will_rest()).then_some(KeptSeat { seat, gathers })
    }

    /// Returns true if the hand will have no work here after the current turn, which is about to
    /// end.
    fn will_rest(&self) -> bool {
        // The current activation is about to end with this turn.
        let is_last = |cell: CellPtr| cell.mailbox_tail().is_null();
        !self.has_something() && self.running().is_some_and(is_last)
    }

    /// Returns true if this worker should take over a cell to which it sends, when no thread sits
    /// on the seat of the cell's home. For short turns, a message to another worker costs more than
    /// the turn, and waking a hand costs more than all turns.
    pub(super) fn gathers(&self, cell: CellPtr) -> bool {
        self.is_fine()
            && cell.table().moves
            && self.gathered.get().is_none()
            && !self.pace.is_long_round(self.backlog())
            && !self.remote().ready.is_lent()
            && !self.is_to_stop(self.shared.signal())
    }

    /// Takes over the cell to which the turn has sent, if the seat of its home was kept for that.
    #[inline]
    pub(crate) fn gather(&self) {
        if let Some(kept) = self.next_seat.get()
            && let Some((cell, carrier)) = kept.gathers
        {
            self.next_seat.set(None);
            if !self.gather_from(kept.seat, cell, carrier) {
                self.crew.hand_over(kept.seat);
            }
        }
    }

    /// Takes over a cell from a kept seat. Returns false if the cell must stay there or if other
    /// threads have also sent to the seat. This worker then still owns the seat.
    #[inline(never)]
    fn gather_from(&self, seat: usize, cell: CellPtr, carrier: *mut Envelope) -> bool {
        let worker = self.crew.worker(seat);
        // SAFETY: the seat is ours until it is left below, and the reference ends before that.
        let other = unsafe { worker.as_ref() };
        // A cell that is scheduled, and in no queue, has a turn that is away.
        if other.closes.get()
            || other.visited.get() > 0
            || cell.state().is_scheduled()
            || cell.state().is_stopped()
            || !other.remote().ready.take_only(carrier)
        {
            return false;
        }
        other.arrive(Came::Untimed);
        // This worker holds the cell's token, and all its references are in the shared count, as
        // for a cell claimed from the shared queue.
        cell.schedule();
        cell.share_refs();
        cell.set_home(self.shared.queue_home());
        other.lane.published(1);
        if !self.shared.try_leave(worker) {
            self.crew.hand_over(seat);
        }
        self.take_in(Entry::of(cell));
        self.gathered.set(Some(cell));
        true
    }

    /// Gives away the cell that was gathered since the last check between two activations, because
    /// the next drop may wait for it.
    #[inline]
    pub(crate) fn give_gathered(&self) {
        if let Some(cell) = self.gathered.take() {
            self.give_back(cell);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_back(&self, cell: CellPtr) {
        let (mut others, mut kept) = (Vec::new(), Vec::new());
        let running = self.running();
        let given = self.take_to_give(1, &mut kept, || {
            while let Some(&entry) = self.old.pop_newest() {
                if entry.cell() == cell {
                    return Some(entry);
                }
                others.push(entry);
            }
            None
        });
        for entry in kept.into_iter().chain(others.into_iter().rev()) {
            self.old.push_entry(self.turn(), entry);
        }
        if let Some(running) = running {
            // Its activation may continue.
            self.shown.name(running);
        }
        self.publish(given);
    }
}
