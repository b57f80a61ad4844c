//! Partners: two cells (tasks) of different workers that send messages only to each other. One of
//! the two cells is moved to the worker of the other one (`README.md` in this folder, section
//! "Seats").

use std::cell::Cell;

use super::crew::Hand;
use super::idle::Came;
use crate::cell::Ready;
use crate::remote::Serve;
use crate::run_queue::Entry;
use crate::runtime::current::Entered;
use crate::runtime::worker::Worker;

/// Number of consecutive moves of a thread between the same two workers, after which the thread
/// moves a cell from one worker to the other. The cell and its partner then belong to one worker.
const GOES: u32 = if cfg!(garrick_loom) { 2 } else { 8 };

/// Record of a thread's moves: the two workers between which it moves back and forth, and the
/// number of moves.
#[derive(Default)]
pub(super) struct Path {
    seats: Cell<(usize, usize)>,
    /// Number of consecutive moves between the two workers. Reset when the thread does other work,
    /// or has moved a cell.
    goes: Cell<u32>,
}

impl Path {
    /// Records that the thread has moved between two workers. Returns true if this was move number
    /// [`GOES`] between the same two workers.
    fn is_worn_by(&self, from: usize, to: usize) -> bool {
        let seats = (from.min(to), from.max(to));
        let is_same = self.seats.replace(seats) == seats;
        let goes = if is_same { self.goes.get() + 1 } else { 1 };
        let is_worn = goes >= GOES;
        self.goes.set(if is_worn { 0 } else { goes });
        is_worn
    }

    /// Records `GOES - 1` moves, so that the next move between the two given workers is number
    /// [`GOES`].
    #[cfg(all(test, garrick_loom))]
    pub(super) fn wear(&self, from: usize, to: usize) {
        (1..GOES).for_each(|_| {
            self.is_worn_by(from, to);
        });
    }

    /// Resets the number of consecutive moves between two workers, because the thread now does
    /// other work.
    pub(super) fn ends(&self) {
        self.goes.set(0);
    }
}

impl Hand {
    /// Moves this thread from worker `seat`, which has no work, to worker `next`. The last turn of
    /// this thread has woken `next`, and the thread already has the right to run `next`.
    ///
    /// After many moves between the same two workers, takes the ready cell of `next` back to `seat`
    /// instead. Both cells then belong to one worker, so their next messages stay on this worker.
    /// Returns the index of the worker that the thread runs afterwards.
    pub(super) fn follow(&self, seat: usize, next: usize) -> (usize, Came) {
        let (sits, came) = self.go(seat, next);
        if sits == next && self.path.is_worn_by(seat, next) {
            self.bring_back(seat, sits, came)
        } else {
            (sits, came)
        }
    }

    /// Takes worker `seat` if no thread runs it and it is not closing its cells. Returns true if
    /// this thread may now run the worker.
    fn retake_open(&self, seat: usize) -> bool {
        if !self.crew.retake(seat, Ready::sit) {
            return false;
        }
        // SAFETY: this hand has the seat.
        let closes = unsafe { self.crew.worker(seat).as_ref() }.is_closing();
        if closes {
            // The sponsor ends, and another thread closes the cells of this worker.
            self.crew.hand_over(seat);
        }
        !closes
    }

    /// Moves the only ready cell of worker `seat` to worker `from`. This thread runs worker `seat`,
    /// and has come from worker `from`. Returns the index of the worker that the thread runs
    /// afterwards.
    fn bring_back(&self, from: usize, seat: usize, came: Came) -> (usize, Came) {
        // SAFETY: this hand sits there, until `go` below.
        let worker = unsafe { self.crew.worker(seat).as_ref() };
        // From here until it is taken over, the cell is held by this hand alone, like a cell
        // claimed from the shared queue.
        let Some(entry) = worker.take_lone(came) else {
            return (seat, came);
        };
        let (sits, came) = if self.retake_open(from) {
            self.go(seat, from)
        } else {
            (seat, came)
        };
        // SAFETY: this hand sits there.
        unsafe { self.crew.worker(sits).as_ref() }.bring(entry);
        (sits, came)
    }
}

impl Worker {
    /// Takes the only ready cell away from this worker, if the cell can be given away.
    fn take_lone(&self, came: Came) -> Option<Entry> {
        let _entered = Entered::new(self);
        self.arrive(came);
        if self.is_to_stop(self.shared.signal()) {
            return None;
        }
        if self.remote().ready.has_some() {
            self.take_ready();
        }
        if self.backlog() != 1 {
            return None;
        }
        let mut kept = Vec::new();
        let given = self.take_to_give(1, &mut kept, || self.take_oldest());
        for entry in kept {
            self.old.push_oldest(entry);
        }
        self.lane.published(given.len());
        given.into_iter().next()
    }

    /// Takes over a cell from another worker.
    fn bring(&self, entry: Entry) {
        let _entered = Entered::new(self);
        self.touch();
        self.take_over(entry);
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use crate::runtime::address::Address;
    use crate::runtime::sponsor::Sponsor;
    use crate::runtime::task::{Flow, Task};
    use crate::runtime::turn::Turn;

    /// Message that two tasks send to each other. Contains the number of remaining sends, and the
    /// address for the next send.
    struct Ball {
        left: u32,
        back: Address<Ball>,
        end: Sender<()>,
    }

    struct Player;

    impl Task for Player {
        type Message = Ball;

        fn receive(&mut self, ball: Ball, turn: &Turn<'_, Ball>) -> Flow {
            if ball.left == 0 {
                ball.end.send(()).unwrap();
                return Flow::Continue;
            }
            let next = Ball {
                left: ball.left - 1,
                back: turn.address(),
                end: ball.end,
            };
            assert!(turn.send(&ball.back, next).is_ok());
            Flow::Continue
        }
    }

    #[test]
    fn two_cells_that_only_answer_each_other_end_up_on_one_seat() {
        let sponsor = Sponsor::pool(2).unwrap();
        let handle = sponsor.handle();
        let homes = &handle.shared.homes;
        let first = handle.spawn_at(homes[0], Player, true).unwrap();
        let second = handle.spawn_at(homes[1], Player, true).unwrap();
        let (end, ended) = channel();
        // Other awake threads on a busy machine may sit on one of the seats, so one game may be too
        // short.
        while first.cell().home() != second.cell().home() {
            let ball = Ball {
                left: 1_000,
                back: second.clone(),
                end: end.clone(),
            };
            first.send(ball).map_err(|_| ()).unwrap();
            ended
                .recv_timeout(Duration::from_secs(60))
                .expect("the game ends");
        }
        sponsor.shutdown();
    }
}
