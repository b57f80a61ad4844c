//! The parts of the example `sessions` that its tests use too: a chat server where each websocket
//! session is an actor, an equivalent server with plain tokio tasks, and a client.

mod wire;

pub mod actors;
pub mod plain;

pub mod client;

pub use wire::HELP;
