//! What several scenarios use.

/// How a scenario ends.
pub(crate) type Result = std::result::Result<(), Box<dyn std::error::Error>>;
