//! Starts a graph.

use std::sync::Arc;

use garrick_sched::{Address, Handle, Sponsor};

use super::ended::Ended;
use super::monitor::{Member, Monitor};
use super::shape::Shape;
use super::{Graph, Running, StartError};
use crate::feedback::Loops;
use crate::post::{Post, Wake};
use crate::roll_call::RollCall;
use crate::stage::{Cx, Desk, Env, Stage, StageTask, Work};
#[cfg(feature = "sim")]
use crate::stage::{OnFailure, SimulatedTask};
use crate::wait::{Lines, Wait};
use crate::wiring::Wiring;

/// A stage that has not been started yet.
pub(super) struct Planned {
    pub(super) name: String,
    pub(super) is_source: bool,
    /// Thread of the stage, as an index into `Graph::teams`.
    pub(super) team: usize,
    pub(super) stage: Box<dyn Startable>,
}

/// A stage of any type, before it is started.
pub(super) trait Startable: Send {
    /// Declares the channel ends that the stage has.
    fn tell(&self, wiring: &mut Wiring);

    /// Creates the stage's task, on a thread that has just been started.
    fn launch(self: Box<Self>, sponsor: &Handle, env: Env) -> Address<Wake>;

    /// Creates the stage's task on a node of a simulation. Returns `None` if the node is closed.
    #[cfg(feature = "sim")]
    fn simulate(
        self: Box<Self>,
        node: &Handle,
        env: Env,
        name: &str,
        on_failure: OnFailure,
    ) -> Option<Address<Wake>>;

    /// Converts the stage into one that the caller steps by hand.
    fn by_hand(self: Box<Self>) -> AnyStage;
}

impl<S: Stage> Startable for S {
    fn tell(&self, wiring: &mut Wiring) {
        self.wiring(wiring);
    }

    fn launch(self: Box<Self>, sponsor: &Handle, env: Env) -> Address<Wake> {
        let spawned = sponsor.spawn(StageTask::new(*self, env));
        spawned.unwrap_or_else(|_| unreachable!("the sponsor has just been started"))
    }

    #[cfg(feature = "sim")]
    fn simulate(
        self: Box<Self>,
        node: &Handle,
        env: Env,
        name: &str,
        on_failure: OnFailure,
    ) -> Option<Address<Wake>> {
        let task = SimulatedTask::new(*self, env, name, on_failure);
        node.spawn(task).ok()
    }

    fn by_hand(self: Box<Self>) -> AnyStage {
        AnyStage(self)
    }
}

/// A stage of any type.
pub(crate) struct AnyStage(Box<dyn Stage>);

impl Stage for AnyStage {
    fn step(&mut self, cx: &mut Cx<'_>) -> Wait {
        self.0.step(cx)
    }

    fn wiring(&self, wiring: &mut Wiring) {
        self.0.wiring(wiring);
    }
}

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

/// A stage with everything it needs to start.
struct Ready {
    team: usize,
    stage: Box<dyn Startable>,
    env: Env,
}

impl Opened {
    /// Takes `graph` apart, so that the caller can step its stages by hand.
    pub(crate) fn by_hand(graph: Graph) -> Result<(Self, Vec<(AnyStage, Env)>), StartError> {
        let shape = Shape::of(&graph)?;
        let (opened, stages) = Self::new(graph, shape);
        opened.post.open_by_hand(stages.len());
        let by_hand = |ready: Ready| (ready.stage.by_hand(), ready.env);
        Ok((opened, stages.into_iter().map(by_hand).collect()))
    }

    /// Creates the stages of `graph` as tasks of a node of a simulation.
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
