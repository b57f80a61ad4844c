//! The counters of all workers of a sponsor (a group of workers).

use std::sync::{Mutex, OnceLock, PoisonError};

use super::away::TurnsAway;
use super::counted::LaneReader;
use super::kinds::{self, Count, Kinds};
use super::lane::Lane;
use super::sights::Running;
use super::top::Outstanding;
use super::{AwaySample, KindSample, TaskSample, WorkerSample};
use crate::cell::{CellPtr, Table};
use crate::world::Nanos;

/// The counters of all workers of a sponsor (a group of workers), and the counts of tasks that
/// other threads have created for this sponsor.
pub(crate) struct Lanes {
    /// A reader of the counters of each worker. Set when the worker starts.
    readers: Vec<OnceLock<LaneReader>>,
    /// For each kind of task, the number of tasks that other threads have created for this sponsor
    /// (group of workers) or moved to it. `None` if work is not counted by kind of task.
    outside: Option<Mutex<Kinds>>,
    /// Turns that are away from their workers (they block). `None` if work is not counted by kind
    /// of task.
    away: Option<TurnsAway>,
}

impl Lanes {
    /// Creates the counters (lanes) of `workers` workers.
    pub(crate) fn new(workers: usize, counts: bool) -> Self {
        Self {
            readers: (0..workers).map(|_| OnceLock::new()).collect(),
            outside: counts.then(|| Mutex::new(Kinds::new())),
            away: counts.then(TurnsAway::default),
        }
    }

    /// Creates the counters (the lane) of worker number `index`.
    pub(crate) fn open(
        &self,
        index: usize,
        seed: impl FnOnce() -> u64,
        clock: impl Fn() -> Nanos,
    ) -> Lane {
        let counts = self.outside.is_some();
        let lane = Lane::new(counts, if counts { seed() } else { 0 }, clock);
        let fresh = self.readers[index].set(lane.reader()).is_ok();
        debug_assert!(fresh, "a worker begins once");
        lane
    }

    /// Counts a task that a thread outside of the sponsor (the group of workers) has created for
    /// the sponsor or moved to it.
    pub(crate) fn begun_outside(&self, cell: CellPtr) {
        if let Some(outside) = &self.outside {
            let kinds = outside.lock().unwrap_or_else(PoisonError::into_inner);
            kinds.of(cell.table()).add(Count::Begun, 1);
        }
    }

    /// Counts a turn that leaves its worker, because the turn begins to block. `table` is the
    /// function table of the turn's task. If work is counted by kind of task, returns the sequence
    /// number of the turn among the turns that have left their workers.
    pub(crate) fn leave(&self, table: &'static Table, now: impl FnOnce() -> Nanos) -> Option<u64> {
        let away = self.away.as_ref()?;
        Some(away.leave(table, now()))
    }

    /// Records that the turn with the number `number` no longer blocks, and runs on its worker
    /// again.
    pub(crate) fn come_back(&self, number: Option<u64>) {
        if let (Some(away), Some(number)) = (&self.away, number) {
            away.come_back(number);
        }
    }

    /// Returns the turns that are away from their workers (they block), by kind of task.
    pub(crate) fn away(&self, now: Nanos) -> Vec<AwaySample> {
        let away = self.away.as_ref();
        away.map_or_else(Vec::new, |away| away.samples(now))
    }

    /// Returns true if the work of each kind of task is counted.
    pub(crate) fn are_counted(&self) -> bool {
        self.outside.is_some()
    }

    /// Records the current activation of each worker. `running(index)` returns the current
    /// activation of worker number `index`. Returns the number of workers that run an activation.
    pub(crate) fn glance(
        &self,
        running: impl Fn(usize) -> Option<Running>,
        clock: impl Fn() -> Nanos,
    ) -> usize {
        let readers = self.readers.iter().enumerate();
        let glance = |(index, reader): (usize, &OnceLock<LaneReader>)| {
            let running = running(index);
            let now = clock();
            reader.get()?.glance(running, now, now)
        };
        readers.filter_map(glance).count()
    }

    /// Returns the number of long activations that the workers have noticed but not timed.
    pub(crate) fn surprises(&self) -> u64 {
        let lanes = self.readers.iter().filter_map(OnceLock::get);
        lanes.map(LaneReader::surprises).sum()
    }

    /// Returns true if threads that wait for an answer have run activations of a sleeping worker,
    /// and these activations are not counted yet. `picks` is the number of activations of the
    /// worker.
    pub(crate) fn has_missed(&self, index: usize, picks: u32) -> bool {
        let lane = self.readers[index].get();
        lane.is_some_and(|lane| lane.has_missed(picks))
    }

    /// Returns the counters of the workers, in the order of their indices. `running` returns the
    /// activation of a worker. `clock` returns the time, and is called after all calls of
    /// `running`.
    pub(crate) fn workers(
        &self,
        now: Nanos,
        running: impl Fn(usize) -> Option<Running>,
        clock: impl FnOnce() -> Nanos,
    ) -> Vec<WorkerSample> {
        if self.outside.is_none() {
            let worker = |reader: &OnceLock<LaneReader>| {
                (reader.get()).map_or_else(WorkerSample::default, |lane| lane.worker(now))
            };
            return self.readers.iter().map(worker).collect();
        }
        let running: Vec<_> = (0..self.readers.len()).map(running).collect();
        let later = clock();
        let sample = |(reader, running): (&OnceLock<LaneReader>, Option<Running>)| {
            let Some(lane) = reader.get() else {
                return WorkerSample::default();
            };
            let mut sample = lane.worker(now);
            if let Some((table, lasts)) = lane.glance(running, now, later) {
                // The name comes from foreign code, which is called while no lock is held.
                (sample.running, sample.lasts) = (Some(table.name_of()), lasts);
            }
            sample
        };
        self.readers.iter().zip(running).map(sample).collect()
    }

    /// Requests a census (a count of waiting messages) of each worker. Returns true if at least one
    /// worker is awake and must answer.
    pub(crate) fn ask_census(&self) -> bool {
        for lane in self.readers.iter().filter_map(OnceLock::get) {
            lane.ask_census();
        }
        self.want_census()
    }

    /// Returns true if a worker is awake and has not answered the latest request for a census (a
    /// count of waiting messages).
    pub(crate) fn want_census(&self) -> bool {
        let mut lanes = self.readers.iter().filter_map(OnceLock::get);
        lanes.any(LaneReader::wants_census)
    }

    /// Returns the most conspicuous tasks of all workers: the busiest tasks, the tasks with the
    /// longest mailboxes, and the tasks with the oldest messages.
    pub(crate) fn tasks(&self, now: Nanos) -> Vec<TaskSample> {
        let mut tasks = Outstanding::default();
        for lane in self.readers.iter().filter_map(OnceLock::get) {
            let (found, over) = lane.tasks(now);
            tasks.add(found, over);
        }
        tasks.samples()
    }

    /// Returns the counters of the tasks, by kind.
    pub(crate) fn kinds(&self) -> Vec<KindSample> {
        let mut kinds = Vec::new();
        for lane in self.readers.iter().filter_map(OnceLock::get) {
            lane.add_kinds(&mut kinds);
        }
        // These counters are read last: a task that has ended on a worker was counted as begun
        // before that.
        if let Some(outside) = &self.outside {
            let outside = outside.lock().unwrap_or_else(PoisonError::into_inner);
            outside.add_to(&mut kinds);
        }
        kinds::named(kinds)
    }
}
