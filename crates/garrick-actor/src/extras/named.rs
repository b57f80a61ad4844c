//! Named actors. The path of a named actor appears in every report about it.
//!
//! The path is stored in the wrapper of an actor with options, so paths cost nothing for actors
//! without options. When a turn panics or fails, the wrapper stores the path in a thread-local
//! variable. The code that reports the failure then reads the path from this variable.

use std::cell::RefCell;

use crate::beside::Beside;
use crate::failure::path::ActorPath;
use crate::model::context::Context;

thread_local! {
    /// Type name and path of the actor whose turn has just panicked or failed on this thread.
    static FAILED: RefCell<Option<(&'static str, ActorPath)>> = const { RefCell::new(None) };
}

/// Takes the path of the actor whose turn has just panicked or failed on this thread. Returns
/// `None` if the actor has no path, or if its type is not `task`.
pub(crate) fn take_failed(task: &str) -> Option<ActorPath> {
    let failed = FAILED.take();
    // A path left behind by a destructor belongs to another actor.
    failed.and_then(|(name, path)| (name == task).then_some(path))
}

/// Stores the path of an actor whose turn is failing, so that [`take_failed`] can return it.
#[cold]
pub(crate) fn leave(name: &'static str, path: Option<&ActorPath>) {
    let failed = path.map(|path| (name, path.clone()));
    // If the thread-local variable was already destroyed, the path is not stored.
    let _ = FAILED.try_with(|last| last.replace(failed));
}

/// A guard for one turn. Dropping the guard stores the path of the actor for [`take_failed`]. The
/// guard is dropped only if the turn fails. After any other turn, `mem::forget` is called with the
/// guard.
pub(crate) struct Witness<'a> {
    name: &'static str,
    path: Option<&'a ActorPath>,
}

impl<'a> Witness<'a> {
    #[inline(always)]
    pub(crate) fn new(name: &'static str, beside: &'a Beside) -> Self {
        let path = beside.path.as_ref();
        Self { name, path }
    }
}

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        leave(self.name, self.path);
    }
}

impl<M: 'static> Context<'_, M> {
    /// Returns the path of this actor. For an actor without a name, the path consists of the
    /// actor's type and id.
    #[must_use]
    pub fn path(&self) -> ActorPath {
        let turn = self.turn();
        self.given_path()
            .cloned()
            .unwrap_or_else(|| ActorPath::of_unnamed(turn.task_name(), self.address().id()))
    }

    /// Returns the path of this actor, if the actor has a name.
    pub(crate) fn given_path(&self) -> Option<&ActorPath> {
        self.beside()?.path.as_ref()
    }
}
