//! Helpers that several scenarios use.

/// Result type of a test scenario.
pub(crate) type Result = std::result::Result<(), Box<dyn std::error::Error>>;
