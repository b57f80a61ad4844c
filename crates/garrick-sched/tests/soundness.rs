//! Tests with safe code that once broke the runtime, and similar code. Each test is named after the
//! property that must hold.
#![forbid(unsafe_code)]

#[path = "soundness/again.rs"]
mod again;
#[path = "soundness/doors.rs"]
mod doors;
#[path = "soundness/ends.rs"]
mod ends;
#[path = "soundness/foreign.rs"]
mod foreign;
#[path = "soundness/references.rs"]
mod references;
#[path = "soundness/watches.rs"]
mod watches;

mod common;
