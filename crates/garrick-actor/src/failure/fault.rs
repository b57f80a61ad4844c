//! Reasons for failures, and failures without a panic.
//!
//! A handler that cannot continue returns [`Next::Fail`](crate::Next::Fail).
//! [`Context::fail`](crate::Context::fail) stores an error and returns `Next::Fail`. Every turn
//! returns a `Next` in a register, so a `Next` has no space for the error itself. A thread-local
//! variable stores the error until the code that called the handler has processed the result.

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::iter;
use std::mem;
use std::panic::resume_unwind;
use std::sync::Arc;

use garrick_sched::{TurnMark, turn_mark};

use crate::quiet::{self, Several};

/// A boxed error of any type.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Maximum number of causes in the text of an error. Further causes are omitted.
const CAUSES_MAX: usize = 16;

thread_local! {
    /// Reason why the current turn fails. Stored by `Context::fail`, or when a handler returns an
    /// error. The code that handles `Next::Fail` takes the reason.
    static WHY: RefCell<Why> = const { RefCell::new(Why::NONE) };
}

/// The reason why a turn fails.
#[derive(Default)]
struct Why {
    /// The turn that has stored the reason. If the handler has not returned the result of
    /// `Context::fail`, the reason is not the reason of a later turn.
    turn: Option<TurnMark>,
    /// The reason. If nobody takes it, it is dropped at the end of the thread, where a panic of its
    /// destructor would abort the process.
    error: Several<Option<BoxError>>,
}

impl Why {
    const NONE: Self = Self {
        turn: None,
        error: Several::new(None),
    };
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

    /// Returns the text of the fault. If the `Display` of an error panics, catches the panic.
    pub(crate) fn said(&self) -> String {
        said(|| self.to_string())
    }

    /// Returns the reason without an introduction such as `the actor failed:`. The reason is the
    /// message of the panic, or the text of the error with its causes.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Panic(message) | Self::Escalated(message) => message.to_string(),
            Self::Error(error) => said(|| Chain(&**error).to_string()),
            Self::Stopped => "it stopped by itself".to_owned(),
        }
    }
}

/// Returns the text that `what` returns. If the `Display` of an error panics in `what`, catches the
/// panic and returns a fixed text.
fn said(what: impl FnOnce() -> String) -> String {
    quiet::call(what).unwrap_or_else(|| "an error whose `Display` panicked".to_owned())
}

/// A wrapper that displays an error and its causes, as in `cannot read the file: no such file`.
/// Omits a cause if the text before it already ends with the text of the cause.
struct Chain<'a>(&'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = self.0.to_string();
        f.write_str(&last)?;
        let mut cause = self.0.source();
        let causes = iter::from_fn(|| {
            let next = cause?.source();
            mem::replace(&mut cause, next)
        });
        for cause in causes.take(CAUSES_MAX) {
            let text = cause.to_string();
            if !last.ends_with(&text) {
                write!(f, ": {text}")?;
            }
            last = text;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(message) => write!(f, "the actor panicked: {message}"),
            Self::Error(error) => write!(f, "the actor failed: {}", Chain(&**error)),
            Self::Escalated(message) => f.write_str(message),
            Self::Stopped => f.write_str("the actor stopped"),
        }
    }
}

/// Stores the reason for a `Next::Fail` that is about to be returned.
pub(crate) fn set_why(why: BoxError) {
    let why = Why {
        turn: turn_mark(),
        error: Several::new(Some(why)),
    };
    // The previous value is dropped only when the cell is no longer borrowed, because its
    // destructor may call this function.
    drop(WHY.replace(why));
}

/// Takes the reason that the current turn has stored.
fn take_why() -> BoxError {
    let mut why = WHY.take();
    let error = if why.turn == turn_mark() {
        why.error.take()
    } else {
        None
    };
    error.unwrap_or_else(|| "the handler returned `Next::Fail` without a reason".into())
}

/// Fails the turn of an unsupervised actor with a panic, but without calling the panic hook.
#[cold]
pub(crate) fn fail_alone() -> ! {
    let why = take_why();
    let said = said(|| Chain(&*why).to_string());
    // The error is dropped before the panic begins, not during unwinding.
    quiet::drop(why);
    resume_unwind(Box::new(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error with a text and perhaps a cause.
    #[derive(Debug)]
    struct Because(&'static str, Option<Box<Because>>);

    impl fmt::Display for Because {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Because {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            let cause = self.1.as_deref()?;
            Some(cause)
        }
    }

    fn because(texts: &[&'static str]) -> Because {
        let cause = (texts.len() > 1).then(|| Box::new(because(&texts[1..])));
        Because(texts[0], cause)
    }

    #[test]
    fn a_reason_has_all_causes_but_none_twice() {
        let reason = |texts| Fault::Error(Arc::new(because(texts))).reason();
        assert_eq!(reason(&["no"]), "no");
        assert_eq!(
            reason(&["cannot start", "cannot read", "no such file"]),
            "cannot start: cannot read: no such file"
        );
        assert_eq!(
            reason(&["cannot read: no such file", "no such file"]),
            "cannot read: no such file"
        );
        assert_eq!(reason(&["a"; 100]), "a");
    }

    #[test]
    fn a_chain_of_causes_is_cut_off() {
        let texts = ["x", "y"].repeat(50);
        let reason = Fault::Error(Arc::new(because(&texts))).reason();
        assert_eq!(reason.matches(": ").count(), CAUSES_MAX);
    }
}
