//! The directory of a node. A directory knows the services and the named actors of all members,
//! from records that all nodes share. `src/README.md` describes the protocol.

mod record;

mod error;
mod view;

mod changes;
mod names;
mod own;

mod follower;

mod service;

mod actor;

mod naming;

pub(crate) use actor::{Directory, Order, ToDirectory};
pub use error::{NameError, ServiceError};
pub(crate) use record::{Instance, ServiceKey};
