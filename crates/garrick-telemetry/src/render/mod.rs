//! A snapshot as text for other programs.

pub(crate) mod dot;
pub(crate) mod prometheus;
