//! Reports about an actor that failed.

pub(crate) mod fault;
pub(crate) mod path;

use std::fmt;

use path::ActorPath;

/// A turn of an actor that ended in a panic.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// Name of the actor's type.
    pub task: &'static str,
    /// Name and place of the actor, if it was given a name.
    pub path: Option<ActorPath>,
    /// Message of the panic or error.
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
