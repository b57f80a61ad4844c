//! Supervision: restarting actors that have failed.
//!
//! Modelled on Erlang/OTP's supervisors, with typed addresses that outlive restarts. A child keeps
//! one cell for good, its `seat`. The actors that its factory makes sit there one after the
//! other. The supervisor is an actor (`root`), whose `crew` keeps the order of stops and
//! starts. It never waits, and no actor waits for it with a lock.
//!
//! ```text
//!   Tree --add, remove, stop--> root --order: begin, drain, halt--> front [ seat: actor ] <-- Address
//!                                 ^                                   |
//!                                 '------ report: up, down, fault ----'
//! ```
//!
//! - A child handles nothing from its failure to its restart. Messages are held back, in order.
//! - An actor is dropped before the next one is created. A supervisor's children are stopped one by
//!   one, latest first, before any of them is started again, in order.
//! - The effects of a failed turn are undone before its supervisor decides. The message is dropped
//!   with the turn.

mod policy;

mod note;

mod face;
mod seat;

mod member;

mod crew;
mod root;

mod tree;

pub use crate::failure::fault::Fault;
pub use face::{ChildState, Snapshot, SnapshotOf};
pub use garrick_core::backoff::Backoff;
pub use policy::{Decision, Restart, Shutdown, Strategy};
pub(crate) use policy::{Policy, policy_setters};
pub use tree::{SuperviseError, Supervisor, Tree};
