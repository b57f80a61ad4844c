//! Facts about a child, such as its path, for the reports of the child's failures.

use std::sync::Arc;

use garrick_sched::TaskId;

use crate::failure::office::Office;
use crate::failure::path::ActorPath;
use crate::failure::{Consequence, Failure};

/// Facts about a child for the reports of its failures. An example is the path of the child.
pub(super) struct Facts {
    /// Path of the child, if it has a name.
    pub(super) path: Option<ActorPath>,
    /// Name of the actor's type.
    pub(super) task: &'static str,
    /// Destination of failure reports (the office) in the system that runs the child. `None` if the
    /// child runs on threads that do not belong to a system.
    pub(super) office: Option<Arc<Office>>,
}

impl Facts {
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
