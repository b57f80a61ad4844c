//! Gathering: a worker with short turns takes a cell over that it sends to, from a seat where nobody sits (README.md, seats).

use crate::remote::Serve as _;
use super::idle::Came;
use crate::cell::{CellPtr, Envelope, SCHEDULED, flag};
use crate::remote::Remote;
use crate::run_queue::Entry;
use crate::runtime::worker::Worker;

impl Worker {
    /// Returns whether a cell of another seat of the crew is to be gathered if this worker sends to it, and nobody sits there.
    pub(crate) fn gathers(&self, cell: CellPtr) -> bool {
        self.pace.is_fine()
            && cell.table().moves
            && self.born.is_empty()
            && self.next_seat.get().is_none()
            && !self.is_visiting()
            && !self.closes.get()
            && !self.shared.signal().is_stopping()
    }

    /// Takes a cell over that it has sent to. The seat of its home is ours by the push of that carrier. Returns false if the cell is to stay
    /// there; then the seat is still ours.
    pub(crate) fn gather(&self, cell: CellPtr, carrier: *mut Envelope, remote: &'static Remote) -> bool {
        let (_, seat) = remote.seat();
        let other = self.crew.worker(seat);
        // SAFETY: the seat is ours.
        let left = unsafe { other.as_ref() };
        if left.closes.get()
            || left.visited.get() > 0
            || cell.state() & (flag::STOPPED | SCHEDULED) != 0
            || !remote.ready.take_only(carrier)
        {
            return false;
        }
        left.arrive(Came::Untimed);
        cell.set(SCHEDULED);
        cell.share_refs();
        cell.set_home(self.shared.queue_home());
        left.lane.published(1);
        if !self.shared.try_leave(other) {
            self.crew.hand_over(seat);
        }
        self.take_in(Entry::of(cell));
        true
    }
}
