//! Nodes that meet on NATS. Each test has its own server.
#![forbid(unsafe_code)]

mod client;
mod place;
mod proxy;
mod server;

mod conformance;
mod directory;
mod encrypted;
mod messages;
mod names;
mod outages;
mod refusals;
mod strangers;
