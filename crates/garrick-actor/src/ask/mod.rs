//! Asks with a time limit, answers that arrive as messages, and detection of circular waits.

pub(crate) mod question;
pub(crate) mod request;
pub(crate) mod waits;
pub(crate) mod within;

pub(crate) mod gather;

pub(crate) mod pipe;

pub use garrick_sched::{Call, Circle};
pub use pipe::Pending;
pub use question::Conversion;
pub use request::Request;
pub use within::AskWithin;
