//! The order in which a worker runs its cells (tasks).

use std::ptr::NonNull;

use super::Worker;
use crate::cell::{CellPtr, Slot};
use crate::run_queue::Entry;
use crate::runtime::sponsor::Signal;

/// One in `FAIR_EVERY` picks of the next cell is a fair pick, which may take a cell that is not
/// next in order. So no cell waits forever.
pub(super) const FAIR_EVERY: u32 = 16;
/// One in `NEWBORN_EVERY` fair picks (picks of the next cell that may ignore the usual order) takes
/// a new cell, even if another cell was woken. Halfway between two such picks, a fair pick takes
/// the oldest other cell. Both kinds of picks are rare, because old cells may create new cells
/// faster than the worker runs new cells.
const NEWBORN_EVERY: u32 = 16;
const OLDEST_AT: u32 = NEWBORN_EVERY / 2;

/// Way in which a worker runs a cell: [`PLAIN`], [`SHOWN`], [`TIMED`] or [`UNCOUNTED`].
pub(super) type Way = u8;
/// Way in which the worker only runs the cell: the kind of its task is not shown to other threads,
/// and the activation is not measured.
pub(super) const PLAIN: Way = 0;
/// Way in which the worker runs the cell, and shows the kind of its task to other threads.
pub(super) const SHOWN: Way = 1;
/// Way in which the worker runs the cell, shows the kind of its task to other threads, and measures
/// the activation.
pub(super) const TIMED: Way = 2;
/// Way in which a thread that waits for an answer runs the cell, and shows the kind of its task to
/// other threads. The worker counts as asleep, so the activation is counted later.
pub(super) const UNCOUNTED: Way = 3;

/// Result of a step of the worker's loop.
pub(super) enum Step {
    /// A cell was run, or there is a cell to run.
    Ran,
    /// There is no cell to run.
    Nothing,
    /// The worker must stop.
    Stopped,
}

impl Worker {
    /// Runs the next cell, if there is one.
    ///
    /// The first choice is the first cell that the previous turn has woken, because this cell and
    /// its message are in the cache. The second choice is the newest cell that has not run yet, so
    /// that new cells run depth first. The third choice is the oldest other cell. From time to time
    /// the order is different, so that no cell starves.
    ///
    /// Each of these cases has a separate call that runs the cell, and therefore a separate entry
    /// in the branch predictor.
    #[inline(always)]
    pub(super) fn step<const WAY: Way>(&self, until: &impl Fn(Signal) -> bool) -> Step {
        let picks = self.shown.count_pick();
        if picks.is_multiple_of(FAIR_EVERY) {
            if WAY == SHOWN && self.lane.has_seen_long() {
                self.look_back(picks);
            }
            if WAY == SHOWN && picks == self.arms_at.get() {
                return match self.run_armed(picks, until) {
                    Step::Ran => Step::Ran,
                    Step::Nothing => Step::Nothing,
                    Step::Stopped => Step::Stopped,
                };
            }
            if let Some(entry) = self.pick_fairly(picks / FAIR_EVERY) {
                return self.activate::<WAY>(entry.cell(), entry.message(), until);
            }
        }
        if let Some((cell, message)) = self.handoff.take() {
            return self.activate::<WAY>(cell, message, until);
        }
        if let Some(entry) = self.born.pop_newest() {
            return self.activate::<WAY>(entry.cell(), entry.message(), until);
        }
        if let Some(entry) = self.old.pop_oldest() {
            return self.activate::<WAY>(entry.cell(), entry.message(), until);
        }
        self.find(until)
    }

    /// Searches for work, because there is no ready cell.
    #[inline(always)]
    pub(super) fn find(&self, until: &impl Fn(Signal) -> bool) -> Step {
        if !self.is_calm() {
            if self.attend(until) {
                return Step::Stopped;
            }
            if self.backlog() > 0 {
                self.lane.skip();
                return Step::Ran;
            }
        }
        Step::Nothing
    }

    /// Reads the clock from time to time, to measure the pace of this worker.
    #[inline]
    pub(crate) fn keep_pace(&self) {
        if self.pace.wants_look(self.turn()) {
            (self.pace).look(self.turn(), self.shown.picks(), self.now());
        }
    }

    /// Makes a fair pick of the next cell, so that cells that are always ready cannot starve other
    /// cells. Returns `None` if the usual order applies. First does the work that is due at each
    /// fair pick, such as a requested census.
    #[inline(never)]
    pub(super) fn pick_fairly(&self, looks: u32) -> Option<&Entry> {
        self.keep_pace();
        if let Some(activation) = self.pace.take_activation() {
            self.shown.name_none();
            self.balance(activation);
        }
        if looks.is_multiple_of(NEWBORN_EVERY) {
            self.lane.show_turns(self.turns());
            self.settle_vitals();
        }
        if self.lane.wants_census() {
            self.take_census();
        }
        match looks % NEWBORN_EVERY {
            0 if (looks / NEWBORN_EVERY).is_multiple_of(2) => self.born.pop_oldest(),
            0 => self.born.pop_newest(),
            OLDEST_AT => self.old.pop_oldest(),
            // Without newborns, cells that wake each other must not keep the others waiting.
            _ if self.born.is_empty() => self.old.pop_oldest(),
            _ => None,
        }
    }

    /// Runs a cell, after any other work that is due. `message` is the message with which
    /// the cell was scheduled, or null.
    #[inline(always)]
    pub(super) fn activate<const WAY: Way>(
        &self,
        cell: CellPtr,
        message: *const Slot,
        until: &impl Fn(Signal) -> bool,
    ) -> Step {
        // Named first: see `Shown`.
        self.shown.name(cell);
        if !self.is_calm() {
            return self.attend_before::<WAY>(cell, message, until);
        }
        self.run::<WAY>(cell, message);
        Step::Ran
    }

    /// Does all work that is due before the next activation. Then runs a cell that was already
    /// taken out of its queue, unless the worker should stop.
    #[cold]
    #[inline(never)]
    fn attend_before<const WAY: Way>(
        &self,
        cell: CellPtr,
        message: *const Slot,
        until: &impl Fn(Signal) -> bool,
    ) -> Step {
        if !self.has_only_timers() && !self.has_only_this() {
            return self.attend_to_all_before::<WAY>(cell, message, until);
        }
        self.run::<WAY>(cell, message);
        Step::Ran
    }

    /// Does the same as [`attend_before`](Self::attend_before), but does not check first if any
    /// work is due.
    #[inline(never)]
    fn attend_to_all_before<const WAY: Way>(
        &self,
        cell: CellPtr,
        message: *const Slot,
        until: &impl Fn(Signal) -> bool,
    ) -> Step {
        // This work may overwrite the place of the message.
        // SAFETY: it came out of a queue of ours with the cell, and is read once, here.
        self.in_hand
            .set(Some(unsafe { Entry::with_slot(cell, message) }));
        let entry = loop {
            let ends = self.attend(until);
            let Some(entry) = self.in_hand.get() else {
                // Others have the cell. This is no activation, but its result is checked before the
                // next one.
                if ends {
                    return Step::Stopped;
                }
                self.lane.skip();
                return Step::Ran;
            };
            if ends {
                self.in_hand.set(None);
                self.old.push_oldest(entry);
                return Step::Stopped;
            }
            self.shown.name(entry.cell());
            if !self.remote.ready.is_lent() {
                break entry;
            }
        };
        self.in_hand.set(None);
        self.run::<WAY>(entry.cell(), entry.message());
        Step::Ran
    }

    /// Runs a cell, which must already be stored in [`Shown`](super::shown::Shown), so that other
    /// threads can read it.
    #[inline(always)]
    pub(super) fn run<const WAY: Way>(&self, cell: CellPtr, message: *const Slot) {
        if WAY == TIMED {
            return self.run_timed(cell, message);
        }
        let table = cell.table();
        if WAY == SHOWN || WAY == UNCOUNTED {
            self.shown.show_kind(table);
        }
        // SAFETY: both came from our run queues, so the cell is ours, and the message is its.
        unsafe { (table.run)(cell, NonNull::from(self).cast(), message) };
    }
}
