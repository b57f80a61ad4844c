//! Entities: actors that have a key, and run on one node at a time. `src/README.md`
//! describes the protocol.

mod kind;

mod leased;

mod host;

#[cfg(feature = "journal")]
mod durable;

mod message;

mod gate;
mod shard;

mod region;

mod handle;

pub(crate) use handle::NotKept;
pub use handle::{Entities, EntitiesSample};
pub use host::KindOptions;
pub use kind::{ENTITY_KEY_BYTES_MAX, EntityError, Kind};
