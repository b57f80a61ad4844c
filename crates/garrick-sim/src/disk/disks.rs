//! The disks of a run, with the interfaces for the setup and for the execution.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use garrick_sched::Nanos;

use super::fault::DiskFault;
use super::handle::Disk;
use super::room::Room;
use super::rule::Rule;
use crate::chance::{check_per_mille, nanos_of};

/// The disks of the nodes, as returned by [`Sim::disks`](crate::Sim::disks).
///
/// A disk without a rule has no faults and no limit. Even without a rule, a crash of its node may
/// lose unsynced data.
#[derive(Debug)]
pub struct Disks {
    room: Arc<Room>,
    /// True if any node has a disk. Runs without disks check only this field.
    are_any: Cell<bool>,
}

impl Disks {
    /// Returns the rule for all disks.
    #[must_use]
    pub fn all(&self) -> DiskRule<'_> {
        DiskRule {
            room: &self.room,
            node: None,
        }
    }

    /// Returns the rule for the disk of a node. This rule replaces the rule of [`Disks::all`] for
    /// this disk.
    #[must_use]
    pub fn of(&self, node: impl Into<String>) -> DiskRule<'_> {
        DiskRule {
            room: &self.room,
            node: Some(node.into()),
        }
    }
}

/// The rule for the disk of a node, or for all disks: the space, the speed and the faults of the
/// disk.
///
/// # Examples
/// ```no_run
/// use std::time::Duration;
/// use garrick_sim::Sim;
///
/// fn setup(sim: &mut Sim) {
///     let sync_takes = Duration::from_millis(1)..Duration::from_millis(20);
///     sim.disks().all().tears().sync_fails(5).slow(sync_takes);
///     sim.disks().of("archive").full(1 << 20);
/// }
/// ```
#[derive(Debug)]
pub struct DiskRule<'d> {
    room: &'d Room,
    node: Option<String>,
}

impl DiskRule<'_> {
    fn set(self, set: impl FnOnce(&mut Rule)) -> Self {
        set(self.room.state().rules.entry(self.node.as_deref()));
        self
    }

    /// Limits the total length of the files of a disk to `bytes`. A write that exceeds the limit
    /// writes as many bytes as fit, and returns an error of the kind
    /// [`StorageFull`](std::io::ErrorKind::StorageFull).
    pub fn full(self, bytes: u64) -> Self {
        self.set(|rule| rule.full = Some(bytes))
    }

    /// Lets a crash tear writes: the lost part of a write may be replaced by zeros or random bytes.
    pub fn tears(self) -> Self {
        self.set(|rule| rule.tears = true)
    }

    /// Lets a crash lose a write to a file and keep a later write to the same file, if neither was
    /// synced. By default, a crash loses only the latest writes.
    pub fn reorders(self) -> Self {
        self.set(|rule| rule.reorders = true)
    }

    /// Makes a crash lose all unsynced data. By default, a random part of these data may survive.
    /// Use this method in a search of all orders, and in tests that need a predictable result.
    pub fn loses_all(self) -> Self {
        self.set(|rule| rule.loses_all = true)
    }

    /// Lets the node that has the disk crash within a turn. The probability of a crash before each
    /// operation of a turn is `per_mille` / 1000. If the node crashes, the operation has no effect,
    /// and the rest of the turn is not executed: the operation panics. If the program catches this
    /// panic, the rest of the turn is executed, but the turn is undone. Such a crash counts as one
    /// of the crashes that [`Faults`](crate::Faults) allows for the node. By default, a node only
    /// crashes between two turns.
    ///
    /// # Panics
    /// Panics if `per_mille` is greater than 1000.
    #[track_caller]
    pub fn crashes(self, per_mille: u32) -> Self {
        check_per_mille(per_mille);
        self.set(|rule| rule.crashes = per_mille)
    }

    /// Makes operations other than syncs return an error with a probability of `per_mille` / 1000.
    /// A write that fails may have written a part of its bytes.
    ///
    /// # Panics
    /// Panics if `per_mille` is greater than 1000.
    #[track_caller]
    pub fn fails(self, per_mille: u32) -> Self {
        check_per_mille(per_mille);
        self.set(|rule| rule.fails = per_mille)
    }

    /// Makes syncs return an error with a probability of `per_mille` / 1000. When a sync fails,
    /// only a part of the unsynced data becomes durable: the first bytes, or any of the blocks of
    /// 512 bytes. As on Linux, programs can still read the rest, but no later sync makes it
    /// durable.
    ///
    /// # Panics
    /// Panics if `per_mille` is greater than 1000.
    #[track_caller]
    pub fn sync_fails(self, per_mille: u32) -> Self {
        check_per_mille(per_mille);
        self.set(|rule| rule.sync_fails = per_mille)
    }

    /// Makes syncs do nothing, and return no error, with a probability of `per_mille` / 1000. Some
    /// disks with a cache behave in this way. No program can be correct on a single disk of this
    /// kind.
    ///
    /// # Panics
    /// Panics if `per_mille` is greater than 1000.
    #[track_caller]
    pub fn sync_lies(self, per_mille: u32) -> Self {
        check_per_mille(per_mille);
        self.set(|rule| rule.sync_lies = per_mille)
    }

    /// Makes each operation take a time in the range `time`. This has an effect only if the
    /// messages of the run have times ([`Sim::latency`](crate::Sim::latency)). The messages that a
    /// turn has sent, and the next message to its actor, are delayed by the total time of the
    /// turn's operations.
    pub fn slow(self, time: Range<Duration>) -> Self {
        self.set(|rule| rule.slow = Some(nanos_of(&time)))
    }
}

/// Methods for the execution of a run.
impl Disks {
    pub(crate) fn new(seed: u64) -> Self {
        let room = Arc::new(Room::new(seed));
        let are_any = Cell::new(false);
        Self { room, are_any }
    }

    /// Returns a reader of the faults, for the observer that records facts.
    pub(crate) fn watch(&self) -> FaultWatch {
        let room = Arc::clone(&self.room);
        FaultWatch { room }
    }

    /// Returns true if any node has a disk.
    #[inline]
    pub(crate) fn are_any(&self) -> bool {
        self.are_any.get()
    }

    /// Removes and returns the faults that were not recorded as facts yet, oldest first.
    pub(crate) fn take_faults(&self) -> Vec<DiskFault> {
        self.room.take_faults()
    }

    /// Returns the disk of a node. A new disk is empty.
    pub(crate) fn disk(&self, node: &str) -> Disk {
        self.are_any.set(true);
        self.room.state().add(node);
        Disk::new(node, Arc::clone(&self.room))
    }

    /// Returns the names of the nodes that have a disk or a rule for a disk.
    pub(crate) fn names(&self) -> Vec<String> {
        let state = self.room.state();
        let names = state.names().chain(state.rules.names());
        names.map(str::to_owned).collect()
    }

    /// Crashes the disk of a node: unsynced data may be lost, and all open files become invalid.
    pub(crate) fn crash(&self, node: &str) {
        self.room.crash(node);
    }

    /// Makes the disk of a node usable after a crash.
    pub(crate) fn start(&self, node: &str) {
        self.room.state().start(node);
    }

    /// Sets whether a turn is being executed. Nodes crash only at operations of turns, not at
    /// operations of the setup, of start functions or of properties.
    pub(crate) fn set_in_turn(&self, in_turn: bool) {
        self.room.set_in_turn(in_turn);
    }

    /// Sets whether a node may crash at an operation of the next turn.
    pub(crate) fn set_at_risk(&self, node: &str, at_risk: bool) {
        self.room.state().set_at_risk(node, at_risk);
    }

    /// Returns the node that has crashed at a disk operation of the latest turn, if there is one.
    /// The actors of this node have not been dropped yet.
    pub(crate) fn lost(&self) -> Option<String> {
        self.room.lost()
    }

    /// Ends all faults, except that a disk may still be full.
    pub(crate) fn calm(&self) {
        self.room.state().calm();
    }

    /// Returns the time that operations have taken since the last call.
    pub(crate) fn take_time(&self) -> Nanos {
        self.room.state().take_time()
    }

    /// Returns a hash of all files.
    pub(crate) fn hash(&self) -> u64 {
        self.room.state().hash()
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        self.room.state().end();
    }
}

/// A handle that reads the faults that have happened.
pub(crate) struct FaultWatch {
    room: Arc<Room>,
}

impl FaultWatch {
    /// Removes and returns the faults that were not recorded as facts yet, oldest first.
    pub(crate) fn take(&self) -> Vec<DiskFault> {
        self.room.take_faults()
    }
}
