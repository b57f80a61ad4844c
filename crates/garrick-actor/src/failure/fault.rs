//! The reason why an actor failed, and failing without a panic.
//!
//! A handler that cannot go on returns [`Next::Fail`](crate::Next::Fail).
//! [`Context::fail`](crate::Context::fail) creates it from an error. The error does not fit into a
//! `Next`, which every turn returns in a register. A thread-local variable holds it until the turn,
//! which is about to end, has been evaluated.

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use crate::quiet;

/// Any error, on the heap.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

thread_local! {
    /// Reason why the turn under way fails. Written by `Context::fail`, taken by the code that
    /// handles `Next::Fail`.
    static WHY: RefCell<Option<BoxError>> = const { RefCell::new(None) };
}

/// Reason why a supervised actor is no longer up. A decider decides by it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fault {
    /// A turn, the start or the factory of the actor panicked with this message.
    Panic(Arc<str>),
    /// A turn failed with an error, which can be downcast.
    Error(Arc<dyn Error + Send + Sync>),
    /// A supervisor gave up, with this message.
    Escalated(Arc<str>),
    /// The actor stopped by itself. No decider is called: [`Restart`](crate::supervise::Restart)
    /// governs this case.
    Stopped,
}

impl Fault {
    /// Returns the fault of a turn that ended in `Next::Fail`.
    pub(crate) fn of_turn() -> Self {
        Self::Error(take_why().into())
    }

    /// Returns the fault's text. Catches a panic of an error's `Display`.
    pub(crate) fn said(&self) -> String {
        said(self)
    }
}

/// Returns the text of `what`. Catches a panic of its `Display`.
fn said(what: &impl fmt::Display) -> String {
    let said = quiet::call(|| what.to_string());
    said.unwrap_or_else(|| "an error whose `Display` panicked".to_owned())
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(message) => write!(f, "it panicked: {message}"),
            Self::Error(error) => write!(f, "it failed: {error}"),
            Self::Escalated(message) => f.write_str(message),
            Self::Stopped => f.write_str("it stopped"),
        }
    }
}

/// Stores the reason for the `Next::Fail` that follows.
pub(crate) fn set_why(why: BoxError) {
    // Drops the previous value only when nothing is borrowed any more: its destructor may come
    // here.
    drop(WHY.replace(Some(why)));
}

fn take_why() -> BoxError {
    WHY.take()
        .unwrap_or_else(|| "a turn ended in `Next::Fail` without a reason".into())
}

/// Ends the turn of an unsupervised actor as a panic would, without calling the panic hook.
#[cold]
pub(crate) fn fail_alone() -> ! {
    let why = take_why();
    let said = said(&why);
    // Drop it before the panic begins, not during it.
    quiet::drop(why);
    resume_unwind(Box::new(said))
}
