//! Facts about a child, such as its path, for the reports of the child's failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use garrick_sched::TaskId;

use crate::failure::office::Office;
use crate::failure::path::ActorPath;
use crate::failure::{Consequence, Failure};

/// Facts about a child, such as its path for the reports of its failures.
pub(super) struct Facts {
    /// Path of the child, if it has a name.
    pub(super) path: Option<ActorPath>,
    /// Name of the actor's type.
    pub(super) task: &'static str,
    /// Destination of failure reports (the office) in the system that runs the child. `None` if the
    /// child runs on threads that do not belong to a system.
    pub(super) office: Option<Arc<Office>>,
    /// True once the supervisor gives no more orders to the child.
    is_orphan: AtomicBool,
}

impl Facts {
    pub(super) fn new(
        path: Option<ActorPath>,
        task: &'static str,
        office: Option<Arc<Office>>,
    ) -> Self {
        Self {
            path,
            task,
            office,
            is_orphan: AtomicBool::new(false),
        }
    }

    /// Records that the supervisor gives no more orders to the child. Called before the supervisor
    /// stops the child's task for this reason.
    pub(super) fn set_orphan(&self) {
        // Relaxed: the request to stop publishes this.
        self.is_orphan.store(true, Relaxed);
    }

    pub(super) fn is_orphan(&self) -> bool {
        // Relaxed: as above.
        self.is_orphan.load(Relaxed)
    }

    /// Returns the path of the child. `id` is the id of the child's task, which is a part of the
    /// path if the child has no name.
    pub(super) fn path(&self, id: TaskId) -> ActorPath {
        let path = self.path.clone();
        path.unwrap_or_else(|| ActorPath::of_unnamed(self.task, id))
    }

    /// Creates the report about a failure of the child. `id` is the id of the child's task.
    pub(super) fn failure(&self, id: TaskId, message: String, consequence: Consequence) -> Failure {
        Failure {
            task: self.task,
            path: Some(self.path(id)),
            message,
            consequence,
        }
    }
}
