//! All disks of a simulated run. The simulation and the handles of the disks share this state.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use garrick_sched::{Nanos, break_turn_off};

use super::conditions::{Conditions, Draws, hash_text};
use super::fault::DiskFault;
use super::power::Power;
use super::rule::Rules;
use super::store::Store;

/// A number that distinguishes the random generator for disks from other generators with the same
/// seed.
const DISKS: u64 = 0x64_6973_6b73;

/// All disks of a run.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// True if there are faults that were not recorded yet as facts: values for the properties that
    /// a simulation checks.
    has_faults: AtomicBool,
    /// True if a node has crashed at a disk operation since [`Room::lost`] was last called.
    has_lost: AtomicBool,
    /// True while a turn is executed.
    in_turn: AtomicBool,
    state: Mutex<State>,
}

/// State of the disks of a run.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) rules: Rules,
    /// The disks, by the names of their nodes.
    slots: BTreeMap<String, Slot>,
    draws: Draws,
    /// Faults that were not recorded yet as facts: values for the properties that a simulation
    /// checks.
    faults: Vec<DiskFault>,
    /// Time that operations have taken since [`Room::take_time`] was last called.
    taken: Nanos,
    is_calm: bool,
    is_over: bool,
}

/// A disk and its power.
#[derive(Debug, Default)]
struct Slot {
    store: Store,
    power: Power,
}

impl Room {
    pub(super) fn new(seed: u64) -> Self {
        let room = Self::default();
        room.state().draws.seed = seed ^ DISKS;
        room
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs an operation on a disk. `crashes` is the number of crashes before the handle was
    /// created, or `None` if the handle stays valid after a crash.
    ///
    /// # Errors
    /// Returns an error if the handle is not valid, or if the operation fails.
    ///
    /// # Panics
    /// Unwinds if the node crashes at the operation.
    pub(super) fn perform<R>(
        &self,
        disk: &str,
        crashes: Option<u32>,
        operation: impl FnOnce(&mut Store, &mut Conditions<'_>) -> io::Result<R>,
    ) -> io::Result<R> {
        let mut state = self.state();
        state.check(disk, crashes)?;
        let (store, mut conditions) = state.of(disk);
        conditions.in_turn = self.in_turn.load(Relaxed);
        let result = operation(store, &mut conditions);
        let is_lost = conditions.power.is_lost();
        self.has_faults.store(!state.faults.is_empty(), Relaxed);
        drop(state);
        if is_lost {
            self.has_lost.store(true, Relaxed);
            // The rest of the turn does not happen, or has no effect if the program catches this.
            break_turn_off();
        }
        result
    }

    /// Sets whether a turn is being executed.
    pub(super) fn set_in_turn(&self, in_turn: bool) {
        self.in_turn.store(in_turn, Relaxed);
    }

    /// Crashes a disk if it exists.
    pub(super) fn crash(&self, disk: &str) {
        let mut state = self.state();
        if state.slots.contains_key(disk) {
            let (store, mut conditions) = state.of(disk);
            conditions.power.crash();
            store.crash(&mut conditions);
            self.has_faults.store(!state.faults.is_empty(), Relaxed);
        }
    }

    /// Returns the node that has crashed at a disk operation of the latest turn, if there is one.
    /// The actors of this node have not been dropped yet.
    pub(super) fn lost(&self) -> Option<String> {
        if !self.has_lost.load(Relaxed) {
            return None;
        }
        self.has_lost.store(false, Relaxed);
        let state = self.state();
        let mut lost = state.slots.iter().filter(|(_, slot)| slot.power.is_lost());
        lost.next().map(|(name, _)| name.clone())
    }

    /// Removes and returns the faults that were not recorded yet as facts (values for the
    /// properties that a simulation checks), oldest first.
    pub(super) fn take_faults(&self) -> Vec<DiskFault> {
        if !self.has_faults.load(Relaxed) {
            return Vec::new();
        }
        self.has_faults.store(false, Relaxed);
        std::mem::take(&mut self.state().faults)
    }
}

impl State {
    /// Adds an empty disk for a node, unless the node has a disk already.
    pub(super) fn add(&mut self, disk: &str) {
        self.slots.entry(disk.to_owned()).or_default();
    }

    /// Returns the names of the disks.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.slots.keys().map(String::as_str)
    }

    /// Makes a disk usable after a crash.
    pub(super) fn start(&mut self, disk: &str) {
        if let Some(slot) = self.slots.get_mut(disk) {
            slot.power.start();
        }
    }

    /// Sets whether an operation on the disk `disk` can crash the node of the disk.
    pub(super) fn set_at_risk(&mut self, disk: &str, at_risk: bool) {
        if let Some(slot) = self.slots.get_mut(disk) {
            slot.power.set_at_risk(at_risk);
        }
    }

    /// Ends all faults, except that a disk may still be full.
    pub(super) fn calm(&mut self) {
        self.is_calm = true;
    }

    /// Makes all handles of disks and files invalid, because the run is over.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// Returns the time that operations have taken since the last call.
    pub(super) fn take_time(&mut self) -> Nanos {
        std::mem::take(&mut self.taken)
    }

    /// Returns a hash of all files, or 0 if there are no disks.
    pub(super) fn hash(&self) -> u64 {
        let add = |hash, (name, slot): (&String, &Slot)| slot.store.hash(hash_text(hash, name));
        self.slots.iter().fold(0, add)
    }

    fn check(&self, disk: &str, crashes: Option<u32>) -> io::Result<()> {
        if self.is_over {
            return Err(io::Error::other(format!(
                "the run to which the simulated disk of {disk:?} belongs is over: get the disk from \
                 `Sim::disk` in each run"
            )));
        }
        self.slots[disk].power.check(disk, crashes)
    }

    /// Returns a disk, which must exist, and the conditions of its operations.
    fn of<'s>(&'s mut self, disk: &'s str) -> (&'s mut Store, Conditions<'s>) {
        let slot = self
            .slots
            .get_mut(disk)
            .expect("a handle has an existing disk");
        let conditions = Conditions {
            disk,
            rule: self.rules.of(disk),
            is_calm: self.is_calm,
            in_turn: false,
            power: &mut slot.power,
            draws: &mut self.draws,
            faults: &mut self.faults,
            taken: &mut self.taken,
        };
        (&mut slot.store, conditions)
    }
}
