//! A log on disk for the events of many journals, one for each durable entity.
//!
//! A [`Group`] of events is appended by one write and one sync. After a crash at any moment, the
//! log has all groups that were acknowledged, and perhaps the one after them. Damage before the
//! last group is an error that names the place. The README of the crate has the format and the
//! reasons.
//!
//! The log uses [`Files`](garrick_actor::files::Files), so the same code runs on a folder and on
//! the disk of a simulation.

#![forbid(unsafe_code)]

mod error;
mod frame;
mod name;

mod group;

mod log;

pub use error::JournalError;
pub use frame::EventKind;
pub use group::{Event, Group, JournalId};
pub use log::{Compacted, Log, Opened, Options, Snapshot, Torn};
pub use name::check_name;
