//! Trails: values that travel with the messages of a turn, such as a trace context.
//!
//! The trail of a turn is sent in a note in front of each message of the turn. The receiver takes
//! the note and the message together, and handles the message in a turn with the same trail. So the
//! trail also travels with the messages of that turn.
//!
//! The messages of a turn with a trail go through the inboxes of their receivers, like messages
//! from other threads. A turn without a trail has no extra cost.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A value that travels with messages, such as a trace context. The destructor of the value must
/// not call foreign code.
#[derive(Clone)]
pub struct Trail(Arc<dyn Any + Send + Sync>);

impl Trail {
    /// Creates a trail, which carries `value` along with messages.
    pub fn new(value: impl Any + Send + Sync) -> Self {
        Self(Arc::new(value))
    }

    /// Returns the number of other copies of this trail.
    pub(crate) fn copies(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }

    /// Returns the value of this trail, if the value has the type `T`.
    #[must_use]
    pub fn value<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trail").finish_non_exhaustive()
    }
}

/// Function that returns the trail (trace context) of each message that a thread sends outside of
/// turns.
type Outside = fn() -> Option<Trail>;

static OUTSIDE: OnceLock<Outside> = OnceLock::new();

/// Sets the function that returns the trail (trace context) of each message that a thread sends
/// outside of turns. The function is called on the sending thread, once for each of these messages.
/// Only the first function that is set has an effect.
pub fn trails_from_outside(trail: Outside) {
    let _ = OUTSIDE.set(trail);
}

/// Returns true if messages that threads send outside of turns may have trails (trace contexts).
#[inline]
pub(crate) fn come_from_outside() -> bool {
    OUTSIDE.get().is_some()
}

/// Returns the trail (trace context) for a message that this thread is about to send outside of a
/// turn.
pub(crate) fn outside() -> Option<Trail> {
    OUTSIDE.get().and_then(|trail| trail())
}
