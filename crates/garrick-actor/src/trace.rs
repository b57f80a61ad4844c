//! Traces across actors: the trace context of OpenTelemetry travels with the messages.
//!
//! Each turn has a `tracing` span at the level `TRACE`. If a subscriber with the layer of
//! [tracing-opentelemetry](https://docs.rs/tracing-opentelemetry) records this span, the context of
//! the span travels with the messages that the turn sends. The spans of the turns that handle these
//! messages are children of this span, even on other workers and in other systems of the process.
//! Questions and answers carry the context too.
//!
//! The context of a message is lost in the following cases. The span of the turn that handles the
//! message then begins a new trace.
//!
//! - The message comes from a timer, or from another node.
//! - The message waited because its receiver was being restarted by a supervisor.
//! - A durable actor has sent the message.
//! - Another worker has handled the message, because the receiver's own worker was in a long turn.
//!
//! In a mailbox with priorities, messages are sorted by rank, but contexts keep the order of
//! arrival. So the turn that handles a message may continue the trace of another message.
//!
//! If no span is recorded, a message costs the same as without this feature. If the span of a turn
//! is recorded, the messages of the turn take the slower path that is otherwise only for messages
//! to other workers.

use garrick_sched::{Trail, Turn, trails_from_outside};
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Makes the messages that a thread sends outside of turns carry the context of the thread's
/// current `tracing` span. Call this function once, when the program starts.
///
/// After this call, each send outside of a turn reads the current span of its thread. Without a
/// subscriber, this takes some nanoseconds.
pub fn continue_from_threads() {
    trails_from_outside(|| context_of(&Span::current()).map(Trail::new));
}

/// Returns the context of a span, if the span is recorded.
fn context_of(span: &Span) -> Option<SpanContext> {
    if span.is_disabled() {
        return None;
    }
    let context = span.context();
    let context = context.span().span_context().clone();
    context.is_sampled().then_some(context)
}

/// Makes the span of a turn continue the trace of its message. If `sends` is true, the messages
/// that the turn sends continue the trace of the span.
pub(crate) fn follow<M: 'static>(span: &Span, sends: bool, turn: &Turn<'_, M>) {
    let trail = turn.trail();
    if let Some(parent) = trail.as_ref().and_then(Trail::value::<SpanContext>) {
        let parent = Context::new().with_remote_span_context(parent.clone());
        // Fails only if no layer of OpenTelemetry records the span.
        let _ = span.set_parent(parent);
    }
    if sends && let Some(context) = context_of(span) {
        turn.set_trail(Trail::new(context));
    }
}
