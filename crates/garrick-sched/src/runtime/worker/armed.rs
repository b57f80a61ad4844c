//! Timed activations (runs of ready tasks), on workers that count the work of each kind of task.
//!
//! Most activations are not timed, and have no extra cost. Before one in [`FAIR_EVERY`]
//! activations, the worker makes a *fair pick* of the next cell, so that no cell starves. At a fair
//! pick, the worker checks if an activation before the next fair pick must be timed. If so, the
//! worker is *armed*: until the next fair pick, separate code checks each activation.

use std::ptr::NonNull;

use super::Worker;
use super::step::{FAIR_EVERY, SHOWN, Step, TIMED};
use crate::cell::{CellPtr, Slot, Table};
use crate::probe::{Looked, Progress};
use crate::run_queue::Entry;
use crate::runtime::sponsor::Signal;
use crate::world::Nanos;

impl Worker {
    /// Returns the number of activations and turns so far.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            picks: self.shown.picks(),
            turns: self.turns(),
        }
    }

    /// Counts a task that was created on this worker.
    #[inline(always)]
    pub(crate) fn count_begun(&self, cell: CellPtr) {
        if !self.vitals.begin(cell.table()) {
            self.count_other_begun(cell.table());
        }
    }

    #[cold]
    #[inline(never)]
    fn count_other_begun(&self, table: &'static Table) {
        (self.vitals).begin_other(table, |lives| self.lane.add_lives(lives));
    }

    /// Counts a task that is about to end on this worker, or to leave this worker.
    #[inline(always)]
    pub(crate) fn count_ended(&self, cell: CellPtr) {
        if !self.counts_end(cell) {
            self.count_other_ended(cell.table());
        }
    }

    /// Counts a task that is about to end on this worker. Returns false if the caller must call
    /// [`Worker::count_other_ended`].
    #[inline(always)]
    pub(crate) fn counts_end(&self, cell: CellPtr) -> bool {
        self.vitals.end(cell.table())
    }

    /// Completes the count of a task that is about to end, after [`Worker::counts_end`] has
    /// returned false. `table` is the function table of the task.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_other_ended(&self, table: &'static Table) {
        (self.vitals).end_other(table, |lives| self.lane.add_lives(lives));
    }

    /// Updates the counters of each kind of task: adds the numbers of tasks that have begun and
    /// ended.
    pub(crate) fn settle_vitals(&self) {
        self.vitals.settle(|lives| self.lane.add_lives(lives));
    }

    /// Returns true if an activation must be timed before the worker makes its next fair pick. One
    /// in [`FAIR_EVERY`] picks is fair.
    pub(super) fn is_armed(&self) -> bool {
        let picks = self.shown.picks();
        self.due.get().wrapping_sub(picks) < FAIR_EVERY - picks % FAIR_EVERY
    }

    /// Runs cells as long as the worker is *armed*: it checks before each activation if it must
    /// time the activation. The first activation has the number `picks`.
    #[inline(never)]
    pub(super) fn run_armed(&self, mut picks: u32, until: &impl Fn(Signal) -> bool) -> Step {
        loop {
            match self.step_armed(picks, until) {
                Step::Ran if self.is_armed() => picks = self.shown.count_pick(),
                step => return step,
            }
        }
    }

    /// Runs the next cell as [`Worker::step`] does, and times the activation if it was selected.
    /// First takes a census (counts the waiting messages) if one was requested.
    #[inline(never)]
    pub(super) fn step_armed(&self, picks: u32, until: &impl Fn(Signal) -> bool) -> Step {
        if self.lane.wants_census() {
            self.take_census();
        }
        let of = |entry: &Entry| (entry.cell(), entry.message());
        let is_fair = picks.is_multiple_of(FAIR_EVERY);
        let fair = is_fair.then(|| self.pick_fairly(picks / FAIR_EVERY));
        let next = (fair.flatten().map(of))
            .or_else(|| self.handoff.take())
            .or_else(|| self.born.pop_newest().map(of))
            .or_else(|| self.old.pop_oldest().map(of));
        let is_due = picks == self.due.get();
        let step = match next {
            Some((cell, message)) if is_due => self.activate::<TIMED>(cell, message, until),
            Some((cell, message)) => self.activate::<SHOWN>(cell, message, until),
            None => self.find(until),
        };
        if picks == self.due.get() {
            // There was no cell, or it was not run.
            self.lane.postpone(self.shown.picks());
            self.plan_timed();
        }
        step
    }

    /// Counts a long activation that was not timed, if there was one before activation number
    /// `picks`. `picks` must be a multiple of [`FAIR_EVERY`].
    #[cold]
    #[inline(never)]
    pub(super) fn look_back(&self, picks: u32) {
        let progress = Progress {
            picks: picks.wrapping_sub(1),
            turns: self.turns(),
        };
        if self.lane.looks(progress, || self.now()) {
            self.plan_timed();
        }
    }

    /// Called after an activation that has not handled all of its messages. Does the work that must
    /// not wait for the worker's next regular check (the next fair pick). If the activation was
    /// long and was not timed, counts it. If a census was requested, takes it (counts the waiting
    /// messages).
    pub(super) fn look_after(&self) {
        if self.lane.has_seen_long() && self.lane.looks(self.progress(), || self.now()) {
            // The loop may be in the middle of a block.
            self.lane
                .postpone(self.shown.picks().wrapping_add(FAIR_EVERY));
            self.plan_timed();
        }
        if self.lane.wants_census() {
            self.end_timed();
            self.take_census();
        }
    }

    /// Records the end of the worker's sleep, as [`Lane::wakes`](crate::probe::Lane::wakes) does.
    #[inline(never)]
    pub(crate) fn wakes(&self, now: impl FnOnce() -> Nanos) -> Option<Nanos> {
        let woke = self.lane.wakes(self.shown.picks(), now);
        self.plan_timed();
        woke
    }

    /// Records the end of a time in which the worker ran no cells, as
    /// [`Lane::resumes`](crate::probe::Lane::resumes) does.
    pub(crate) fn resumes(&self) {
        self.lane.resumes(self.shown.picks(), || self.now());
        self.plan_timed();
    }

    /// Checks if a guest (a thread that waits for an answer) has run a long activation of this
    /// worker without counting it. If the lookout (a thread that observes the workers) has seen
    /// such an activation, records that the worker woke when the activation was first seen, and
    /// returns this time. Otherwise returns `None`.
    #[inline]
    pub(crate) fn count_missed(&self) -> Option<Nanos> {
        let since = self.lane.missed(self.shown.picks())?;
        self.wakes(|| since)
    }

    /// Stores the sequence number of the next activation that must be timed. The counters of the
    /// worker determine this number.
    fn plan_timed(&self) {
        if let Some(due) = self.lane.due() {
            self.due.set(due);
            self.arms_at.set(due - due % FAIR_EVERY);
        }
    }

    /// Runs a cell and measures the activation.
    #[inline(never)]
    pub(super) fn run_timed(&self, cell: CellPtr, message: *const Slot) {
        self.begin_timed(cell, |wants_label| self.look_at(cell, wants_label));
        self.measure_departure(cell.table());
        // SAFETY: both came from our run queues, so the cell is ours, and the message is its.
        unsafe {
            self.measure_slot(cell, message);
            (cell.table().run)(cell, NonNull::from(self).cast(), message);
        }
        self.end_timed();
        self.drop_departure();
    }

    /// Begins to time an activation that was already counted.
    fn begin_timed(&self, cell: CellPtr, look: impl FnOnce(bool) -> Looked) {
        let table = cell.table();
        self.shown.show_kind(table);
        self.lane.begin(table, cell.id(), self.progress(), look);
    }

    /// Ends the measurement of the current activation, if it is timed.
    pub(crate) fn end_timed(&self) {
        if self.lane.end(self.turns(), || self.now()) {
            self.plan_timed();
            self.settle_vitals();
        }
    }

    /// Begins an activation outside of the worker's loop. Either the cell belongs to another
    /// worker, which is in a long turn and has lent the cell, or the turn of the cell was blocked
    /// outside of its worker and has come back. Does nothing if the work of each kind of task is
    /// not counted.
    pub(crate) fn begin_other(&self, cell: CellPtr, look: impl FnOnce(bool) -> Looked) {
        if !self.lane.counts() {
            return;
        }
        let picks = self.shown.count_pick();
        if picks == self.due.get() {
            return self.begin_timed(cell, look);
        }
        self.shown.show_kind(cell.table());
        if picks == self.arms_at.get() {
            // The loop does not see this pick, so the activation is timed later.
            self.lane.postpone(picks.wrapping_add(FAIR_EVERY));
            self.plan_timed();
        }
    }
}
