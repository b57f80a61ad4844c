//! The supervision trees of a system.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garrick_sched::TaskId;

use super::face::{self, Face, Snapshot, SnapshotOf};
use crate::system::attached::Attached;
use crate::system::handle::Handle;

/// Maximum number of children that [`Handle::supervisors`] lists. If there are more children, they
/// are counted but not listed.
const CHILDREN_MAX: usize = 10_000;

/// Maximum number of trees that a system keeps in its list after their root supervisors have given
/// up.
const GIVEN_UP_MAX: usize = 16;

/// The supervision trees of a system.
#[derive(Default)]
pub(super) struct Forest {
    roots: Mutex<Roots>,
    /// Total number of changes to the trees. Written by the supervisors, read by telemetry.
    changes: Arc<AtomicU64>,
}

#[derive(Default)]
struct Roots {
    /// States of the root supervisors, in the order in which their trees were started. A supervisor
    /// without a parent adds its own state.
    faces: Vec<Arc<Mutex<Face>>>,
    /// Number of trees that remained after the last removal of old trees.
    cleaned: usize,
}

impl Roots {
    /// Removes the trees that have ended. Keeps the latest trees whose root has given up, at most
    /// [`GIVEN_UP_MAX`] of them.
    fn clean(&mut self) {
        let given_up = |root: &&Arc<Mutex<Face>>| face::lock(root).has_given_up();
        let count = self.faces.iter().filter(given_up).count();
        let mut too_many = count.saturating_sub(GIVEN_UP_MAX);
        self.faces.retain(|root| {
            let root = face::lock(root);
            let is_old = root.has_given_up() && too_many > 0;
            too_many -= usize::from(is_old);
            !is_old && (root.has_given_up() || !root.has_ended())
        });
        self.cleaned = self.faces.len();
    }
}

impl Forest {
    /// Returns the supervision trees of a system. Returns `None` if `handle` leads to threads that
    /// do not belong to a system.
    pub(super) fn of(handle: &Handle) -> Option<Arc<Self>> {
        Attached::of(&handle.sponsor())?.above()
    }

    fn roots(&self) -> MutexGuard<'_, Roots> {
        // No code that holds the lock can panic halfway.
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the counter of changes. The supervisors of the system increment it whenever their
    /// trees change.
    pub(super) fn changes(&self) -> Arc<AtomicU64> {
        self.changes.clone()
    }

    /// Adds a tree. Removes old trees whenever the number of trees has doubled, so that the cost of
    /// adding a tree does not grow with the number of trees.
    pub(super) fn plant(&self, root: Arc<Mutex<Face>>) {
        let mut roots = self.roots();
        if roots.faces.len() >= GIVEN_UP_MAX.max(2 * roots.cleaned) {
            roots.clean();
        }
        roots.faces.push(root);
    }

    /// Removes old trees, and returns the states of the remaining root supervisors.
    fn standing(&self) -> Vec<Arc<Mutex<Face>>> {
        let mut roots = self.roots();
        roots.clean();
        roots.faces.clone()
    }

    fn snapshots(&self) -> Vec<Snapshot> {
        let standing = self.standing();
        let mut left = CHILDREN_MAX;
        let look = |root| face::look(root, &mut left);
        standing.iter().map(look).collect()
    }
}

impl Handle {
    /// Returns this system's supervision trees, in the order in which the trees were started. A
    /// tree is included if it is running or has given up. Of the trees that have given up, only the
    /// latest 16 are listed.
    ///
    /// All trees together list at most 10,000 children. If there are more children, they are
    /// counted in [`Snapshot::omitted`](crate::supervise::Snapshot::omitted). If not all children
    /// of a supervisor can be listed, the children that are not up or were restarted are listed
    /// first. The supervisors are read one after another, so the states of two supervisors may be
    /// from different moments.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::supervise::{ChildState, Strategy, Supervisor};
    /// use garrick_actor::{Local, behavior};
    ///
    /// let local = Local::new()?;
    /// let tree = Supervisor::new("app", Strategy::OneForOne).spawn(&local.handle())?;
    /// local
    ///     .actor(|| behavior(|(): (), _| ()))
    ///     .named("worker")
    ///     .supervised_by(&tree)
    ///     .spawn()?;
    /// local.run();
    /// let trees = local.handle().supervisors();
    /// assert_eq!(trees[0].name, "app");
    /// let worker = &trees[0].children[0];
    /// assert_eq!((&*worker.name, worker.state), ("worker", ChildState::Up));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn supervisors(&self) -> Vec<Snapshot> {
        Forest::of(self).map_or_else(Vec::new, |forest| forest.snapshots())
    }

    /// Returns the state of the supervised child whose task has the id `cell`.
    pub(crate) fn supervised(&self, cell: TaskId) -> Option<SnapshotOf> {
        let trees = Forest::of(self)?.standing();
        trees.iter().find_map(|tree| face::find(tree, cell))
    }

    /// Returns a number that increases whenever a supervision tree of the system changes.
    #[doc(hidden)]
    #[must_use]
    pub fn supervisor_changes(&self) -> u64 {
        Forest::of(self).map_or(0, |forest| forest.changes.load(Relaxed))
    }
}
