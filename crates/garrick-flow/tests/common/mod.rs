//! Helpers that several scenarios use.
#![allow(dead_code, unused_imports, reason = "each scenario uses a part of it")]

#[path = "../../../garrick-sched/tests/common/panics.rs"]
mod panics;

pub(crate) use panics::{ON_PURPOSE, fail, silence_panics};

/// Result of a scenario.
pub(crate) type Result = std::result::Result<(), Box<dyn std::error::Error>>;
