//! Durable actors: actors whose state survives the end of the process.
//!
//! A turn of a [`DurableActor`] commits when its events are durable. So no effect of a turn is
//! visible while the turn could still be lost. All turns that end while the disk is busy share the
//! next sync. A [`Journal`] contains the events of all durable actors of a program.
//!
//! The files of a journal are a [`SegmentLog`], which can also be used alone. A [`Group`] of events
//! is appended by one write and one sync. After a crash at any moment, the log contains all
//! acknowledged groups, and perhaps the group that was being written. Damage before the last group
//! is an error that names the position.
//!
//! With the feature `sqlite`, `Journal::open_sqlite` stores the events in a database that people
//! can query. To use any other store, implement [`Log`].
//!
//! `src/README.md` describes the steps of a turn and the format of the files, and gives the
//! reasons for the design. The log uses [`Files`](garrick_actor::files::Files), so the same code
//! runs on a folder and on the disk of a simulation.

#![forbid(unsafe_code)]

mod error;
mod event;
mod frame;
mod name;
mod notices;

mod group;

mod log;

mod memory;
mod segments;

mod durable;

#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "conformance")]
pub mod conformance;

#[cfg(feature = "serde")]
#[doc(hidden)]
pub use durable::derived;
pub use durable::{
    BoxError, Decide, Due, Durable, DurableActor, DutyList, Entity, Journal, JournalSample,
    JournalState, Keeper, Letter, Monitor, Stored,
};
#[doc(hidden)]
pub use durable::{DutyListMsg, DutyNames, DutyWaiters, ListChange, Listing};
pub use error::JournalError;
pub use event::{Event, EventKind};
#[cfg(feature = "serde")]
pub use garrick_macros::Stored;
pub use group::{Group, JournalId};
pub use log::{Log, LogSample, READ_BYTES, Refused, Snapshot, Start};
pub use memory::MemoryLog;
pub use name::check_name;
pub use notices::Notices;
pub use segments::{Compacted, Opened, Options, Progress, SegmentLog, Torn};
#[cfg(feature = "sqlite")]
pub use sqlite::{Listed, SqliteLog};
