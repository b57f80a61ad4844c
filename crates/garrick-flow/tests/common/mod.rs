//! Helpers that several scenarios use.

/// Result of a scenario.
pub(crate) type Result = std::result::Result<(), Box<dyn std::error::Error>>;
