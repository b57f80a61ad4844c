//! The differences between stages of pipelines and actors in a simulation.
//!
//! Like an actor, a stage is a task of its node. A stage differs from an actor in three respects:
//!
//! - Its messages are wake-ups. Wake-ups by channels come only from its own node, because a channel
//!   is memory that both ends share. Answers to its questions may come from other nodes.
//! - Its failures do not go to a supervisor.
//! - Its steps change memory that other stages see at once: the rings of the channels. Actors with
//!   an end of a channel see this memory, too. So the effect of a step is not limited to one task,
//!   and the search must not treat two steps as independent.

use std::cell::Cell;

use garrick_flow::simulated::{SIMULATED_STAGE, WAKE};
use garrick_sched::{Circumstances, Simulation};

use crate::property::{Broken, Kind};

thread_local! {
    /// True if the run on this thread has a pipeline.
    static ARE_ANY: Cell<bool> = const { Cell::new(false) };
}

/// Records that a run begins. The run has no pipeline yet.
pub(crate) fn begin_run() {
    ARE_ANY.set(false);
}

/// Records that the run has a pipeline.
pub(crate) fn add_pipeline() {
    ARE_ANY.set(true);
}

/// Returns true if the run on this thread has a pipeline.
#[inline]
pub(crate) fn are_any() -> bool {
    ARE_ANY.get()
}

/// Returns true if a task of a type with this name is a stage.
pub(crate) fn is_stage(type_name: &str) -> bool {
    type_name == SIMULATED_STAGE
}

/// Returns a failure if the choice (the possible next step) at the index `at` would let a task of
/// another node wake a stage through a channel. `name_of` returns the names of nodes.
pub(crate) fn check_sender<'n>(
    simulation: &Simulation,
    at: usize,
    name_of: impl Fn(usize) -> &'n str,
) -> Option<Broken> {
    let about = simulation.circumstances(at)?;
    let from = sender_on_another_node(&about)?;
    let (from, to) = (name_of(from), name_of(about.to));
    Some(Broken {
        property: simulation.label(at).unwrap_or_default(),
        why: format!(
            "a task of the node {from:?} has an end of a channel of the node {to:?}: put both on \
             one node, because a channel is memory that they share"
        ),
        kind: Kind::NoFailure,
    })
}

/// Returns the node of the sender if a task on one node wakes a stage on another node through a
/// channel.
fn sender_on_another_node(about: &Circumstances) -> Option<usize> {
    let is_by_channel = is_stage(about.type_name) && about.kind == Some(WAKE);
    about.from.filter(|from| is_by_channel && *from != about.to)
}

/// Returns the broken property that reports a failure of the stage `name`.
pub(crate) fn failed(name: &str, why: String) -> Broken {
    Broken {
        property: format!("stage {name}"),
        why,
        kind: Kind::NoFailure,
    }
}
