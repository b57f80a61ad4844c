//! The values that a handler can return.

use crate::failure::fault::{BoxError, set_why};
use crate::model::context::Context;
use crate::model::next::Next;

/// A value that a handler can return to choose the next step of its actor.
///
/// | a handler returns | the turn | the actor |
/// | --- | --- | --- |
/// | `()` | commits | continues |
/// | [`Next`] | as documented for [`Next`] | as documented for [`Next`] |
/// | `Ok(value)` | as for `value` | as for `value` |
/// | `Err(..)` | is undone | fails, as with [`Context::fail`](crate::Context::fail) |
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
    /// Returns the value that makes an actor continue.
    fn go_on() -> Self;

    /// Converts this value into the actor's next step. If this value is an error, the error is
    /// stored in a thread-local variable until the current turn is over.
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
    /// Fails the actor with the reason `error`. The handler must return the result of this method.
    ///
    /// The turn is then undone, and the actor's supervisor decides what happens to the actor.
    /// Without a supervisor, the actor stops, as after a panic.
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
    #[must_use = "the actor fails only if the handler returns this value"]
    pub fn fail(&self, error: impl Into<BoxError>) -> Next {
        failed(error.into())
    }
}

#[cold]
fn failed(error: BoxError) -> Next {
    set_why(error);
    Next::Fail
}

/// A trait that makes it possible to name the return type of a function. The trait is used to name
/// the type `!`, which is unstable outside of return types.
#[doc(hidden)]
pub trait Returns {
    /// The type that the function returns.
    type Value;
}

impl<R> Returns for fn() -> R {
    type Value = R;
}

/// The outcome of a handler that never returns because it always panics.
impl Outcome for <fn() -> ! as Returns>::Value {
    fn go_on() -> Self {
        unreachable!("a handler that never returns has no return value")
    }

    fn into_next(self) -> Next {
        self
    }
}
