//! Topics of a cluster, which send each published message to all subscribers on all nodes.
//!
//! Each node that uses a topic has two actors for it. The *agent*, which has a bounded mailbox,
//! receives published messages and messages from the agents of other nodes, and passes them on. The
//! *clerk* knows the subscribers of the node and the agents of other nodes. The clerk keeps the
//! agent listed in the directory as long as there are subscribers.

mod message;

mod shared;
mod streams;

mod agent;
mod entry;

mod clerk;

mod handle;

pub use handle::{Topic, TopicError};
pub use shared::TopicSample;
