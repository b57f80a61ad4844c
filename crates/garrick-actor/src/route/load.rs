//! Measurement of the load of a routee.
//!
//! The router counts the messages that it has sent to a routee. The routee counts the messages that
//! it has handled. The difference is the number of messages in flight. The routee is the only
//! writer of its counter, so counting costs a plain store and no message. [`garrick_core::count`]
//! implements the counter.

use std::fmt;

use garrick_core::count::{Counter, CounterReader};

use crate::model::actor::Actor;
use crate::model::context::Context;

/// A wrapper around an actor, which counts the messages that the actor has handled, including
/// messages whose turns were undone.
///
/// # Examples
/// ```
/// use garrick_actor::route::{LeastLoaded, Measured, Router};
/// use garrick_actor::{Actor, Context, System};
///
/// struct Work;
///
/// impl Actor for Work {
///     type Msg = u32;
///     type Outcome = ();
///
///     fn receive(&mut self, _: u32, _: &mut Context<'_, u32>) {}
/// }
///
/// let system = System::new()?;
/// let router = Router::spawn(&system.handle(), LeastLoaded::new())?;
/// for _ in 0..4 {
///     let (work, load) = Measured::new(Work);
///     router.add_measured(&system.spawn(work)?, load)?;
/// }
/// router.send(1)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Measured<A> {
    actor: A,
    /// Counter of handled messages. The actor writes it, and each [`Load`] reads it.
    handled: Counter,
}

/// A handle that reads how many messages a [`Measured`] actor has handled.
#[derive(Clone)]
pub struct Load {
    handled: CounterReader,
}

impl<A> Measured<A> {
    /// Wraps `actor`, and returns the wrapper together with the [`Load`] that reads its counter.
    #[must_use]
    pub fn new(actor: A) -> (Self, Load) {
        let handled = Counter::new();
        let load = Load {
            handled: handled.reader(),
        };
        (Self { actor, handled }, load)
    }

    pub(super) fn into_inner(self) -> A {
        self.actor
    }
}

impl Load {
    /// Returns the number of messages that the actor has handled.
    #[must_use]
    pub fn handled(&self) -> u64 {
        self.handled.get()
    }
}

/// A guard that counts one message when it is dropped, even if the turn panics.
struct Turn<'a>(&'a mut Counter);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.add(1);
    }
}

impl<A: Actor> Actor for Measured<A> {
    type Msg = A::Msg;
    type Outcome = A::Outcome;
    const STARTS: bool = A::STARTS;
    const BLOCKS: bool = A::BLOCKS;
    const COMMITS_LATER: bool = A::COMMITS_LATER;
    const INTERNAL: bool = A::INTERNAL;
    const MESSAGES: &'static [&'static str] = A::MESSAGES;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> A::Outcome {
        self.actor.started(cx)
    }

    fn receive(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> A::Outcome {
        let _turn = Turn(&mut self.handled);
        self.actor.receive(msg, cx)
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
        self.actor.label()
    }
}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Load")
            .field("handled", &self.handled())
            .finish()
    }
}
