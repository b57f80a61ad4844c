//! Graphs whose stages are tasks of a simulation.

use std::fmt;
use std::sync::Arc;

use garrick_sched::Handle;

use super::NoSuchStage;
use crate::feedback::Loops;
use crate::graph::{Graph, Monitor, Opened, Report, StartError, Stopper};
use crate::post::{Post, Wake};
use crate::stage::OnFailure;

/// A graph that runs in a simulation. The simulation chooses which stage takes its next step.
///
/// The graph runs until its stages have ended, even if all its handles are dropped.
#[derive(Clone)]
pub struct Pipeline {
    post: Arc<Post>,
    loops: Loops,
    monitor: Monitor,
}

impl Graph {
    /// Creates the stages of the graph as tasks of one node of a simulation. If a stage panics or
    /// is restarted, or if a thread outside of the simulation wakes it, `on_failure` is called with
    /// the stage's name and the reason. Panics that the simulation itself has caused are not
    /// reported.
    ///
    /// # Errors
    ///
    /// Returns [`StartError`] if the shape of the graph is not allowed, as in
    /// [`start`](Self::start), or if the node has crashed. In both cases, no stage has run.
    #[doc(hidden)]
    pub fn simulate(
        self,
        node: &Handle,
        on_failure: impl Fn(&str, String) + Send + Sync + 'static,
    ) -> Result<Pipeline, StartError> {
        let on_failure: OnFailure = Arc::new(on_failure);
        let opened = Opened::simulated(self, node, &on_failure)?;
        Ok(Pipeline {
            post: opened.post,
            loops: opened.loops,
            monitor: opened.monitor,
        })
    }
}

impl Pipeline {
    /// Asks all stages whether the graph may stop, like [`Running::stop`](crate::Running::stop).
    pub fn stop(&self) {
        self.post.stop();
    }

    /// Stops the sources without asking the stages, like
    /// [`Running::overrule`](crate::Running::overrule).
    pub fn overrule(&self) {
        let lines = self.monitor.lines();
        for each in self.loops.iter() {
            each.cut(lines, &self.post);
        }
        self.post.overrule();
    }

    /// Creates a handle with which an actor can stop the graph.
    pub fn stopper(&self) -> Stopper {
        Stopper::new(&self.post)
    }

    /// Makes the stage called `name` panic once, in a step that the simulation chooses. A
    /// [`restarting`](crate::restarting) stage panics at the start of the chosen step. Any other
    /// stage panics at the end of the chosen step. The panic does not count as a failure of the
    /// run.
    ///
    /// Each call to this method adds one panic. If the stage ends before the chosen step, there is
    /// no panic.
    ///
    /// # Errors
    ///
    /// Returns [`NoSuchStage`] if no stage has the name, or if the stage has ended.
    pub fn inject_panic(&self, name: &str) -> Result<(), NoSuchStage> {
        let mut stages = 0..self.monitor.stages();
        let found = stages.find(|stage| self.monitor.name_of(*stage) == name);
        // The number of stages was checked when they were added.
        let told = found.is_some_and(|stage| self.post.tell(stage as u32, Wake::Panic));
        told.then_some(()).ok_or_else(|| NoSuchStage {
            name: name.to_owned(),
            there_are: self.names_of_running(),
        })
    }

    fn names_of_running(&self) -> Vec<String> {
        let running = (0..self.monitor.stages()).filter(|stage| !self.monitor.has_ended(*stage));
        running
            .map(|stage| self.monitor.name_of(stage).to_owned())
            .collect()
    }

    /// Returns true if all stages have ended.
    pub fn has_ended(&self) -> bool {
        (0..self.monitor.stages()).all(|stage| self.monitor.has_ended(stage))
    }

    /// Returns a report of the stages that have ended, and of all channels.
    pub fn report(&self) -> Report {
        self.monitor.report()
    }

    /// Creates a monitor. The times in its samples are measured by the clock of the simulation, up
    /// to the last wake-up of each stage.
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline")
            .field("totals", &self.monitor.sample())
            .finish_non_exhaustive()
    }
}
