//! Types for the options of an actor that is about to be spawned. An actor without options is not
//! wrapped.

use crate::extras::with::{Options, With};
use crate::failure::path::ActorPath;
use crate::model::actor::Actor;

/// An empty set of options. A [`Spawn`](super::Spawn) builder starts with it.
#[derive(Debug)]
pub struct Plain;

/// A set of options for an actor with messages of type `M`. `TIMED` is true if the set includes a
/// receive timeout.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct Set<M: 'static, const TIMED: bool>(pub(crate) Options<M>);

/// The default mailbox, which is unbounded and delivers messages in the order of arrival.
#[derive(Debug)]
pub struct Own;

/// A set of options to which an option can be added.
#[doc(hidden)]
pub trait More<M: 'static> {
    /// The type of the options after an option has been added.
    type More: More<M>;

    /// Adds an option. `set` stores it in the options.
    fn set(self, set: impl FnOnce(&mut Options<M>)) -> Self::More;

    /// Adds a receive timeout. `set` stores it in the options.
    fn set_timed(self, set: impl FnOnce(&mut Options<M>)) -> Set<M, true>;
}

impl<M: 'static> More<M> for Plain {
    type More = Set<M, false>;

    fn set(self, set: impl FnOnce(&mut Options<M>)) -> Set<M, false> {
        Set::<M, false>(Options::default()).set(set)
    }

    fn set_timed(self, set: impl FnOnce(&mut Options<M>)) -> Set<M, true> {
        Set::<M, false>(Options::default()).set_timed(set)
    }
}

impl<M: 'static, const TIMED: bool> More<M> for Set<M, TIMED> {
    type More = Self;

    fn set(mut self, set: impl FnOnce(&mut Options<M>)) -> Self {
        set(&mut self.0);
        self
    }

    fn set_timed(mut self, set: impl FnOnce(&mut Options<M>)) -> Set<M, true> {
        set(&mut self.0);
        Set(self.0)
    }
}

/// A set of options that is implemented by wrapping the actor in another actor.
#[doc(hidden)]
pub trait Wrap<A: Actor>: Sized {
    /// The type of the actor that [`Wrap::wrap`] returns.
    type Wrapped: Actor<Msg = A::Msg>;

    /// Wraps `actor` in the actor that implements these options.
    fn wrap(&self, actor: A) -> Self::Wrapped;

    /// Returns the actor that `wrapped` contains.
    fn unwrap(wrapped: Self::Wrapped) -> A;
}

impl<A: Actor> Wrap<A> for Plain {
    type Wrapped = A;

    #[inline]
    fn wrap(&self, actor: A) -> A {
        actor
    }

    #[inline]
    fn unwrap(wrapped: A) -> A {
        wrapped
    }
}

impl<A: Actor, const TIMED: bool> Wrap<A> for Set<A::Msg, TIMED> {
    type Wrapped = With<A, TIMED>;

    fn wrap(&self, actor: A) -> With<A, TIMED> {
        With::new(actor, &self.0)
    }

    fn unwrap(wrapped: With<A, TIMED>) -> A {
        wrapped.into_actor()
    }
}

/// A set of options that may include the actor's name. When the actor is spawned,
/// [`Settle::settle`] creates the actor's path from the name.
#[doc(hidden)]
pub trait Settle {
    /// Creates the actor's path from its name, below the path of `parent` if there is one. Returns
    /// the name, or `None` if the actor has no name.
    fn settle(&mut self, parent: Option<&ActorPath>) -> Option<String>;

    /// Returns the path that [`Settle::settle`] has created, if any.
    fn path(&self) -> Option<&ActorPath>;

    /// Returns the path that [`Settle::settle`] has created, if any.
    fn into_path(self) -> Option<ActorPath>;
}

impl Settle for Plain {
    #[inline]
    fn settle(&mut self, _: Option<&ActorPath>) -> Option<String> {
        None
    }

    fn path(&self) -> Option<&ActorPath> {
        None
    }

    fn into_path(self) -> Option<ActorPath> {
        None
    }
}

impl<M: 'static, const TIMED: bool> Settle for Set<M, TIMED> {
    fn settle(&mut self, parent: Option<&ActorPath>) -> Option<String> {
        let name = self.0.name.take()?;
        self.0.path = Some(ActorPath::new(parent, &name));
        Some(name)
    }

    fn path(&self) -> Option<&ActorPath> {
        self.0.path.as_ref()
    }

    fn into_path(self) -> Option<ActorPath> {
        self.0.path
    }
}
