//! The paths of named actors.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The place of an actor among the named actors. It consists of the path of its parent, if the
/// parent has a name, its own name, and a number that no other actor of the process has.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, Next, behavior};
///
/// let local = Local::new()?;
/// let bank = local.spawn_named("bank", behavior(|(): (), cx| {
///     let bank = cx.path().expect("it has a name").to_string();
///     assert!(bank.starts_with("/user/bank#"));
///     let teller = cx.spawn_named("teller", behavior(move |(): (), cx| {
///         let teller = cx.path().expect("it has a name").as_str();
///         assert!(teller.starts_with(&bank) && teller.contains("/teller#"));
///     }));
///     let _ = cx.send(&teller, ());
///     Next::Continue
/// }));
/// bank.send(())?;
/// local.run();
/// assert_eq!(local.handle().failures(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActorPath {
    text: Arc<str>,
}

/// Path of the parent if no actor spawned this one, or if the parent has no name.
const ROOT: &str = "/user";

/// Number of the actor named last.
static LAST: Mutex<u64> = Mutex::new(0);

impl ActorPath {
    /// Creates the path of a new actor.
    ///
    /// # Panics
    /// Panics if the name is empty, or contains `/`, `#` or a control character.
    #[track_caller]
    pub(crate) fn new(parent: Option<&Self>, name: &str) -> Self {
        assert!(
            !name.is_empty() && !name.contains(['/', '#']) && !name.contains(char::is_control),
            "an actor's name must have a character, and neither `/`, `#` nor control characters, unlike {name:?}"
        );
        let parent = parent.map_or(ROOT, Self::as_str);
        let number = next_number();
        Self {
            text: format!("{parent}/{name}#{number}").into(),
        }
    }

    /// Returns the path as text, for example `/user/bank#1/teller#7`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn next_number() -> u64 {
    // Nothing can panic halfway.
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    *last += 1;
    *last
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
