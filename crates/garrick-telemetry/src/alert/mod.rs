//! Thresholds on what is seen, and what happens when a value crosses one.
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
//! A value has to stay beyond a threshold for a while before that counts, and to come back a little further than
//! it went before it no longer does. So a value that trembles about a threshold makes one event and not
//! a hundred.

mod glob;
mod probe;
mod rules;
mod threshold;

use serde::{Deserialize, Serialize};

pub use probe::Probe;
pub(crate) use rules::Rules;
pub(crate) use threshold::LONG_TURN_SECONDS;
pub use threshold::{Of, Threshold};

use crate::snapshot::{Alert, Level};

/// A value went beyond a threshold, further beyond, or came back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Transition {
    /// How bad it was before.
    pub was: Level,
    /// What it is now; its level is [`Level::Ok`] once it has come back.
    #[serde(flatten)]
    pub alert: Alert,
}
