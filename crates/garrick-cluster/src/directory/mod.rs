//! The directory of a node: what members serve and have registered, in records that all nodes
//! share. The README of the crate has the protocol.

mod record;

mod error;
mod view;

mod changes;
mod names;
mod own;

mod service;

mod actor;

mod naming;

pub(crate) use actor::{Directory, Order, ToDirectory};
pub use error::{NameError, ServiceError};
pub(crate) use record::{Instance, ServiceKey};
