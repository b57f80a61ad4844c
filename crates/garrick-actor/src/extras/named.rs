//! Named actors, whose path appears in every report about them.
//!
//! A wrapper around the actor keeps the path, so only named actors pay for it. When a turn panics,
//! the wrapper leaves the path in a thread-local variable during unwinding, for the report that
//! follows.

use std::cell::RefCell;
use std::mem;

use garrick_sched::Address;

use crate::beside::Beside;
use crate::failure::path::ActorPath;
use crate::model::actor::Actor;
use crate::model::context::Context;
#[cfg(feature = "tracing")]
use crate::span;

thread_local! {
    /// Type name and path of the actor whose turn has just panicked on this thread.
    static FAILED: RefCell<Option<(&'static str, ActorPath)>> = const { RefCell::new(None) };
}

/// Returns the path of an actor of that type whose turn has just panicked on this thread, if it has
/// a path.
pub(crate) fn take_failed(task: &str) -> Option<ActorPath> {
    let failed = FAILED.take();
    // A path left behind by a destructor belongs to another actor.
    failed.and_then(|(name, path)| (name == task).then_some(path))
}

/// Leaves the path behind when it is dropped by a panic of the turn. A turn that ends normally
/// forgets it.
struct Witness<'a> {
    name: &'static str,
    path: &'a ActorPath,
}

impl Drop for Witness<'_> {
    #[cold]
    fn drop(&mut self) {
        FAILED.set(Some((self.name, self.path.clone())));
    }
}

/// An actor with a name.
pub(crate) struct Named<A> {
    pub(crate) actor: A,
    path: ActorPath,
}

impl<A: Actor> Named<A> {
    #[inline(always)]
    fn turn(
        &mut self,
        cx: &mut Context<'_, A::Msg>,
        turn: impl FnOnce(&mut A, &mut Context<'_, A::Msg>) -> A::Outcome,
    ) -> A::Outcome {
        let path = &self.path;
        #[cfg(feature = "tracing")]
        let _span = span::named(path);
        let name = A::name();
        let witness = Witness { name, path };
        let beside = Beside {
            path: Some(path),
            ..cx.beside()
        };
        let next = turn(&mut self.actor, &mut cx.with(&beside));
        mem::forget(witness);
        next
    }
}

impl<A: Actor> Actor for Named<A> {
    type Msg = A::Msg;
    type Outcome = A::Outcome;
    const STARTS: bool = A::STARTS;
    const BLOCKS: bool = A::BLOCKS;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> A::Outcome {
        self.turn(cx, A::started)
    }

    #[inline]
    fn receive(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> A::Outcome {
        self.turn(cx, |actor, cx| actor.receive(msg, cx))
    }

    fn name() -> &'static str {
        A::name()
    }
}

/// Names an actor that no actor spawns.
#[track_caller]
pub(crate) fn named<A: Actor>(name: &str, actor: A) -> Named<A> {
    let path = ActorPath::new(None, name);
    Named { actor, path }
}

impl<M: 'static> Context<'_, M> {
    /// Spawns a named actor on this worker, like [`Context::spawn`]. Its path begins with this
    /// actor's path, if this actor has one.
    ///
    /// # Panics
    /// Panics if the name is empty, or contains `/`, `#` or a control character.
    ///
    /// # Examples
    /// See [`ActorPath`].
    #[track_caller]
    pub fn spawn_named<A>(&self, name: &str, actor: A) -> Address<A::Msg>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        let path = ActorPath::new(self.path(), name);
        self.spawn(Named { actor, path })
    }

    /// Returns the path of this actor, if it was given a name.
    #[must_use]
    pub fn path(&self) -> Option<&ActorPath> {
        self.beside().path
    }
}
