//! Topics of a cluster, which send each published message to all subscribers on all nodes.
//!
//! Each node that uses a topic has two actors for it. The *agent* takes what is published, and what
//! other agents send, and sends it on. Its mailbox is bounded. The *clerk* knows the subscribers of
//! the node and the agents of other nodes. It serves the agent as long as there are subscribers.

mod message;

mod shared;
mod streams;

mod agent;
mod entry;

mod clerk;

mod handle;

pub use handle::{Topic, TopicError};
pub use shared::TopicSample;
