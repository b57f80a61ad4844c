//! Delayed messages, and messages sent because no other message came.

pub(crate) mod receive_timeout;
pub(crate) mod timer;
