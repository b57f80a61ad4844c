//! The turns that are in [`Turn::blocking`](crate::Turn::blocking) while their workers run other
//! tasks.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::AwaySample;
use crate::cell::Table;
use crate::world::Nanos;

/// The turns that are away: they are in [`Turn::blocking`](crate::Turn::blocking), and their
/// workers run other tasks. Updated when a turn leaves its worker and when it comes back. The cost
/// of an update is small compared with the two thread switches of such a turn.
#[derive(Default)]
pub(super) struct TurnsAway {
    turns: Mutex<Turns>,
}

#[derive(Default)]
struct Turns {
    /// Total number of turns that have left their workers in order to block.
    left: u64,
    /// For each turn that is away from its worker because it blocks: the kind of its task, and the
    /// time when the turn left its worker. The key is the sequence number that [`TurnsAway::leave`]
    /// has returned, so the turn that has been away longest comes first.
    away: BTreeMap<u64, (&'static Table, Nanos)>,
}

impl TurnsAway {
    fn turns(&self) -> MutexGuard<'_, Turns> {
        // No code that holds the lock can panic halfway.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a turn that leaves its worker, because the turn begins to block. `table` is the
    /// function table of the turn's task. Returns the sequence number of the turn among the turns
    /// that have left their workers.
    pub(super) fn leave(&self, table: &'static Table, now: Nanos) -> u64 {
        let mut turns = self.turns();
        turns.left += 1;
        let number = turns.left;
        turns.away.insert(number, (table, now));
        number
    }

    /// Records that the turn with the number `number` no longer blocks, and runs on its worker
    /// again.
    pub(super) fn come_back(&self, number: u64) {
        self.turns().away.remove(&number);
    }

    /// Returns the turns that are away from their workers (they block), by kind of task.
    pub(super) fn samples(&self, now: Nanos) -> Vec<AwaySample> {
        // Names are foreign code, and are requested without the lock.
        let away: Vec<_> = self.turns().away.values().copied().collect();
        let mut samples: Vec<AwaySample> = Vec::new();
        for (table, since) in away {
            let name = table.name_of();
            let longest = now.saturating_sub(since);
            match samples.iter_mut().find(|known| known.name == name) {
                Some(known) => known.turns += 1,
                None => samples.push(AwaySample {
                    name,
                    turns: 1,
                    longest,
                }),
            }
        }
        samples
    }
}
