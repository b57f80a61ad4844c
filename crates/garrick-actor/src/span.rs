//! A `tracing` span for every turn, with the actor's type. A named actor has an inner span with its
//! path. Every ask that is not answered in time is an event.

use std::any::type_name;

use tracing::span::EnteredSpan;
use tracing::{debug, trace_span};

use garrick_sched::NoReply;

use crate::failure::path::ActorPath;

/// Enters the span of a turn.
pub(crate) fn turn(actor: &'static str) -> EnteredSpan {
    trace_span!("turn", actor).entered()
}

/// Enters the span of a turn of a named actor.
pub(crate) fn named(path: &ActorPath) -> EnteredSpan {
    trace_span!("named", path = path.as_str()).entered()
}

/// Logs that a question `N` was not answered with an `R` in time. The type `G` of the closure that
/// would have used the answer names the asker and the place where it asked.
pub(crate) fn timed_out<N, R, G>(none: NoReply) {
    let (question, answer, asker) = (type_name::<N>(), type_name::<R>(), type_name::<G>());
    debug!(
        question,
        answer, asker, "a question was not answered: {none}"
    );
}
