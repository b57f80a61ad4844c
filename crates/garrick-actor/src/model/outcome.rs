//! The values that a handler may return.

use crate::failure::fault::{BoxError, set_why};
use crate::model::context::Context;
use crate::model::next::Next;

/// A value that a handler returns to choose the next step.
///
/// | a handler returns | the turn | the actor |
/// | --- | --- | --- |
/// | `()` | happens | goes on |
/// | [`Next`] | as [`Next`] says | as [`Next`] says |
/// | `Ok(..)` | as the value in it says | as the value in it says |
/// | `Err(..)` | is undone | has failed, as by [`Context::fail`](crate::Context::fail) |
///
/// # Examples
/// ```
/// use std::num::ParseIntError;
/// use garrick_actor::{Actor, Context, Local};
///
/// struct Sum(u32);
///
/// impl Actor for Sum {
///     type Msg = &'static str;
///     type Outcome = Result<(), ParseIntError>;
///
///     fn receive(&mut self, text: &'static str, _: &mut Context<'_, Self::Msg>) -> Self::Outcome {
///         self.0 += text.parse::<u32>()?;
///         Ok(())
///     }
/// }
///
/// let local = Local::new()?;
/// let sum = local.spawn(Sum(0));
/// sum.send("12")?;
/// sum.send("twelve")?;
/// local.run();
/// assert!(sum.is_stopped());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Outcome {
    /// Returns the value with which an actor goes on.
    fn go_on() -> Self;

    /// Returns the next step. An error is kept on this thread until the turn under way ends.
    fn into_next(self) -> Next;
}

impl Outcome for Next {
    #[inline(always)]
    fn go_on() -> Self {
        Self::Continue
    }

    #[inline(always)]
    fn into_next(self) -> Next {
        self
    }
}

impl Outcome for () {
    #[inline(always)]
    fn go_on() -> Self {}

    #[inline(always)]
    fn into_next(self) -> Next {
        Next::Continue
    }
}

impl<T: Outcome, E: Into<BoxError>> Outcome for Result<T, E> {
    #[inline(always)]
    fn go_on() -> Self {
        Ok(T::go_on())
    }

    #[inline(always)]
    fn into_next(self) -> Next {
        match self {
            Ok(outcome) => outcome.into_next(),
            Err(error) => failed(error.into()),
        }
    }
}

impl<M: 'static> Context<'_, M> {
    /// Records the reason why the turn fails, and returns the value that the handler must return.
    /// The turn is undone, and the actor's supervisor decides what happens to the actor. Without a
    /// supervisor the actor stops, as after a panic.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Local, Next, behavior};
    ///
    /// let local = Local::new()?;
    /// let parse = local.spawn(behavior(|text: &str, cx| match text.parse::<u32>() {
    ///     Ok(_) => Next::Continue,
    ///     Err(error) => cx.fail(error),
    /// }));
    /// parse.send("12")?;
    /// parse.send("twelve")?;
    /// local.run();
    /// assert!(parse.is_stopped());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "the handler must return it"]
    pub fn fail(&self, error: impl Into<BoxError>) -> Next {
        failed(error.into())
    }
}

#[cold]
fn failed(error: BoxError) -> Next {
    set_why(error);
    Next::Fail
}

/// Names the return type of a function. The type `!` is not stable by itself, so the code below
/// names it this way.
#[doc(hidden)]
pub trait Returns {
    /// The type that the function returns.
    type Value;
}

impl<R> Returns for fn() -> R {
    type Value = R;
}

/// A handler that never returns, because it panics each time.
impl Outcome for <fn() -> ! as Returns>::Value {
    fn go_on() -> Self {
        unreachable!("a handler that never returns has no value to go on by")
    }

    fn into_next(self) -> Next {
        self
    }
}
