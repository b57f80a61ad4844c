//! Handlers that return an error.

use crate::failure::fault::set_why;
use crate::model::actor::{Actor, Next};
use crate::model::context::Context;

impl<M: 'static> Context<'_, M> {
    /// Says why the turn fails; its value is what the handler must return. The turn is undone, and the actor's
    /// supervisor decides what becomes of it; an actor that nobody supervises stops, as after a panic.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Local, Next};
    ///
    /// let local = Local::new()?;
    /// let parse = local.spawn_behavior(|text: &str, cx| match text.parse::<u32>() {
    ///     Ok(_) => Next::Continue,
    ///     Err(error) => cx.fail(error),
    /// });
    /// parse.send("12")?;
    /// parse.send("twelve")?;
    /// local.run();
    /// assert!(parse.is_stopped());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "the handler must return it"]
    pub fn fail(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Next {
        set_why(error.into());
        Next::Fail
    }
}

/// An [`Actor`] whose handlers return a `Result`, so that `?` can be used in them. An error is
/// [`Context::fail`]. [`Fallible`] makes an actor of it.
///
/// # Examples
/// ```
/// use std::num::ParseIntError;
/// use garrick_actor::{Context, Fallible, Local, Next, TryActor};
///
/// struct Sum(u32);
///
/// impl TryActor for Sum {
///     type Msg = &'static str;
///     type Error = ParseIntError;
///
///     fn try_receive(&mut self, text: &'static str, _: &mut Context<'_, Self::Msg>) -> Result<Next, ParseIntError> {
///         self.0 += text.parse::<u32>()?;
///         Ok(Next::Continue)
///     }
/// }
///
/// let local = Local::new()?;
/// let sum = local.spawn(Fallible(Sum(0)));
/// sum.send("12")?;
/// sum.send("twelve")?;
/// local.run();
/// assert!(sum.is_stopped());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait TryActor: Sized + 'static {
    /// What it receives.
    type Msg: 'static;

    /// What its handlers fail with.
    type Error: Into<Box<dyn std::error::Error + Send + Sync>>;

    /// As [`Actor::STARTS`], for [`TryActor::try_started`].
    const STARTS: bool = false;

    /// As [`Actor::BLOCKS`].
    const BLOCKS: bool = false;

    /// As [`Actor::started`].
    ///
    /// # Errors
    /// Whatever it cannot start for.
    fn try_started(&mut self, cx: &mut Context<'_, Self::Msg>) -> Result<Next, Self::Error> {
        let _ = cx;
        Ok(Next::Continue)
    }

    /// Handles one message.
    ///
    /// # Errors
    /// Whatever it cannot go on for.
    fn try_receive(
        &mut self,
        msg: Self::Msg,
        cx: &mut Context<'_, Self::Msg>,
    ) -> Result<Next, Self::Error>;
}

/// The actor made of a [`TryActor`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Fallible<A>(pub A);

impl<A: TryActor> Actor for Fallible<A> {
    type Msg = A::Msg;
    const STARTS: bool = A::STARTS;
    const BLOCKS: bool = A::BLOCKS;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> Next {
        self.0
            .try_started(cx)
            .unwrap_or_else(|error| cx.fail(error))
    }

    fn receive(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> Next {
        self.0
            .try_receive(msg, cx)
            .unwrap_or_else(|error| cx.fail(error))
    }

    fn name() -> &'static str {
        std::any::type_name::<A>()
    }
}
