//! Export of snapshots to the monitoring libraries that a program already uses.

#[cfg(feature = "otel")]
pub(crate) mod otel;

#[cfg(feature = "tracing")]
pub(crate) mod trace;
