//! Durable actors: their turns commit when their events are durable. `src/README.md`
//! explains the steps of a turn.

mod stored;
mod waits;

mod letters;

mod duties;
mod listing;
mod queue;

mod sample;

mod told;

mod shared;

#[cfg(feature = "serde")]
pub mod derived;

mod journal;

mod monitor;

#[cfg(feature = "telemetry")]
mod telemetry;

mod actor;

mod source;

mod telling;

mod entity;

mod duty_list;
mod keeper;
mod own_state;

pub use actor::{Decide, DurableActor};
pub use duties::Due;
#[doc(hidden)]
pub use duty_list::{DutyNames, ListChange};
pub use entity::Entity;
pub use journal::Journal;
pub use keeper::{Durable, Keeper};
pub use letters::Letter;
pub use listing::DutyList;
#[doc(hidden)]
pub use listing::{DutyListMsg, DutyWaiters, Listing};
pub use monitor::{JournalState, Monitor};
pub use sample::JournalSample;
pub use stored::{BoxError, Stored};
