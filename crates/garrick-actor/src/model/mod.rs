//! The actor model: actors, contexts, and actors written as closures.

pub(crate) mod context;

pub(crate) mod next;
pub(crate) mod outcome;

pub(crate) mod actor;
pub(crate) mod letters;
pub(crate) mod link;
#[cfg(test)]
pub(crate) mod nobody;

pub(crate) mod behavior;
pub(crate) mod cyclic;
