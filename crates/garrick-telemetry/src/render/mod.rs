//! Renders a snapshot as text for other programs.

mod exposition;

pub(crate) mod dot;
mod trouble;

pub(crate) mod prometheus;
