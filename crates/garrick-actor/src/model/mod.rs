//! The actor model: an actor, its context, and closures as actors.

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
