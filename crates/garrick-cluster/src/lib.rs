//! Garrick actors on many nodes.
//!
//! An [`Address`](garrick_actor::Address) can lead to an actor on another node. Such an address is
//! used like any other address, with two differences: if the connection is lost, a message can be
//! lost even after `send` has accepted the message; and the type of the messages must implement
//! [`Wire`]. Begin with [`Node`].

#![forbid(unsafe_code)]

mod error;
mod lock;
mod looks;
mod marks;

mod name;

mod named;

mod frame;
mod options;

mod counts;
pub mod placement;
mod traffic;
mod transport;

mod line;

mod batch;
mod export;
mod message;
mod question;

mod base;
mod far;

mod session;

mod peer;

mod link;

mod members;

mod node;

mod entities;

#[cfg(feature = "telemetry")]
mod telemetry;

mod watching;

mod directory;

mod receptionist;
mod registry;

mod route;
mod topic;

mod travel;

#[cfg(feature = "nats")]
pub mod nats;

#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;

pub use counts::NodeSample;
pub use directory::{NameError, ServiceError};
pub use entities::{
    ENTITY_KEY_BYTES_MAX, Entities, EntitiesSample, EntityError, Kind, KindOptions,
};
pub use error::JoinError;
pub use garrick_wire::Wire;
pub use line::{Carrier, Travels};
pub use members::{
    DrainOrder, KindOverview, MemberOverview, MemberSample, MemberState, MembersSample, Overview,
    ShardOverview,
};
pub use name::{NodeName, SERVICE_NAME_BYTES_MAX};
pub use node::Node;
pub use options::NodeOptions;
pub use receptionist::Receptionist;
pub use registry::Registry;
pub use route::SameOnAllNodes;
pub use topic::{Topic, TopicError, TopicSample};
pub use traffic::{LinkSample, LinkState};
pub use transport::{Incoming, LocalNet, Transport};
