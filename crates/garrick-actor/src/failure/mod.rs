//! Reports of failures.

pub(crate) mod fault;
pub(crate) mod path;

use std::fmt;

use path::ActorPath;

/// The report of a turn that panicked or failed with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// Name of the actor's type.
    pub task: &'static str,
    /// Path of the actor, if the actor has a name.
    pub path: Option<ActorPath>,
    /// Message of the panic or of the error.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            task,
            path,
            message,
        } = self;
        match path {
            Some(path) => write!(f, "the actor {path} ({task}) failed: {message}"),
            None => write!(f, "the actor {task} failed: {message}"),
        }
    }
}
