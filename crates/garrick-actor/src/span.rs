//! A `tracing` span for every turn, with the actor's type; and in it, if the actor has a name, one with its path. An event
//! for every question of an actor that was not answered in time.

use std::any::type_name;

use tracing::span::EnteredSpan;
use tracing::{debug, trace_span};

use garrick_sched::NoReply;

use crate::failure::path::ActorPath;

/// Enters the span of a turn.
pub(crate) fn turn(actor: &'static str) -> EnteredSpan {
    trace_span!("turn", actor).entered()
}

/// Enters the span of the turn of an actor with a name.
pub(crate) fn named(path: &ActorPath) -> EnteredSpan {
    trace_span!("named", path = path.as_str()).entered()
}

/// Says that a question `N` was not answered with an `R` in time. The type `G` of what would have been done with the answer
/// names the asker and where it asked.
pub(crate) fn timed_out<N, R, G>(none: NoReply) {
    let (question, answer, asker) = (type_name::<N>(), type_name::<R>(), type_name::<G>());
    debug!(
        question,
        answer, asker, "a question was not answered: {none}"
    );
}
