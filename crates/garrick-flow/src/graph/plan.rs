//! Starts a graph on threads or in a simulation.

use std::sync::Arc;

#[cfg(feature = "sim")]
use garrick_sched::Handle;
use garrick_sched::Sponsor;

use super::ended::Ended;
use super::monitor::{Member, Monitor};
use super::planned::{AnyStage, Startable};
use super::shape::Shape;
use super::{Graph, Running, StartError};
use crate::feedback::Loops;
use crate::post::Post;
use crate::roll_call::RollCall;
#[cfg(feature = "sim")]
use crate::stage::OnFailure;
use crate::stage::{Desk, Env, Work};
use crate::wait::Lines;

/// Starts `graph` on threads.
pub(super) fn start(graph: Graph) -> Result<Running, StartError> {
    // Check the shape first, before any thread is started.
    let shape = Shape::of(&graph)?;
    let sponsors = graph
        .teams
        .iter()
        .map(super::Crew::start)
        .collect::<Result<Vec<_>, _>>()?;
    let handles: Vec<_> = sponsors.iter().map(Sponsor::handle).collect();
    let (opened, stages) = Opened::new(graph, shape);
    let launch = |planned: Ready| planned.stage.launch(&handles[planned.team], planned.env);
    let addresses = stages.into_iter().map(launch).collect();
    opened.post.open(addresses);
    Ok(Running::new(
        sponsors,
        opened.post,
        opened.roll_call,
        opened.loops,
        opened.monitor,
    ))
}

/// State that all stages of a started graph share.
pub(crate) struct Opened {
    pub(crate) post: Arc<Post>,
    pub(super) roll_call: Arc<RollCall>,
    pub(crate) loops: Loops,
    pub(crate) monitor: Monitor,
}

/// A stage with everything that it needs to start.
struct Ready {
    team: usize,
    stage: Box<dyn Startable>,
    env: Env,
}

impl Opened {
    /// Splits `graph` into its parts, so that the caller can take the steps of the stages without
    /// threads.
    pub(crate) fn by_hand(graph: Graph) -> Result<(Self, Vec<(AnyStage, Env)>), StartError> {
        let shape = Shape::of(&graph)?;
        let (opened, stages) = Self::new(graph, shape);
        opened.post.open_by_hand(stages.len());
        let by_hand = |ready: Ready| (ready.stage.by_hand(), ready.env);
        Ok((opened, stages.into_iter().map(by_hand).collect()))
    }

    /// Creates the stages of `graph` as tasks of one node of a simulation.
    #[cfg(feature = "sim")]
    pub(crate) fn simulated(
        graph: Graph,
        node: &Handle,
        on_failure: &OnFailure,
    ) -> Result<Self, StartError> {
        let shape = Shape::of(&graph)?;
        let (opened, stages) = Self::new(graph, shape);
        opened.post.set_simulated();
        let mut addresses = Vec::with_capacity(stages.len());
        for (number, ready) in stages.into_iter().enumerate() {
            let (name, on_failure) = (opened.monitor.name_of(number), Arc::clone(on_failure));
            let address = ready.stage.simulate(node, ready.env, name, on_failure);
            addresses.push(address.ok_or(StartError::NoNode)?);
        }
        opened.post.open(addresses);
        Ok(opened)
    }

    fn new(graph: Graph, shape: Shape) -> (Self, Vec<Ready>) {
        let ended = Arc::new(Ended::new(graph.stages.len()));
        let (post, lines): (_, Lines) = (graph.post, graph.lines.into());
        let loops = shape.open(&post, &lines);
        let roll_call = Arc::<RollCall>::default();
        let (mut members, mut stages) = (Vec::new(), Vec::new());
        for (id, planned) in (0..).zip(graph.stages) {
            let crew = &graph.teams[planned.team];
            let env = Env {
                id,
                is_source: planned.is_source,
                lines: Arc::clone(&lines),
                loops: Arc::clone(&loops.all),
                in_loop: loops.of_stage[id as usize],
                post: Arc::clone(&post),
                roll_call: Arc::clone(&roll_call),
                desk: Desk::new(id),
                work: Work::new(crew.size > 1, graph.slow),
                on_end: Ended::listener(&ended, id),
            };
            members.push(Member {
                name: planned.name,
                team: crew.name.clone(),
                core: crew.core,
                work: env.work.reader(),
                last_panic: env.desk.last_panic(),
            });
            stages.push(Ready {
                team: planned.team,
                stage: planned.stage,
                env,
            });
        }
        let monitor = Monitor::new(members, lines, ended);
        let opened = Self {
            post,
            roll_call,
            loops: loops.all,
            monitor,
        };
        (opened, stages)
    }
}
