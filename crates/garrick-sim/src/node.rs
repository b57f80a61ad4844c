//! Nodes: simulated systems that can crash.

use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use garrick_actor::Handle;

use crate::failures::Failures;
use crate::property::Broken;

/// A node of a simulation: a system whose actors the simulation runs step by step. A node spawns
/// actors like a [`Handle`].
#[derive(Clone)]
pub struct Node {
    name: Rc<str>,
    handle: Handle,
    /// The handle that spawns the stages of pipelines on this node.
    place: garrick_sched::Handle,
    stage_failures: Arc<Failures<Broken>>,
}

impl Node {
    pub(crate) fn new(
        name: Rc<str>,
        handle: Handle,
        place: garrick_sched::Handle,
        stage_failures: Arc<Failures<Broken>>,
    ) -> Self {
        Self {
            name,
            handle,
            place,
            stage_failures,
        }
    }

    pub(crate) fn place(&self) -> &garrick_sched::Handle {
        &self.place
    }

    pub(crate) fn stage_failures(&self) -> &Arc<Failures<Broken>> {
        &self.stage_failures
    }

    /// Returns the name of the node.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the handle of the node's system.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Deref for Node {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Node").field(&self.name).finish()
    }
}
