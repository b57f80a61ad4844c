//! What telemetry sees, handed on to what a program already watches itself with.

#[cfg(feature = "otel")]
pub(crate) mod otel;

#[cfg(feature = "tracing")]
pub(crate) mod trace;
