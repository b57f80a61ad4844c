//! Warnings for the person who runs the program.

/// Logs a warning: as an event of `tracing` if the feature `tracing` is on, and otherwise on
/// standard error.
pub(crate) fn warn(text: &str) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "garrick::telemetry", "{text}");
    #[cfg(not(feature = "tracing"))]
    eprintln!("warning: {text}");
}
