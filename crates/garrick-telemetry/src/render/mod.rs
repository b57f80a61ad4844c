//! Renderings of a snapshot as text for other programs.

pub(crate) mod dot;
pub(crate) mod prometheus;
