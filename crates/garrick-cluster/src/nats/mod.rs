//! A transport on [NATS](https://nats.io): nodes that meet on one server, or on a cluster of
//! servers.
//!
//! A server with JetStream, of version 2.12 or later, is all that is needed:
//! ```sh
//! nats-server --jetstream --addr 127.0.0.1
//! ```
//! A message of NATS carries a frame, so its `max_payload` bounds what one turn may send to another
//! node. With the default of 1 MiB, that is 480 KiB and a message of at most 480 KiB. With 8 MiB,
//! the bounds are those of the crate.

mod error;
mod names;
mod servers;

mod counts;
mod home;
mod lives;
mod outbox;

mod builder;
mod lease;

mod connection;

mod bucket;
mod echo;
mod publish;

mod member;

mod net;
mod placement;

mod observer;

#[cfg(feature = "nats-journal")]
mod log;

pub use builder::NatsBuilder;
pub use counts::{NameState, NatsSample};
pub use error::NatsError;
#[cfg(feature = "nats-journal")]
pub use log::{NatsLog, NatsLogOptions};
pub use names::permissions;
pub use net::NatsNet;
pub use observer::NatsObserver;
pub use placement::NatsPlacement;
