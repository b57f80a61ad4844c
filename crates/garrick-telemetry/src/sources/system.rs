//! A source that reads a system of actors: its sponsor (thread pool or thread), its failures, and
//! its supervision trees.

use std::fmt;

use garrick_actor::supervise::{ChildState, Snapshot, SnapshotOf};
use garrick_actor::{Consequence, FailureRecord, Handle, short_type_name};
use garrick_sched::Nanos;

use super::names::id_of_group;
use super::sponsor::SponsorSource;
use crate::reading::{Reading, Source};
use crate::trouble::{ChildStatus, Effect, FailureReading, TreeReading};

/// Maximum average number of supervised children in a reading (the values for one sample). If there
/// are more children, and the supervision trees change all the time, only some of the readings
/// contain the trees.
const CHILDREN_PER_READING: usize = 500;

/// A source that reads a system of actors. [`IntoSource`](crate::IntoSource) creates this source
/// from a handle.
pub struct SystemSource {
    sponsor: SponsorSource,
    handle: Handle,
    /// Sequence number of the newest failure that was read.
    failures: u64,
    /// Value of the system's change counter at the most recent reading of the supervision trees.
    changes: u64,
    /// Number of readings (samples of the system) until the supervision trees may be read again.
    /// Earlier readings skip the trees, even if the trees have changed.
    rests: usize,
}

impl SystemSource {
    pub(super) fn new(handle: Handle) -> Self {
        let sampled = handle.clone();
        Self {
            sponsor: SponsorSource::new(move || sampled.sample()),
            handle,
            failures: 0,
            changes: 0,
            rests: 0,
        }
    }

    fn read_failures(&mut self, reading: &mut Reading) {
        let new = self.handle.failures_after(self.failures);
        let Some(newest) = new.first() else {
            return;
        };
        self.failures = newest.number;
        // The clock is read after the records, so no record is newer than `now`.
        let (now, place) = (self.handle.now(), self.handle.name());
        let oldest_first = new.into_iter().rev();
        let failures = oldest_first.map(|record| failure_of(record, place, now));
        reading.failures.extend(failures);
    }

    fn read_trees(&mut self, reading: &mut Reading) {
        self.rests = self.rests.saturating_sub(1);
        // The number is read before the trees, so a change in between causes another reading.
        let changes = self.handle.supervisor_changes();
        if self.changes == changes || self.rests > 0 {
            return;
        }
        self.changes = changes;
        let (trees, now) = (self.handle.supervisors(), self.handle.now());
        let trees: Vec<_> = trees.into_iter().map(|tree| tree_of(tree, now)).collect();
        self.rests = trees.iter().map(size).sum::<usize>() / CHILDREN_PER_READING;
        reading.trees = Some(trees);
    }
}

impl Source for SystemSource {
    fn read(&mut self, reading: &mut Reading) {
        self.sponsor.read(reading);
        self.read_failures(reading);
        self.read_trees(reading);
    }
}

/// Returns the number of children and supervisors in a tree, including children that were given up.
fn size(tree: &TreeReading) -> usize {
    1 + tree.children.iter().map(size).sum::<usize>() + tree.given_up.len()
}

fn failure_of(record: FailureRecord, place: &str, now: Nanos) -> FailureReading {
    let failure = record.failure;
    let (effect, restarts) = match failure.consequence {
        Consequence::Restarted { restarts } => (Effect::Restarted, restarts),
        Consequence::Continued => (Effect::Continued, 0),
        Consequence::Resumed => (Effect::Resumed, 0),
        Consequence::GivenUp => (Effect::GivenUp, 0),
        _ => (Effect::Stopped, 0),
    };
    FailureReading {
        actors: id_of_group(failure.task),
        name: short_type_name(failure.task),
        path: failure.path.map(|path| path.to_string()),
        place: place.to_owned(),
        reason: failure.message,
        effect,
        restarts,
        age_nanos: now.saturating_sub(record.at),
    }
}

/// Converts the snapshot of a supervision tree into a [`TreeReading`], which telemetry reads.
fn tree_of(tree: Snapshot, now: Nanos) -> TreeReading {
    let state = match tree.state {
        ChildState::GivenUp => ChildStatus::GivenUp,
        ChildState::Stopping => ChildStatus::Stopping,
        ChildState::Down => ChildStatus::Stopped,
        _ => ChildStatus::Running,
    };
    let reading = TreeReading {
        path: tree.path.to_string(),
        name: tree.name.clone(),
        state,
        ..TreeReading::default()
    };
    with_children(reading, tree, now)
}

/// Adds the children of the supervisor `tree` to `reading`, which describes this supervisor for
/// telemetry.
fn with_children(reading: TreeReading, tree: Snapshot, now: Nanos) -> TreeReading {
    let is_up = tree.state == ChildState::Up;
    let all = |children: Vec<SnapshotOf>| {
        let readings = children
            .into_iter()
            .map(|child| child_of(child, is_up, now));
        readings.collect()
    };
    TreeReading {
        strategy: Some(tree.strategy.name().to_owned()),
        children: all(tree.children),
        omitted: tree.omitted,
        given_up: all(tree.given_up),
        ..reading
    }
}

/// Converts the state of a child into a [`TreeReading`], which telemetry reads. `is_up` is true if
/// the supervisor of the child is running.
fn child_of(child: SnapshotOf, is_up: bool, now: Nanos) -> TreeReading {
    let has_run = child.restarts > 0 || child.last_failure.is_some();
    let state = match child.state {
        ChildState::Up => ChildStatus::Running,
        ChildState::Stopping => ChildStatus::Stopping,
        ChildState::GivenUp => ChildStatus::GivenUp,
        ChildState::Down if !is_up => ChildStatus::Stopped,
        ChildState::Down | ChildState::Starting if !has_run => ChildStatus::Starting,
        _ => ChildStatus::Restarting,
    };
    let last_failure = child
        .last_failure
        .map(|last| (last.reason.to_string(), now.saturating_sub(last.at)));
    let kind = match child.tree {
        Some(_) => String::new(),
        None => short_type_name(child.task),
    };
    let reading = TreeReading {
        path: child.path.to_string(),
        name: child.name,
        kind,
        state,
        restarts: child.restarts,
        last_failure,
        ..TreeReading::default()
    };
    match child.tree {
        Some(tree) => with_children(reading, tree, now),
        None => reading,
    }
}

impl fmt::Debug for SystemSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemSource")
            .field("sponsor", &self.sponsor)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}
