//! Rules by which a worker gives cells (tasks) to other workers.

use super::Signal;
use crate::runtime::worker::{Worker, balance};
use crate::world::Nanos;

/// Number of ready cells that a worker keeps in addition to the cell that it runs next, while
/// another worker is idle. As a result, two cells that send messages to each other stay on one
/// worker.
const BACKLOG_KEPT: usize = if cfg!(garrick_loom) { 0 } else { 1 };
/// Maximum number of cells that are given away at a time.
const GIVEN_MAX: usize = 1024;

impl Worker {
    /// Shares work with other workers before an activation: gives cells away, takes cells from the
    /// shared queue, or runs cells that another worker lends. Called if [`Signal`] shows that
    /// something may need attention.
    #[cold]
    pub(crate) fn share(&self, signal: Signal) {
        if signal.is_lent() {
            self.with_hand_empty(|| {
                self.visit_some();
            });
        }
        let ready = self.ready_count();
        if !signal.is_queued() {
            self.shared_wait.is_over();
            if self.is_fine() {
                if self.is_patient_no_more(ready) {
                    // Neighbours in the queue usually talk to each other.
                    self.give(ready / 2);
                }
            } else if self.may_give(ready) || self.keeps_too_long(ready) {
                self.kept.is_over();
                self.give(ready - 1);
            }
            return;
        }
        self.kept.is_over();
        if ready == 0 {
            // The worker claims next anyway, and needs no clock for that.
            return;
        }
        // Cells in the shared queue must not wait until a worker has nothing else to do.
        let (queued, workers) = (self.shared.queued(), self.shared.homes.len());
        for _ in 0..self.shared_wait.look(queued, workers, || self.now()) {
            let Some(entry) = self.shared.claim() else {
                return;
            };
            self.take_over(entry);
        }
    }

    /// Returns true if other workers are idle, this worker has no cell except the one that it is
    /// about to run, and nothing else needs attention before the next activation.
    #[inline]
    pub(crate) fn has_only_this(&self) -> bool {
        let has_only_this = self.backlog() == 0
            && self.shared.signal().has_only_idle()
            && !self.remote().ready.has_some()
            && self.timers.are_calm()
            && self.has_kept_nothing();
        if has_only_this {
            self.shared_wait.is_over();
            self.kept.is_over();
        }
        has_only_this
    }

    /// Returns true if another worker is idle and some of the `ready` cells can be given away.
    pub(crate) fn may_give(&self, ready: usize) -> bool {
        let signal = self.shared.signal();
        let is_much =
            self.are_others_idle(signal) && !signal.is_queued() && ready > BACKLOG_KEPT + 1;
        if is_much && self.visit_times.is_short() && self.crew.lends() {
            // If the visit turns out to be long, the watching hand has the cells served.
            self.crew.has_ready();
            return false;
        }
        is_much
    }

    /// Returns true if recent turns took less time than a message to another worker takes (fine
    /// turns), and this worker has no new ready cells. A new cell has not exchanged messages with
    /// other cells yet, so a different worker can run the cell just as well.
    pub(super) fn is_fine(&self) -> bool {
        self.pace.is_fine() && self.born.is_empty()
    }

    /// Returns true if another worker has been idle for so long that cells should be given away
    /// even though their turns are short. `ready` is the number of ready cells.
    fn is_patient_no_more(&self, ready: usize) -> bool {
        if !self.are_others_idle(self.shared.signal()) || ready < 2 {
            return false;
        }
        self.crew.has_ready();
        let (sits, round) = (self.shared.sits(), self.pace.round(ready));
        self.patience.look(sits, round, || self.now())
    }

    /// Returns true if this worker should also give away the ready cell that it usually keeps in
    /// addition to the cell that runs next. `ready` is the number of ready cells.
    fn keeps_too_long(&self, ready: usize) -> bool {
        // A model has no clock for this rule.
        let is_kept = !cfg!(garrick_loom) && ready == BACKLOG_KEPT + 1;
        if !self.are_others_idle(self.shared.signal()) || !is_kept {
            self.kept.is_over();
            return false;
        }
        self.crew.has_ready();
        let woke = self.handoff.last_turn();
        self.kept.look(self.turn(), woke, || self.now())
    }

    /// Gives away the oldest `count` ready cells, because another worker is idle. Cells that have
    /// waited long tend to have much work, and the next turn of this worker may take a long time.
    fn give(&self, count: usize) {
        let count = count.min(GIVEN_MAX);
        let mut kept = Vec::new();
        let oldest = || self.born.pop_oldest().or_else(|| self.old.pop_oldest());
        let given = self.take_to_give(count, &mut kept, || oldest().copied());
        // Back to their places. At the end of the queue, they would wait for as long as any worker
        // is idle.
        for entry in kept.into_iter().rev() {
            self.old.push_oldest(entry);
        }
        self.publish(given);
    }

    /// Gives away cells if this worker has more work than the average worker. As a result, all
    /// cells get an equal share of time, even if no worker is idle. `activation` is the average
    /// duration of an activation.
    #[cold]
    #[inline(never)]
    pub(crate) fn balance(&self, activation: Nanos) {
        let shared = &self.shared;
        if shared.homes.len() == 1 {
            return;
        }
        self.shared_wait.others_had_time();
        let ready = self.backlog();
        // Each ready cell waits for all the others.
        let round = activation.saturating_mul(ready as u64);
        let average = shared.tell_round(self.index, round);
        let signal = shared.signal();
        if self.are_others_idle(signal) || signal.is_queued() {
            // There are quicker ways to give cells.
            return;
        }
        let surplus = balance::surplus(round, average, ready).min(self.old.len());
        if surplus > 0 {
            self.give_newest(surplus.min(GIVEN_MAX));
            shared.tell_round(self.index, average);
        }
    }

    /// Gives away at most `count` cells from the end of the run queue `old`. These cells would wait
    /// longest on this worker.
    fn give_newest(&self, count: usize) {
        let mut kept = Vec::new();
        let given = self.take_to_give(count, &mut kept, || self.old.pop_newest().copied());
        for entry in kept.into_iter().rev() {
            self.old.push_entry(self.turn(), entry);
        }
        self.shared_wait.gave();
        self.publish(given);
    }
}
