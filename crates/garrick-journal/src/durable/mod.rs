//! Durable actors: their turns commit when their events are durable. `src/README.md`
//! explains the steps of a turn.

mod stored;
mod waits;

mod letters;

mod duties;
mod queue;

mod sample;

mod shared;

#[cfg(feature = "serde")]
pub mod derived;

mod journal;

mod monitor;

#[cfg(feature = "telemetry")]
mod telemetry;

mod actor;

mod source;

mod entity;

mod keeper;
mod own_state;

pub use actor::{Decide, DurableActor};
pub use duties::Due;
pub use entity::Entity;
pub use journal::Journal;
pub use keeper::{Durable, Keeper};
pub use letters::Letter;
pub use monitor::{JournalState, Monitor};
pub use sample::JournalSample;
pub use stored::{BoxError, Stored};
