//! Reasons for failures, and failures without a panic.
//!
//! A handler that cannot continue returns [`Next::Fail`](crate::Next::Fail).
//! [`Context::fail`](crate::Context::fail) creates this value from an error. Every turn returns a
//! `Next` in a register, so a `Next` has no space for the error itself. A thread-local variable
//! stores the error until the code that called the handler has processed the result.

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use crate::quiet;

/// A boxed error of any type.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

thread_local! {
    /// Reason why the current turn fails. `Context::fail` writes it, and the code that handles
    /// `Next::Fail` takes it.
    static WHY: RefCell<Option<BoxError>> = const { RefCell::new(None) };
}

/// The reason why a supervised actor has failed or stopped. The function that is passed to
/// [`Supervised::decide`](crate::spawn::Supervised::decide) receives this value.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fault {
    /// The actor panicked with this message, during a turn or while it was created or started.
    Panic(Arc<str>),
    /// A turn failed with this error, which can be downcast.
    Error(Arc<dyn Error + Send + Sync>),
    /// The child is itself a supervisor, and it gave up for the reason in this message.
    Escalated(Arc<str>),
    /// The actor stopped by itself. In this case, the function that was passed to
    /// [`Supervised::decide`](crate::spawn::Supervised::decide) is not called. Instead,
    /// [`Restart`](crate::supervise::Restart) determines whether the actor is restarted.
    Stopped,
}

impl Fault {
    /// Returns the fault of a turn that returned `Next::Fail`.
    pub(crate) fn of_turn() -> Self {
        Self::Error(take_why().into())
    }

    /// Returns the text of the fault. Catches a panic of an error's `Display`.
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
            Self::Panic(message) => write!(f, "the actor panicked: {message}"),
            Self::Error(error) => write!(f, "the actor failed: {error}"),
            Self::Escalated(message) => f.write_str(message),
            Self::Stopped => f.write_str("the actor stopped"),
        }
    }
}

/// Stores the reason for a `Next::Fail` that is about to be returned.
pub(crate) fn set_why(why: BoxError) {
    // The previous value is dropped only when the cell is no longer borrowed, because its
    // destructor may call this function.
    drop(WHY.replace(Some(why)));
}

fn take_why() -> BoxError {
    WHY.take()
        .unwrap_or_else(|| "the handler returned `Next::Fail` without a reason".into())
}

/// Fails the turn of an unsupervised actor with a panic, but without calling the panic hook.
#[cold]
pub(crate) fn fail_alone() -> ! {
    let why = take_why();
    let said = said(&why);
    // The error is dropped before the panic begins, not during unwinding.
    quiet::drop(why);
    resume_unwind(Box::new(said))
}
