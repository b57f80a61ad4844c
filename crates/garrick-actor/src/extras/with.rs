//! The wrapper of an actor that was spawned with options.

use std::cell::Cell;
use std::mem;

use crate::beside::pipes::Pipes;
use crate::beside::{Beside, More};
use crate::extras::named::Witness;
use crate::extras::receive_timeout::{Silence, Timeout};
use crate::failure::path::ActorPath;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::model::outcome::Outcome;

/// The options of an actor that is about to be spawned, or of all actors that a supervisor creates
/// with one factory.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct Options<M: 'static> {
    /// Name of the actor. `None` if there is no name, or once the name is part of `path`.
    pub(crate) name: Option<String>,
    pub(crate) path: Option<ActorPath>,
    /// Maximum number of stashed messages. `None` if the option is not set.
    pub(crate) stash: Option<usize>,
    pub(crate) receive_timeout: Option<Timeout<M>>,
    /// Maximum number of futures of the actor that are polled concurrently. `None` if the option is
    /// not set.
    pub(crate) pipe_limit: Option<usize>,
}

impl<M: 'static> Default for Options<M> {
    fn default() -> Self {
        Self {
            name: None,
            path: None,
            stash: None,
            receive_timeout: None,
            pipe_limit: None,
        }
    }
}

impl<M: 'static> Options<M> {
    /// Creates the state that one actor needs for these options, such as its stash.
    fn beside(&self) -> Beside {
        let has_more =
            self.stash.is_some() || self.receive_timeout.is_some() || self.pipe_limit.is_some();
        Beside {
            path: self.path.clone(),
            more: has_more.then(|| {
                Box::new(More {
                    stash: self.stash,
                    patience: self.receive_timeout.as_ref().map(|_| Cell::new(None)),
                    pipes: self.pipe_limit.map(Pipes::limited),
                })
            }),
        }
    }
}

/// A wrapper around an actor that was spawned with options. If `TIMED` is true, the actor may have
/// a receive timeout. In this case, the actor has a first turn even without a message. This turn
/// starts the timeout.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct With<A: Actor, const TIMED: bool> {
    actor: A,
    beside: Beside,
    silence: Option<Box<Silence<A::Msg>>>,
}

impl<A: Actor, const TIMED: bool> With<A, TIMED> {
    pub(crate) fn new(actor: A, options: &Options<A::Msg>) -> Self {
        Self {
            actor,
            beside: options.beside(),
            silence: options.receive_timeout.clone().map(Silence::new),
        }
    }

    /// Returns the actor inside of the wrapper, and drops the state of its options.
    pub(crate) fn into_actor(self) -> A {
        self.actor
    }

    #[inline(always)]
    fn turn(
        &mut self,
        cx: &mut Context<'_, A::Msg>,
        turn: impl FnOnce(&mut A, &mut Context<'_, A::Msg>) -> A::Outcome,
    ) -> Next {
        let beside = &self.beside;
        #[cfg(feature = "tracing")]
        let _span = beside.path.as_ref().map(crate::span::named);
        let witness = Witness::new(A::name(), beside);
        if TIMED && let Some(wish) = beside.patience() {
            // Discards a change of the timeout that an earlier turn requested before it panicked. A
            // supervised actor can continue after such a turn.
            wish.set(None);
        }
        if TIMED && A::COMMITS_LATER {
            // The timeout is stopped and started once for each turn.
            cx.take_no_more();
        }
        if TIMED && let Some(silence) = &mut self.silence {
            silence.begins(cx);
        }
        let next = turn(&mut self.actor, &mut cx.with(beside)).into_next();
        if next == Next::Fail {
            drop(witness);
        } else {
            mem::forget(witness);
        }
        if TIMED {
            self.end(next, cx);
        }
        next
    }

    /// Completes a turn of an actor that may have a receive timeout. If the turn has returned
    /// `Continue`, restarts or changes the timeout.
    #[inline(never)]
    fn end(&mut self, next: Next, cx: &Context<'_, A::Msg>) {
        if let Some(silence) = &mut self.silence {
            let wish = self.beside.patience().and_then(Cell::take);
            if next == Next::Continue {
                silence.broken(wish, cx);
            }
        }
    }
}

impl<A: Actor, const TIMED: bool> Actor for With<A, TIMED> {
    type Msg = A::Msg;
    type Outcome = Next;
    const STARTS: bool = A::STARTS || TIMED;
    const BLOCKS: bool = A::BLOCKS;
    const COMMITS_LATER: bool = A::COMMITS_LATER;
    const INTERNAL: bool = A::INTERNAL;
    const MESSAGES: &'static [&'static str] = A::MESSAGES;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> Next {
        self.turn(cx, |actor, cx| {
            if A::STARTS {
                actor.started(cx)
            } else {
                Outcome::go_on()
            }
        })
    }

    #[inline]
    fn receive(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> Next {
        self.turn(cx, |actor, cx| actor.receive(msg, cx))
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
        self.beside.path.as_ref().map(ToString::to_string)
    }
}
