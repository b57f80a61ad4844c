//! Requests of turns to decide about their commit later.

use crate::runtime::pending::Pending;

/// Function that gets the right to decide about its turn.
pub(super) type Request = Box<dyn FnOnce(Pending)>;

/// Request of a turn for a later decision about its commit.
#[derive(Default)]
pub(super) enum Asked {
    /// The turn must not ask for a later decision.
    #[default]
    Never,
    /// The turn may ask.
    NotYet,
    /// The turn has asked.
    By(Request),
}
