//! Questions with a time limit, answers that come as messages, and who waits for whom.

pub(crate) mod request;
pub(crate) mod waits;
pub(crate) mod within;

pub(crate) mod pipe;
