//! Alerts for values of a snapshot that are beyond a threshold.
//!
//! ```text
//!   value  ^                  critical  . . . . . . ./-\. . . . . . . .
//!          |                  falls back below . . ./. .\. . . . . . .    (5 % before the threshold)
//!          |   warning  . . . . ./-------------./       \. . . . . . .
//!          |   falls back below / . . . . . . . . . . . .\___. . . . .
//!          |                  |<-- at least -->|             \
//!          +---------------------------------------------------------> time
//!   level       ok            (waits)         warning critical warning ok
//! ```
//!
//! A value must stay beyond a threshold for a while before it raises an alert. The alert ends only
//! when the value is back on the good side of the threshold, at some distance from it. So a value
//! that oscillates around a threshold causes one event instead of many.

mod glob;
mod probe;
mod text;
mod threshold;

mod rules;

use serde::{Deserialize, Serialize};

pub use probe::{Of, Probe};
pub(crate) use rules::Rules;
pub(crate) use threshold::LONG_TURN_SECONDS;
pub use threshold::Threshold;

use crate::snapshot::{Alert, Level};

/// A change of an alert's level, for example from [`Level::Ok`] to [`Level::Warning`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Transition {
    /// Level of the alert before the change.
    pub was: Level,
    /// The alert after the change. If the alert has ended, its level is [`Level::Ok`].
    #[serde(flatten)]
    pub alert: Alert,
}
