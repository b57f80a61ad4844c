//! The activations (runs of ready tasks) of one worker that other threads have seen.
//!
//! One of these threads, the *lookout*, glances at each worker of a sponsor about once a
//! millisecond. The lookout reads which activation runs, and writes no data that a worker reads in
//! its activations. So the lookout sees every activation that takes longer than the time between
//! two glances, and costs the worker nothing.

use std::collections::VecDeque;

use crate::cell::{Table, TaskId};
use crate::world::Nanos;

/// Maximum number of activations in [`Sights::past`]. If there are more, the oldest is removed.
const SIGHTS_MAX: usize = 16;
/// Minimum duration of a slow turn, in nanoseconds.
pub(super) const SLOW_TURN: Nanos = 100_000_000;

/// The activation that a worker runs at a certain time.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    /// Sequence number of the activation, modulo 2^32.
    pub(crate) picks: u32,
    pub(crate) table: &'static Table,
    pub(crate) task: TaskId,
    /// Sequence number of the current turn.
    pub(crate) turn: u64,
}

impl Running {
    fn is_same(&self, other: &Self) -> bool {
        self.picks == other.picks
            && self.task == other.task
            && std::ptr::eq(self.table, other.table)
    }
}

/// An activation that another thread has seen running.
#[derive(Clone, Copy)]
pub(super) struct Sight {
    pub(super) running: Running,
    /// Time at which another thread first saw the activation running.
    pub(super) since: Nanos,
    /// Number of times that other threads have seen the activation running.
    pub(super) glances: u64,
    /// Sequence number of the turn that was running when another thread first saw the activation.
    first_turn: u64,
    /// Time at which another thread first saw the current turn running.
    turn_since: Nanos,
    /// Number of turns that other threads have seen running for at least [`SLOW_TURN`].
    pub(super) slow: u64,
    /// True if other threads have seen the current turn running for at least [`SLOW_TURN`].
    is_slow: bool,
}

impl Sight {
    fn new(running: Running, now: Nanos) -> Self {
        Self {
            running,
            since: now,
            glances: 1,
            first_turn: running.turn,
            turn_since: now,
            slow: 0,
            is_slow: false,
        }
    }

    /// Returns the number of turns of the activation, from the first to the last turn that other
    /// threads have seen.
    pub(super) fn turns(&self) -> u64 {
        self.running.turn.saturating_sub(self.first_turn) + 1
    }

    /// Returns true if the activation has a sequence number after `since` and up to `to`. The
    /// sequence numbers wrap around.
    fn is_in(&self, since: u32, to: u32) -> bool {
        let number = self.running.picks.wrapping_sub(since).wrapping_sub(1);
        number < to.wrapping_sub(since)
    }

    fn again(&mut self, running: Running, now: Nanos) {
        self.glances += 1;
        if self.running.turn != running.turn {
            (self.turn_since, self.is_slow) = (now, false);
        }
        self.running = running;
        if !self.is_slow && now.saturating_sub(self.turn_since) >= SLOW_TURN {
            (self.is_slow, self.slow) = (true, self.slow + 1);
        }
    }
}

/// The activations of one worker that other threads have seen lately. The threads that observe the
/// worker add to this record. The worker reads the record after a long activation.
#[derive(Default)]
pub(super) struct Sights {
    current: Option<Sight>,
    /// Activations that other threads have seen and that have ended, oldest first.
    past: VecDeque<Sight>,
}

impl Sights {
    /// Records the activation that the worker runs at the time `now`. Returns the record of that
    /// activation.
    pub(super) fn glance(&mut self, running: Option<Running>, now: Nanos) -> Option<Sight> {
        match (&mut self.current, running) {
            (Some(current), Some(running)) if current.running.is_same(&running) => {
                current.again(running, now);
            }
            (current, running) => {
                let before = std::mem::replace(current, running.map(|new| Sight::new(new, now)));
                if self.past.len() == SIGHTS_MAX {
                    self.past.pop_front();
                }
                self.past.extend(before);
            }
        }
        self.current
    }

    /// Finds the first activation with a number after `since` and up to `to` that was long: other
    /// threads have seen it more than once. Returns the time at which another thread first saw this
    /// activation.
    pub(super) fn long_since(&self, since: u32, to: u32) -> Option<Nanos> {
        let mut all = self.past.iter().chain(&self.current);
        let long = all.find(|sight| sight.is_in(since, to) && sight.glances > 1);
        long.map(|sight| sight.since)
    }

    /// Removes and returns the recorded activations with numbers after `since` and up to `to`.
    pub(super) fn take(&mut self, since: u32, to: u32) -> Vec<Sight> {
        let mut taken = Vec::new();
        self.past.retain(|sight| {
            let takes = sight.is_in(since, to);
            if takes {
                taken.push(*sight);
            }
            !takes
        });
        taken.extend(self.current.take_if(|current| current.is_in(since, to)));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::tables::nothing_to_drop;

    static TABLE: Table = Table::of_messages::<u8>(nothing_to_drop);

    fn running(picks: u32, turn: u64) -> Option<Running> {
        Some(Running {
            picks,
            table: &TABLE,
            task: TaskId(7),
            turn,
        })
    }

    #[test]
    fn what_is_seen_again_lasts() {
        let mut sights = Sights::default();
        for glance in 0..5 {
            let sight = sights.glance(running(3, 10 + glance), 1_000 * glance);
            let sight = sight.expect("it runs");
            assert_eq!((sight.since, sight.glances), (0, glance + 1));
        }
        assert!(sights.glance(None, 6_000).is_none());
        let taken = sights.take(2, 3);
        assert_eq!((taken.len(), taken[0].turns()), (1, 5));
        assert!(sights.take(2, 3).is_empty());
    }

    #[test]
    fn only_the_activations_of_a_gap_are_taken_even_if_the_numbers_wrap() {
        let mut sights = Sights::default();
        for picks in [u32::MAX - 1, u32::MAX, 0, 1, 2] {
            sights.glance(running(picks, 1), 0);
        }
        let mut taken = |since, to| {
            let taken = sights.take(since, to);
            taken.iter().map(|s| s.running.picks).collect::<Vec<_>>()
        };
        assert_eq!(taken(u32::MAX - 1, 1), [u32::MAX, 0, 1]);
        assert_eq!(taken(1, 2), [2], "the current one is among them");
        assert_eq!(taken(5, 5), []);
        assert_eq!(taken(u32::MAX - 2, u32::MAX), [u32::MAX - 1]);
    }

    #[test]
    fn turns_are_slow_and_not_activations() {
        let mut sights = Sights::default();
        // Ten turns of 30 ms.
        for glance in 0..300 {
            sights.glance(running(1, glance / 30), glance * 1_000_000);
        }
        // Two turns of 150 ms.
        for glance in 300..600 {
            sights.glance(running(2, glance / 150), glance * 1_000_000);
        }
        let slow: Vec<u64> = sights.take(0, 2).iter().map(|sight| sight.slow).collect();
        assert_eq!(slow, [0, 2]);
    }

    #[test]
    fn few_are_kept() {
        let mut sights = Sights::default();
        (0..1_000).for_each(|picks| {
            sights.glance(running(picks, 1), 0);
        });
        assert_eq!(sights.take(0, 1_000).len(), SIGHTS_MAX + 1);
    }
}
