//! What can be seen of a tree from outside, and how it is printed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::note::Id;
use super::policy::Strategy;

/// What a child is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChildState {
    /// It is not there: it waits for its start, or for its restart.
    Down,
    /// It is being made and started.
    Starting,
    /// It handles messages.
    Up,
    /// It has failed, and is dropped as soon as its turn has come.
    Failed,
    /// It is being stopped.
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

/// What can be seen of one child. Written by its supervisor, read by whoever looks.
pub(super) struct ChildFace {
    pub(super) name: Arc<str>,
    pub(super) state: ChildState,
    pub(super) restarts: u64,
    /// What can be seen of the tree below, if it is a supervisor.
    pub(super) tree: Option<Arc<Mutex<Face>>>,
}

/// What can be seen of a supervisor. Written by it, read by whoever looks.
pub(super) struct Face {
    pub(super) name: String,
    pub(super) strategy: Strategy,
    /// By their numbers.
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

/// No code that holds the lock can panic half way.
pub(super) fn lock(face: &Mutex<Face>) -> MutexGuard<'_, Face> {
    face.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn look(face: &Arc<Mutex<Face>>) -> Snapshot {
    lock(face).snapshot()
}

/// How a tree looked at some moment. Printed, it is a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The supervisor's name.
    pub name: String,
    /// Whom it restarts.
    pub strategy: Strategy,
    /// Its children, in the order of starting.
    pub children: Vec<SnapshotOf>,
}

/// How a child looked at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotOf {
    /// Its name.
    pub name: String,
    /// What it was about.
    pub state: ChildState,
    /// How often it was restarted for a failure or an end of its own.
    pub restarts: u64,
    /// The tree below it, if it is a supervisor.
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
