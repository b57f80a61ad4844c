//! Failures of actors, supervision trees, and dead letters.
//!
//! ```text
//!   source --new failures, changed trees--> book --the newest, a summary--> snapshot
//!                                             \---all of them--> /failures.json, /tree.json
//! ```

mod report;

mod reading;

mod book;

pub(crate) use book::SharedBook;
pub use reading::{FailureReading, LetterReading, TreeReading};
pub use report::{
    ChildStatus, DeadLetters, Effect, FailureReport, LastFailure, RecentFailure, RestartedChild,
    Supervision, SupervisorStatus, TreeReport,
};
