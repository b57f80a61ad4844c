//! The visible state of a tree and its printed form.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::note::Id;
use super::policy::Strategy;

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
}

impl fmt::Display for ChildState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Down => "down",
            Self::Starting => "starting",
            Self::Up => "up",
            Self::Failed => "failed",
            Self::Stopping => "stopping",
        })
    }
}

/// The visible state of a child. The supervisor writes it, and snapshots read it.
pub(super) struct ChildFace {
    pub(super) name: Arc<str>,
    pub(super) state: ChildState,
    pub(super) restarts: u64,
    /// Visible state of the child's own tree, if the child is a supervisor.
    pub(super) tree: Option<Arc<Mutex<Face>>>,
}

/// The visible state of a supervisor. The supervisor writes it, and snapshots read it.
pub(super) struct Face {
    pub(super) name: String,
    pub(super) strategy: Strategy,
    /// Children, with their numbers as keys.
    pub(super) children: BTreeMap<Id, ChildFace>,
}

impl Face {
    fn snapshot(&self) -> Snapshot {
        Snapshot {
            name: self.name.clone(),
            strategy: self.strategy,
            children: self.children.values().map(ChildFace::snapshot).collect(),
        }
    }
}

impl ChildFace {
    fn snapshot(&self) -> SnapshotOf {
        SnapshotOf {
            name: self.name.to_string(),
            state: self.state,
            restarts: self.restarts,
            tree: self.tree.as_ref().map(look),
        }
    }
}

/// Locks a face. Ignores poisoning, because no code that holds the lock can panic halfway through a
/// change.
pub(super) fn lock(face: &Mutex<Face>) -> MutexGuard<'_, Face> {
    face.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn look(face: &Arc<Mutex<Face>>) -> Snapshot {
    lock(face).snapshot()
}

/// The state of a supervision tree at one moment. The `Display` implementation draws the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Name of the supervisor.
    pub name: String,
    /// Restart strategy of the supervisor.
    pub strategy: Strategy,
    /// States of the supervisor's children, in the order in which the children are started.
    pub children: Vec<SnapshotOf>,
}

/// The state of a supervisor's child at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotOf {
    /// Name of the child.
    pub name: String,
    /// State of the child.
    pub state: ChildState,
    /// Number of times that this child was restarted because it failed or stopped by itself.
    /// Restarts because of a sibling are not counted.
    pub restarts: u64,
    /// State of the child's own tree. `None` if the child is not a supervisor.
    pub tree: Option<Snapshot>,
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
                write!(f, " ({})", name_of(tree.strategy))?;
                tree.print(f, &format!("{indent}{below}"))?;
            }
        }
        Ok(())
    }
}

fn name_of(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::OneForOne => "one for one",
        Strategy::OneForAll => "one for all",
        Strategy::RestForOne => "rest for one",
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, name_of(self.strategy))?;
        self.print(f, "")
    }
}
