//! `tracing` spans and events. Every turn has a span with the type of the actor. The turns of a
//! named actor also have an inner span with the actor's path. An event is logged for every question
//! that an actor asks by `Context::ask_within` and that is not answered in time.

use std::any::type_name;

use tracing::span::EnteredSpan;
use tracing::{debug, trace_span};

use garrick_sched::{NoReply, Turn};

use crate::failure::path::ActorPath;
#[cfg(feature = "traces")]
use crate::failure::short::short_type_name;

/// Enters the `tracing` span of a turn. Without the feature `traces`, `sends` and `turn` have no
/// effect.
#[cfg(not(feature = "traces"))]
pub(crate) fn turn<M: 'static>(
    actor: &'static str,
    sends: bool,
    turn: &Turn<'_, M>,
) -> EnteredSpan {
    let _ = (sends, turn);
    trace_span!("turn", actor).entered()
}

/// Enters the `tracing` span of a turn. The span continues the trace of the message. If `sends` is
/// true, the messages that the turn sends continue the trace of the span.
#[cfg(feature = "traces")]
pub(crate) fn turn<M: 'static>(
    actor: &'static str,
    sends: bool,
    turn: &Turn<'_, M>,
) -> EnteredSpan {
    let span = trace_span!(
        "turn",
        actor,
        otel.name = short_type_name(actor),
        otel.kind = "consumer"
    );
    if !span.is_disabled() {
        crate::trace::follow(&span, sends, turn);
    }
    span.entered()
}

/// Enters the `tracing` span of a turn of a named actor.
pub(crate) fn named(path: &ActorPath) -> EnteredSpan {
    trace_span!("named", path = path.as_str()).entered()
}

/// Logs that a question of type `N` did not get an answer of type `R` in time.
///
/// `G` is the type of the closure that would have handled the answer. The name of this type
/// identifies the code that asked.
pub(crate) fn timed_out<N, R, G>(none: NoReply) {
    let (question, answer, asker) = (type_name::<N>(), type_name::<R>(), type_name::<G>());
    debug!(
        question,
        answer, asker, "a question was not answered: {none}"
    );
}
