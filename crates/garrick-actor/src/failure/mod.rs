//! Reports of failures, and the object that receives all reports of a system (its office).

pub(crate) mod fault;
pub(crate) mod short;

pub(crate) mod path;

pub(crate) mod log;

#[cfg(feature = "tracing")]
mod events;

pub(crate) mod office;

pub use log::{Consequence, Failure, FailureRecord};
