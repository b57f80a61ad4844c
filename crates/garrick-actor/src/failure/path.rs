//! The paths of actors.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use garrick_sched::TaskId;

use super::short::bare_type_name;

/// The path of an actor, such as `/user/bank#1/teller#7`. No two living actors have the same path.
///
/// The path of an actor with a name has three parts: the path of the actor's parent, the name, and
/// a number that is unique in the process. The parent is the supervisor of the actor. For an actor
/// without a supervisor, the parent is the actor that spawned it, if that actor has a name. Without
/// a parent, the path begins with `/user`. The path of an actor without a name consists of `/user`,
/// the actor's type and its id, as in `/user/Teller@7f3a51c0`.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, Next, behavior};
///
/// let local = Local::new()?;
/// let bank = local
///     .actor(behavior(|(): (), cx| {
///         let bank = cx.path().to_string();
///         assert!(bank.starts_with("/user/bank#"));
///         let teller = cx
///             .actor(behavior(move |(): (), cx| {
///                 let teller = cx.path();
///                 assert!(teller.as_str().starts_with(&format!("{bank}/teller#")));
///             }))
///             .named("teller")
///             .spawn();
///         let _ = cx.send(&teller, ());
///         Next::Continue
///     }))
///     .named("bank")
///     .spawn();
/// bank.send(())?;
/// local.run();
/// assert_eq!(local.handle().failures(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActorPath {
    text: Arc<str>,
}

/// The parent path for an actor that was spawned by no actor or by an actor without a name.
const ROOT: &str = "/user";

/// Sequence number of the named actor whose path was created last. The path contains this number.
/// The next path gets the next number.
static LAST: Mutex<u64> = Mutex::new(0);

impl ActorPath {
    /// Creates the path of a new actor.
    ///
    /// # Panics
    /// Panics if the name is empty, or contains `/`, `#` or a control character.
    #[track_caller]
    pub(crate) fn new(parent: Option<&Self>, name: &str) -> Self {
        Self::check(name);
        let parent = parent.map_or(ROOT, Self::as_str);
        let number = next_number().to_string();
        Self {
            // Takes half of the time of `format!`.
            text: [parent, "/", name, "#", &number].concat().into(),
        }
    }

    /// Checks a name.
    ///
    /// # Panics
    /// Panics if the name is empty, or contains `/`, `#` or a control character.
    #[track_caller]
    pub(crate) fn check(name: &str) {
        assert!(
            !name.is_empty() && !name.contains(['/', '#']) && !name.contains(char::is_control),
            "the actor name {name:?} is not valid: a name must not be empty, and must not contain `/`, `#` or a control character"
        );
    }

    /// Creates the path of an actor without a name.
    pub(crate) fn of_unnamed(type_name: &str, id: TaskId) -> Self {
        Self {
            text: format!("{ROOT}/{}@{id}", bare_type_name(type_name)).into(),
        }
    }

    /// Creates a path from its text.
    pub(crate) fn of_text(text: &str) -> Self {
        Self { text: text.into() }
    }

    /// Returns the name in the path. Returns `None` if the actor has no name.
    pub(crate) fn name(&self) -> Option<&str> {
        let last = self.text.rsplit('/').next()?;
        last.rsplit_once('#').map(|(name, _)| name)
    }

    /// Returns the path as text, for example `/user/bank#1/teller#7`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn next_number() -> u64 {
    #[cfg(feature = "sim")]
    if let Some(number) = simulated::next_number() {
        return number;
    }
    // No code under this lock can panic.
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    *last += 1;
    *last
}

/// Numbers for the paths of named actors in a simulation. An actor gets the same number in every
/// run.
#[cfg(feature = "sim")]
pub(crate) mod simulated {
    use std::cell::Cell;

    thread_local! {
        /// Sequence number of the named actor whose path was created last in the simulation that
        /// this thread runs. `None` outside of a simulation.
        static LAST: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Begins or ends a simulation on this thread.
    pub(crate) fn set_running(is_running: bool) {
        LAST.set(is_running.then_some(0));
    }

    pub(super) fn next_number() -> Option<u64> {
        let next = LAST.get()? + 1;
        LAST.set(Some(next));
        Some(next)
    }
}

impl fmt::Display for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
