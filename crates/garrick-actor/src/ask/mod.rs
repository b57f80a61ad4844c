//! Asks with a time limit, answers that arrive as messages, and detection of circular waits.

pub(crate) mod request;
pub(crate) mod waits;
pub(crate) mod within;

pub(crate) mod pipe;
