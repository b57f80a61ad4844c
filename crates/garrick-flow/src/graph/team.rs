//! Threads, and the stages on them.

use garrick_sched::Sponsor;

use super::plan::Planned;
use super::{Graph, StartError};
use crate::post::StageId;
use crate::stage::Stage;

/// A thread that is to be started.
pub(super) struct Crew {
    pub(super) name: String,
    /// The core that it is to have, if any.
    pub(super) core: Option<usize>,
    /// How many stages it has.
    pub(super) size: usize,
}

impl Crew {
    /// A thread on any core.
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            core: None,
            size: 0,
        }
    }

    pub(super) fn start(&self) -> Result<Sponsor, StartError> {
        let builder = Sponsor::builder().name(self.name.clone()).pin_to(self.core);
        builder.start().map_err(|reason| StartError::Thread {
            name: self.name.clone(),
            reason,
        })
    }
}

/// A thread that several stages share; from [`Graph::team`].
#[derive(Debug)]
pub struct Team<'a> {
    /// The graph, whose last crew is this one.
    graph: &'a mut Graph,
}

impl<'a> Team<'a> {
    /// The last team of `graph`, which has one.
    pub(super) fn last_of(graph: &'a mut Graph) -> Self {
        Self { graph }
    }

    /// Adds a stage.
    pub fn stage(self, name: impl Into<String>, stage: impl Stage) -> Self {
        self.add(name.into(), stage, false)
    }

    /// Adds a stage that ends when the graph is to stop.
    pub fn source(self, name: impl Into<String>, source: impl Stage) -> Self {
        self.add(name.into(), source, true)
    }

    /// Pins the thread to a core, counted from 0. Where the system cannot pin, nothing happens; where there is no
    /// such core, [`Graph::start`] fails and says so.
    pub fn pin_to(self, core: usize) -> Self {
        if let Some(crew) = self.graph.teams.last_mut() {
            crew.core = Some(core);
        }
        self
    }

    pub(super) fn add(self, name: String, stage: impl Stage, is_source: bool) -> Self {
        let team = self.graph.teams.len() - 1;
        self.graph.teams[team].size += 1;
        let fits = StageId::try_from(self.graph.stages.len()).is_ok();
        assert!(fits, "fewer stages than a u32 can count");
        self.graph.stages.push(Planned {
            name,
            is_source,
            team,
            stage: Box::new(stage),
        });
        self
    }
}
