//! Idle workers to which another worker sends a message. Usually, a thread is woken and runs the
//! idle worker. There are two cheaper ways: the thread of the sending worker runs the idle worker
//! next, or the sending worker takes over (*gathers*) the receiving cell (README.md, seats).

use std::sync::Arc;

use super::idle::Came;
use crate::cell::{CellPtr, Envelope};
use crate::remote::{Remote, Serve as _};
use crate::run_queue::Entry;
use crate::runtime::worker::Worker;

/// An idle worker to which another worker has sent a message. The sender has not woken a thread to
/// run the idle worker, but has kept the right to run it.
#[derive(Clone, Copy)]
pub(crate) struct KeptSeat {
    /// Index of the idle worker in the crew (the group of threads and workers).
    pub(crate) seat: usize,
    /// Set if the sending worker takes over the cell that receives the message. Contains this cell,
    /// and the envelope with its token (the right to notify the idle worker). `None` if the thread
    /// of the sender runs the idle worker next.
    pub(crate) gathers: Option<(CellPtr, *mut Envelope)>,
}

impl Worker {
    /// Returns true if this worker has kept no idle worker and has taken over (gathered) no cell.
    #[inline]
    pub(crate) fn has_kept_nothing(&self) -> bool {
        self.next_seat.get().is_none() && self.gathered.get().is_none()
    }

    /// Gives the idle worker that this worker has kept, if any, to another thread. A worker keeps
    /// an idle worker when it has sent a message there and no thread was woken.
    #[inline]
    pub(crate) fn give_next_seat(&self) {
        if let Some(next) = self.next_seat.take() {
            self.crew.hand_over(next.seat);
        }
    }

    /// Gives away the idle worker that this worker has kept, and the cell that this worker has
    /// taken over (gathered). Also lets another thread watch the timers and the ready cells. Called
    /// before values are dropped, because a destructor may take a long time, or may wait for one of
    /// the cells that are given away. The worker's latest turn must have been committed or undone.
    pub(crate) fn let_others(&self) {
        self.end_pushed_turn();
        self.let_others_after_turn();
    }

    /// Does the same as [`Worker::let_others`], for a caller that has already ended the worker's
    /// latest turn.
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

    /// Ends the worker's latest turn if the turn has scheduled cells of this worker. After that,
    /// other workers can run these cells. The turn must have been committed or undone.
    fn end_pushed_turn(&self) {
        let turn = self.turn();
        let has_pushed = self.old.was_pushed_in(turn)
            || self.born.was_pushed_in(turn)
            || self.handoff.was_put_in(turn);
        if has_pushed {
            self.end_turn();
        }
    }

    /// Lets another thread watch this worker's ready cells. Called before foreign code that may
    /// take a long time.
    #[inline]
    fn watch_ready(&self) {
        let has_ready = || self.backlog() > 0;
        self.crew.watch_ready(&self.shared, has_ready);
    }

    /// Decides if this worker, which sends a message to `cell`, should keep the idle worker of
    /// `cell`. If so, returns the idle worker, and no thread is woken: this thread runs the idle
    /// worker next, or takes over the cell. `carrier` is the envelope that carries the token of the
    /// cell (the right to notify its worker).
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

    /// Returns true if this worker will have no work after the current turn, which is about to end.
    fn will_rest(&self) -> bool {
        // The current activation is about to end with this turn.
        let is_last = |cell: CellPtr| cell.mailbox_tail().is_null();
        !self.has_something() && self.running().is_some_and(is_last)
    }

    /// Returns true if this worker, which sends a message to `cell`, should take over `cell` from
    /// an idle worker. The reason is that a message to another worker costs more than a short turn,
    /// and waking a thread costs more than many turns.
    pub(super) fn gathers(&self, cell: CellPtr) -> bool {
        self.is_fine()
            && cell.table().moves
            && self.gathered.get().is_none()
            && !self.pace.is_long_round(self.backlog())
            && !self.remote().ready.is_lent()
            && !self.is_to_stop(self.shared.signal())
    }

    /// Takes over the cell of an idle worker to which the turn has sent a message. Does nothing
    /// unless this worker has kept the idle worker for this purpose. If the cell must stay there,
    /// gives the idle worker to another thread.
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

    /// Takes over a cell of an idle worker that this worker has kept. Returns false if the cell
    /// must stay on the idle worker, or if other threads have also sent to the idle worker. In both
    /// of these cases, this worker still keeps the idle worker.
    #[inline(never)]
    fn gather_from(&self, seat: usize, cell: CellPtr, carrier: *mut Envelope) -> bool {
        let worker = self.crew.worker(seat);
        // SAFETY: the seat is ours until it is left below, and the reference ends before that.
        let other = unsafe { worker.as_ref() };
        // A cell that is scheduled, and in no queue, has a turn that is away.
        if other.is_closing()
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

    /// Gives away the cell that this worker has taken over (gathered), if there is one, because the
    /// next destructor may wait for this cell.
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
