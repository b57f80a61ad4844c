//! Threads, and the stages that run on them.

use garrick_sched::Sponsor;

use super::planned::Planned;
use super::{Graph, StartError};
use crate::post::StageId;
use crate::stage::Stage;

/// The thread of one or more stages, before it is started.
pub(super) struct Crew {
    pub(super) name: String,
    /// Core that the thread is pinned to, if any.
    pub(super) core: Option<usize>,
    /// Size of the thread's stack in bytes, or `None` for the standard library's default.
    pub(super) stack_size: Option<usize>,
    /// Number of stages on the thread.
    pub(super) size: usize,
}

impl Crew {
    /// Describes a thread that may run on any core.
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            core: None,
            stack_size: None,
            size: 0,
        }
    }

    pub(super) fn start(&self) -> Result<Sponsor, StartError> {
        let builder = Sponsor::builder().name(self.name.clone()).pin_to(self.core);
        let builder = match self.stack_size {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        };
        builder.start().map_err(|reason| StartError::Thread {
            name: self.name.clone(),
            reason,
        })
    }
}

/// A thread that several stages share. Created by [`Graph::team`].
#[derive(Debug)]
pub struct Team<'a> {
    /// The graph. This team is the last one in the graph's list of threads.
    graph: &'a mut Graph,
}

impl<'a> Team<'a> {
    /// Returns the last team of `graph`. The graph must have at least one team.
    pub(super) fn last_of(graph: &'a mut Graph) -> Self {
        Self { graph }
    }

    /// Adds a stage to the team.
    pub fn stage(self, name: impl Into<String>, stage: impl Stage) -> Self {
        self.add(name.into(), stage, false)
    }

    /// Adds a source to the team. A source is a stage that ends when the graph is stopped.
    pub fn source(self, name: impl Into<String>, source: impl Stage) -> Self {
        self.add(name.into(), source, true)
    }

    /// Pins the team's thread to the core with the index `core`, counted from 0. If there is no
    /// such core, [`Graph::start`] returns an error. On systems that cannot pin threads, this
    /// method has no effect.
    pub fn pin_to(self, core: usize) -> Self {
        if let Some(crew) = self.graph.teams.last_mut() {
            crew.core = Some(core);
        }
        self
    }

    /// Sets the stack size of the team's thread, in bytes. If the size is below 64 KiB or above 1
    /// GiB, [`Graph::start`] returns an error.
    ///
    /// By default, the standard library determines the size: 2 MiB, or the value of the environment
    /// variable `RUST_MIN_STACK`. Use a larger stack for steps that recurse deeply.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_flow::{Graph, stages};
    ///
    /// let mut graph = Graph::new();
    /// let (tx, rx) = graph.channel::<u32>(64)?;
    /// graph.source("numbers", stages::produce(tx, 0..1000));
    /// graph.team("deep").stage("read", stages::consume(rx, |_| ())).stack_size(16 << 20);
    /// assert_eq!(graph.start()?.join().channels()[0].taken, 1000);
    ///
    /// let mut graph = Graph::new();
    /// graph.team("none").stack_size(0);
    /// let refused = graph.start().unwrap_err().to_string();
    /// assert!(refused.starts_with("cannot start the thread of \"none\": "), "{refused}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stack_size(self, bytes: usize) -> Self {
        if let Some(crew) = self.graph.teams.last_mut() {
            crew.stack_size = Some(bytes);
        }
        self
    }

    pub(super) fn add(self, name: String, stage: impl Stage, is_source: bool) -> Self {
        let team = self.graph.teams.len() - 1;
        self.graph.teams[team].size += 1;
        let fits = StageId::try_from(self.graph.stages.len()).is_ok();
        assert!(fits, "a graph has at most 2^32 stages");
        self.graph.stages.push(Planned {
            name,
            is_source,
            team,
            stage: Box::new(stage),
        });
        self
    }
}
