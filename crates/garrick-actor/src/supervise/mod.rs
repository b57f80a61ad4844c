//! Supervision: who starts actors again that have failed.
//!
//! After Erlang/OTP's supervisors, with typed addresses that outlive restarts: a child has one cell for good, its
//! [`seat`], and the actors that its factory makes sit there one after the other. The supervisor is an actor
//! ([`root`]), whose [`crew`] keeps the order of stops and starts; it never waits, and nobody waits for it with a lock.
//!
//! ```text
//!   Tree --add, remove, stop--> root --order: begin, drain, halt--> front [ seat: actor ] <-- Address
//!                                 ^                                   |
//!                                 '------ report: up, down, fault ----'
//! ```
//!
//! - A child handles nothing from its failure to its restart: messages are held back, in order.
//! - An actor is dropped before the next one is made, and a supervisor's children are stopped one by one, latest first,
//!   before any of them is started again, in order.
//! - What a failed turn did is undone before its supervisor decides. The message is gone with it.

mod policy;

mod note;

mod face;
mod seat;

mod member;

mod crew;
mod root;

mod tree;

mod async_child;

pub use async_child::AsyncChild;
pub use face::{ChildState, Snapshot, SnapshotOf};
pub use garrick_core::backoff::Backoff;
pub use policy::{Decision, Restart, Shutdown, Strategy};
pub use tree::{Child, SuperviseError, Supervisor, Tree};
