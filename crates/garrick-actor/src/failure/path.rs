//! The names of actors that were given one.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Where an actor stands among those that were given a name: the path of the actor that made it, if that has one, then
/// its own name and a number that no other actor of the process has.
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

/// The path of those that no actor has made, or none with a name.
const ROOT: &str = "/user";

/// The number of the actor named last.
static LAST: Mutex<u64> = Mutex::new(0);

impl ActorPath {
    /// The path of a new actor.
    ///
    /// # Panics
    /// If the name is empty, or would be read as more than a name.
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

    /// It as text, as in `/user/bank#1/teller#7`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn next_number() -> u64 {
    // Nothing can panic half way.
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
