//! The suites of `garrick suite`, one file for each.

mod savina;

use crate::suite::Suite;

/// All of them, in the order in which they are shown.
pub(crate) static SUITES: &[Suite] = &[savina::SAVINA];
