//! Reports of failures, and the office of a system, which receives them.

pub(crate) mod fault;
pub(crate) mod short;

pub(crate) mod path;

pub(crate) mod log;

#[cfg(feature = "tracing")]
mod events;

pub(crate) mod office;

pub use log::{Consequence, Failure, FailureRecord};
