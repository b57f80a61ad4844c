//! Stages that have not been started yet.

use garrick_sched::{Address, Handle};

use crate::post::Wake;
use crate::stage::{Cx, Env, Stage, StageTask};
#[cfg(feature = "sim")]
use crate::stage::{OnFailure, SimulatedTask};
use crate::wait::Wait;
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

    /// Creates the stage's task on a node of a simulation. Returns `None` if the node no longer
    /// accepts tasks, for example because it has crashed.
    #[cfg(feature = "sim")]
    fn simulate(
        self: Box<Self>,
        node: &Handle,
        env: Env,
        name: &str,
        on_failure: OnFailure,
    ) -> Option<Address<Wake>>;

    /// Converts the stage into one that has no thread. The caller takes its steps.
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
