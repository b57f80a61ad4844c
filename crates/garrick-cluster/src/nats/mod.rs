//! A transport on [NATS](https://nats.io): nodes that meet on one server, or on a cluster of
//! servers.
//!
//! The transport needs a server with JetStream, of version 2.12 or later:
//! ```sh
//! nats-server --jetstream --addr 127.0.0.1
//! ```
//! A NATS message carries one frame, so the `max_payload` of the server limits how much one turn
//! may send to another node. With the default of 1 MiB, one message may be up to 480 KiB long, and
//! all messages of a turn except the last may be up to 480 KiB long in total. With 8 MiB, the
//! limits of this crate apply.

mod error;
mod names;
mod servers;

mod counts;
mod home;
mod lives;
mod outbox;

mod builder;

mod connection;

mod bucket;
mod echo;
mod publish;

mod silence;

mod lease;

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
