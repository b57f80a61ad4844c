//! `tracing` events of failures. There is one event for each line on standard error. If a function
//! was set by `Builder::on_failure`, no lines are printed, but the events are still logged.

use tracing::{error, warn};

use super::log::{Consequence, Failure};
use super::path::ActorPath;

/// Logs a failure.
pub(crate) fn failed(system: &str, failure: &Failure) {
    let (actor, reason) = (failure.task, &*failure.message);
    let path = failure.path.as_ref().map(ActorPath::as_str);
    match failure.consequence {
        Consequence::Restarted { restarts } => {
            warn!(
                system,
                path, actor, reason, restarts, "an actor is restarted"
            );
        }
        Consequence::Resumed => warn!(system, path, actor, reason, "an actor failed and continues"),
        Consequence::GivenUp => error!(system, path, actor, reason, "an actor is not restarted"),
        Consequence::Stopped | Consequence::Continued => {
            error!(system, path, actor, reason, "an actor failed");
        }
    }
}

/// Logs one event that stands for `more` failures. All of them are failures of children of
/// `supervisor`, and none of them has its own event. `last` is the last failure.
pub(crate) fn failed_more(system: &str, supervisor: &ActorPath, more: u64, last: &Failure) {
    let (supervisor, actor, reason) = (supervisor.as_str(), last.task, &*last.message);
    let path = last.path.as_ref().map(ActorPath::as_str);
    warn!(
        system,
        supervisor, more, path, actor, reason, "more children have failed"
    );
}
