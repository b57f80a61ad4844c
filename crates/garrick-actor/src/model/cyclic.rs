//! Actors that need their own address when they are created.

use std::fmt;
use std::mem;

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::model::outcome::Outcome;

/// An actor that is created in its first turn. Returned by [`cyclic`].
pub struct Cyclic<A, F> {
    state: State<A, F>,
}

enum State<A, F> {
    Planned(F),
    Created(A),
    /// The function that creates the actor has panicked.
    Over,
}

/// Returns an actor that `function` creates in the actor's first turn. So the function can use the
/// actor's own [`Context`].
///
/// Use `cyclic` to create two actors that know each other's addresses.
///
/// # Examples
/// ```
/// use garrick_actor::{Actor, Address, Context, Local, cyclic};
///
/// struct Ping(Address<u32>);
/// struct Pong(Address<u32>);
///
/// impl Actor for Ping {
///     type Msg = u32;
///     type Outcome = ();
///
///     fn receive(&mut self, n: u32, cx: &mut Context<'_, u32>) {
///         let _ = cx.send(&self.0, n);
///     }
/// }
///
/// impl Actor for Pong {
///     type Msg = u32;
///     type Outcome = ();
///
///     fn receive(&mut self, n: u32, cx: &mut Context<'_, u32>) {
///         if n > 0 {
///             let _ = cx.send(&self.0, n - 1);
///         }
///     }
/// }
///
/// let local = Local::new()?;
/// let pong = local.spawn(cyclic(|cx: &Context<'_, u32>| {
///     Pong(cx.spawn(Ping(cx.address())))
/// }));
/// pong.send(10)?;
/// local.run();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cyclic<A, F>(function: F) -> Cyclic<A, F>
where
    A: Actor,
    F: FnOnce(&Context<'_, A::Msg>) -> A + 'static,
{
    Cyclic {
        state: State::Planned(function),
    }
}

impl<A, F> Actor for Cyclic<A, F>
where
    A: Actor,
    F: FnOnce(&Context<'_, A::Msg>) -> A + 'static,
{
    type Msg = A::Msg;
    type Outcome = Next;
    const BLOCKS: bool = A::BLOCKS;
    const COMMITS_LATER: bool = A::COMMITS_LATER;
    const INTERNAL: bool = A::INTERNAL;
    const MESSAGES: &'static [&'static str] = A::MESSAGES;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> Next {
        if let State::Planned(function) = mem::replace(&mut self.state, State::Over) {
            self.state = State::Created(function(cx));
        }
        match &mut self.state {
            State::Created(actor) if A::STARTS => actor.started(cx).into_next(),
            _ => Next::Continue,
        }
    }

    fn receive(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> Next {
        match &mut self.state {
            State::Created(actor) => actor.receive(msg, cx).into_next(),
            // Messages are handled after the start, and an actor that panics at its start is
            // dropped.
            State::Planned(_) | State::Over => Next::Stop,
        }
    }

    fn is_letter(msg: &A::Msg) -> bool {
        A::is_letter(msg)
    }

    fn message_kind(msg: &A::Msg) -> usize {
        A::message_kind(msg)
    }

    fn name() -> &'static str {
        A::name()
    }

    fn label(&self) -> Option<String> {
        match &self.state {
            State::Created(actor) => actor.label(),
            State::Planned(_) | State::Over => None,
        }
    }
}

impl<A, F> fmt::Debug for Cyclic<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cyclic").finish_non_exhaustive()
    }
}
