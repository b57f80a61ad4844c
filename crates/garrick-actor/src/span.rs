//! A `tracing` span for every turn, with the actor's type; and in it, if the actor has a name, one with its path.

use tracing::span::EnteredSpan;
use tracing::trace_span;

use crate::path::ActorPath;

/// Enters the span of a turn.
pub(crate) fn turn(actor: &'static str) -> EnteredSpan {
    trace_span!("turn", actor).entered()
}

/// Enters the span of the turn of an actor with a name.
pub(crate) fn named(path: &ActorPath) -> EnteredSpan {
    trace_span!("named", path = path.as_str()).entered()
}
