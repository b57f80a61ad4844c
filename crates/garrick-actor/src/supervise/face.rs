//! The state of a supervision tree, as snapshots show it, and the code that displays it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garrick_sched::{Nanos, TaskId};

use super::facts::Facts;
use super::note::Id;
use super::policy::Strategy;
use crate::failure::log::beginning;
use crate::failure::path::ActorPath;

/// Maximum number of removed children whose last state a supervisor keeps. These children failed
/// and were not restarted.
const GONE_MAX: usize = 16;

/// Maximum size of the reason for the last failure of a child, in bytes. A longer reason is cut
/// off.
const REASON_BYTES_MAX: usize = 256;

/// The state of a supervisor's child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChildState {
    /// The child is waiting to be started or restarted.
    Down,
    /// The child is being created and started.
    Starting,
    /// The child has started and handles messages.
    Up,
    /// The child has failed or stopped by itself. Its actor has not been dropped yet.
    Failed,
    /// The child is being stopped.
    Stopping,
    /// The child has failed, and its supervisor has decided not to restart it. If the child is
    /// itself a supervisor, it no longer runs its children.
    GivenUp,
}

impl fmt::Display for ChildState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Down => "down",
            Self::Starting => "starting",
            Self::Up => "up",
            Self::Failed => "failed",
            Self::Stopping => "stopping",
            Self::GivenUp => "given up",
        })
    }
}

/// The state of a child, as snapshots show it. The supervisor writes it, and snapshots read it.
pub(super) struct ChildFace {
    pub(super) name: Arc<str>,
    pub(super) facts: Arc<Facts>,
    /// Id of the child's task.
    pub(super) cell: TaskId,
    pub(super) state: ChildState,
    pub(super) restarts: u64,
    pub(super) last_failure: Option<LastFailure>,
    /// True if the supervisor has decided not to restart the child after its last failure.
    pub(super) is_given_up: bool,
    /// State of the child's own tree, as snapshots show it. `None` if the child is not a
    /// supervisor.
    pub(super) tree: Option<Arc<Mutex<Face>>>,
}

/// The state of a supervisor, as snapshots show it. The supervisor writes it, and snapshots read
/// it.
pub(super) struct Face {
    name: Arc<str>,
    path: ActorPath,
    strategy: Strategy,
    state: ChildState,
    /// Children, with their numbers as keys. Each child is boxed, because the map moves its values
    /// when it grows.
    children: BTreeMap<Id, Box<ChildFace>>,
    /// Last states of the children that failed and were removed instead of restarted, oldest first.
    /// Only the latest of these states are stored.
    gone: VecDeque<SnapshotOf>,
    /// True once the supervisor has stopped for good.
    has_ended: bool,
    /// Counter that is incremented whenever a supervision tree of the system changes. All
    /// supervisors of the system share this counter.
    changes: Arc<AtomicU64>,
}

impl Face {
    pub(super) fn new(
        name: Arc<str>,
        path: ActorPath,
        strategy: Strategy,
        changes: Arc<AtomicU64>,
    ) -> Self {
        Self {
            name,
            path,
            strategy,
            state: ChildState::Up,
            children: BTreeMap::new(),
            gone: VecDeque::new(),
            has_ended: false,
            changes,
        }
    }

    fn count_change(&self) {
        self.changes.fetch_add(1, Relaxed);
    }

    pub(super) fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    pub(super) fn has_given_up(&self) -> bool {
        self.state == ChildState::GivenUp
    }

    /// Returns true if the supervisor has stopped for good.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Records the state of the supervisor itself.
    pub(super) fn set_own_state(&mut self, state: ChildState) {
        self.state = state;
        self.count_change();
    }

    /// Records that the supervisor has stopped for good.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        self.children.clear();
        self.count_change();
    }

    pub(super) fn add(&mut self, id: Id, child: ChildFace) {
        self.children.insert(id, Box::new(child));
        self.count_change();
    }

    /// Removes a child. If the child failed and will not be restarted, keeps its last state.
    pub(super) fn remove(&mut self, id: Id) {
        let Some(child) = self.children.remove(&id) else {
            return;
        };
        if child.is_given_up {
            if self.gone.len() == GONE_MAX {
                self.gone.pop_front();
            }
            let mut gone = child.snapshot(&mut 0);
            gone.state = ChildState::GivenUp;
            if let Some(tree) = &mut gone.tree {
                // Otherwise the number of states would be 16 to the power of the depth.
                tree.given_up.clear();
            }
            self.gone.push_back(gone);
        }
        self.count_change();
    }

    pub(super) fn set_state(&mut self, id: Id, state: ChildState) {
        if let Some(child) = self.children.get_mut(&id) {
            child.state = state;
            child.is_given_up &= state != ChildState::Up;
        }
        self.count_change();
    }

    /// Counts a restart of a child. Returns the number of restarts of this child so far.
    pub(super) fn count_restart(&mut self, id: Id) -> u64 {
        self.count_change();
        self.children.get_mut(&id).map_or(0, |child| {
            child.restarts += 1;
            child.restarts
        })
    }

    /// Records a failure of a child. `is_given_up` is true if the child will not be restarted.
    pub(super) fn note_failure(&mut self, id: Id, failure: LastFailure, is_given_up: bool) {
        if let Some(child) = self.children.get_mut(&id) {
            child.last_failure = Some(failure);
            child.is_given_up |= is_given_up;
        }
        self.count_change();
    }

    /// Returns the state of the tree. `left` limits how many children are listed. The number of
    /// listed children is subtracted from `left`.
    fn snapshot(&self, left: &mut usize) -> Snapshot {
        let mut listed = BTreeMap::new();
        for (id, child) in self.in_order_of_trouble(*left) {
            // The trees of the children before this one are listed, too.
            if *left == 0 {
                break;
            }
            listed.insert(id, child.snapshot(left));
        }
        Snapshot {
            name: self.name.to_string(),
            path: self.path.clone(),
            strategy: self.strategy,
            state: self.state,
            omitted: (self.children.len() - listed.len()) as u64,
            children: listed.into_values().collect(),
            given_up: self.gone.iter().cloned().collect(),
        }
    }

    /// Returns at most `count` children. If there are more children, prefers those that are not up,
    /// and those that were restarted.
    fn in_order_of_trouble(&self, count: usize) -> impl Iterator<Item = (Id, &ChildFace)> {
        let all = || self.children.iter().map(|(id, child)| (*id, &**child));
        let are_too_many = self.children.len() > count;
        let first = all().filter(move |(_, child)| are_too_many && child.is_in_trouble());
        let others = all().filter(move |(_, child)| !are_too_many || !child.is_in_trouble());
        first.chain(others).take(count)
    }
}

impl ChildFace {
    fn is_in_trouble(&self) -> bool {
        self.state != ChildState::Up || self.restarts > 0
    }

    fn snapshot(&self, left: &mut usize) -> SnapshotOf {
        *left = left.saturating_sub(1);
        SnapshotOf {
            name: self.name.to_string(),
            path: self.facts.path(self.cell),
            task: self.facts.task,
            state: match self.state {
                ChildState::Down | ChildState::Failed if self.is_given_up => ChildState::GivenUp,
                state => state,
            },
            restarts: self.restarts,
            last_failure: self.last_failure.clone(),
            tree: self.tree.as_ref().map(|tree| look(tree, left)),
        }
    }
}

/// Locks the state of a supervisor. Ignores poisoning, because no code that holds the lock can
/// panic halfway through a change.
pub(super) fn lock(face: &Mutex<Face>) -> MutexGuard<'_, Face> {
    face.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the state of a tree. `left` limits how many children are listed. The number of listed
/// children is subtracted from `left`.
pub(super) fn look(face: &Arc<Mutex<Face>>, left: &mut usize) -> Snapshot {
    lock(face).snapshot(left)
}

/// Returns the state of the child whose task has the id `cell`, without the children of its own
/// tree.
pub(super) fn find(face: &Mutex<Face>, cell: TaskId) -> Option<SnapshotOf> {
    let face = lock(face);
    let mut children = face.children.values();
    if let Some(child) = children.find(|child| child.cell == cell) {
        return Some(child.snapshot(&mut 0));
    }
    let trees = face
        .children
        .values()
        .filter_map(|child| child.tree.clone());
    let trees: Vec<_> = trees.collect();
    // At most one lock is held at a time.
    drop(face);
    trees.iter().find_map(|tree| find(tree, cell))
}

/// The state of a supervision tree at one moment. The `Display` implementation draws the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Name of the supervisor.
    pub name: String,
    /// Path of the supervisor.
    pub path: ActorPath,
    /// Restart strategy of the supervisor.
    pub strategy: Strategy,
    /// State of the supervisor: [`ChildState::Up`], [`ChildState::Stopping`] (the supervisor is
    /// stopping all of its children), [`ChildState::Down`] (the supervisor waits until its parent
    /// starts it) or [`ChildState::GivenUp`].
    pub state: ChildState,
    /// States of the supervisor's children, in the order in which the children are started.
    pub children: Vec<SnapshotOf>,
    /// Number of the supervisor's children that `children` does not contain. Only
    /// [`Handle::supervisors`](crate::Handle::supervisors) omits children, if there are too many.
    /// In the result of [`Tree::snapshot`](super::Tree::snapshot), the number is always 0.
    pub omitted: u64,
    /// States of the children that have failed and were removed instead of restarted, each at the
    /// moment of the removal. Contains the 16 latest of these children, oldest first. If such a
    /// child was a supervisor, its own tree lists no children.
    pub given_up: Vec<SnapshotOf>,
}

/// The state of a supervisor's child at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotOf {
    /// Name of the child.
    pub name: String,
    /// Path of the child. For a child without a name, the path consists of its type and its id.
    pub path: ActorPath,
    /// Name of the child's type, or `supervisor` if the child is a supervisor.
    pub task: &'static str,
    /// State of the child.
    pub state: ChildState,
    /// Number of times that this child was restarted because it failed or stopped by itself.
    /// Restarts because of a sibling are not counted.
    pub restarts: u64,
    /// Latest failure of the child. A stop of the child by itself, followed by a restart, also
    /// counts as a failure. `None` if there was no failure.
    pub last_failure: Option<LastFailure>,
    /// State of the child's own tree. `None` if the child is not a supervisor.
    pub tree: Option<Snapshot>,
}

/// The latest failure of a supervisor's child.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastFailure {
    /// Time of the failure in nanoseconds, by the clock of the supervisor's
    /// [`World`](crate::system::World).
    pub at: Nanos,
    /// Reason: the message of the panic, or the text of the error with its causes. A reason of more
    /// than 256 bytes is cut off.
    pub reason: Arc<str>,
}

impl LastFailure {
    pub(super) fn new(at: Nanos, reason: &str) -> Self {
        Self {
            at,
            reason: beginning(reason, REASON_BYTES_MAX).into(),
        }
    }
}

impl Snapshot {
    fn print(&self, f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
        for (at, child) in self.children.iter().enumerate() {
            let is_last = at + 1 == self.children.len();
            let (branch, below) = if is_last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            write!(f, "\n{indent}{branch}{}: {}", child.name, child.state)?;
            if child.restarts > 0 {
                write!(f, ", restarts: {}", child.restarts)?;
            }
            if let Some(tree) = &child.tree {
                write!(f, " ({})", tree.strategy.name())?;
                tree.print(f, &format!("{indent}{below}"))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.strategy.name())?;
        self.print(f, "")
    }
}
