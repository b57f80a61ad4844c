//! Supervision: supervisors restart actors that have failed.
//!
//! This module is modelled on the supervisors of Erlang/OTP. In contrast to Erlang, addresses are
//! typed and stay valid when an actor is restarted. Each child has one permanent cell, its `seat`.
//! The factory of the child creates actors, and each new actor takes the seat of the previous one.
//! The supervisor is an actor (`root`). Its `crew` determines the order in which children are
//! stopped and started. The supervisor never blocks, and no actor waits for a lock of the
//! supervisor.
//!
//! ```text
//!   Tree --add, remove, stop--> root --order: begin, drain, halt--> front [ seat: actor ] <-- Address
//!                                 ^                                   |
//!                                 '------ report: up, down, fault ----'
//! ```
//!
//! - From its failure to its restart, a child handles no messages. The messages are held back, in
//!   order.
//! - An actor is dropped before the next one is created. If a supervisor restarts several children,
//!   it first stops all of them, one by one, in reverse order of starting. Then it starts them in
//!   order.
//! - The effects of a failed turn are undone before the supervisor decides. The message of the turn
//!   is dropped.

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
