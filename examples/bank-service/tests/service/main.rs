//! Tests that run the service as a user does: as one process, as three nodes on a NATS server, and
//! on a cluster of three NATS servers with users, permissions and encryption.
#![cfg(unix)]
#![forbid(unsafe_code)]

mod client;
mod nats;
mod process;

mod alone;
mod page;
mod secured;
mod three;

mod rolling;
