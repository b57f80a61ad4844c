//! Journals on NATS: the rules of logs, and failures. Each test has its own server.
#![forbid(unsafe_code)]

#[path = "../nats/proxy.rs"]
mod proxy;
#[expect(dead_code, reason = "the tests of nodes use more of it")]
#[path = "../nats/server.rs"]
mod server;

mod store;

mod events;

mod failures;
mod lost;

mod older;

mod servers;
mod writers;

garrick_journal::log_conformance! {
    mod nats: crate::store::Streams::new(false);
    mod nats_with_fences: crate::store::Streams::new(true);
}
