//! Durable actors: their turns commit when their events are durable. The README of the crate
//! explains the steps of a turn.

mod stored;
mod waits;

mod queue;

mod sample;

mod shared;

mod journal;

mod monitor;

#[cfg(feature = "telemetry")]
mod telemetry;

mod actor;

mod entity;

pub use actor::{Decide, DurableActor};
pub use entity::Entity;
pub use journal::Journal;
pub use monitor::{JournalState, Monitor};
pub use sample::JournalSample;
pub use stored::{BoxError, Stored};
