//! Supervision: supervisors restart actors that have failed.
//!
//! The design follows the supervisors of Erlang/OTP. Unlike in Erlang, addresses are typed and stay
//! valid when an actor is restarted. Each child has a factory, a function that creates its actor.
//! At a restart, the supervisor calls the factory again, and the new actor gets the address and the
//! mailbox of the old one.
//!
//! In the code, each child has a `seat`. The seat is a permanent place in memory, and contains one
//! actor after another. The `front` is the task to which the address of the child leads. The
//! supervisor itself is an actor (`root`). Its `crew` determines the order in which children are
//! stopped and started. The supervisor never blocks, and no actor waits for a lock of the
//! supervisor.
//!
//! ```text
//!   Tree --add, remove, stop--> root --order: begin, drain, halt--> front [ seat: actor ] <-- Address
//!                                 ^                                   |
//!                                 '------ report: up, down, fault ----'
//! ```
//!
//! - From its failure to its restart, a child handles no messages. Messages that arrive during this
//!   time are kept in order, and the new actor handles them.
//! - The failed actor is dropped before the new one is created. If a supervisor restarts several
//!   children, it first stops all of them, one by one, in reverse order of starting. Then it starts
//!   them again in the original order.
//! - The effects of a failed turn are undone before the supervisor decides what happens to the
//!   actor. The message that the turn was handling is dropped.

mod policy;

mod facts;
mod told;

mod note;

mod face;
mod forest;
mod seat;

mod member;

mod crew;
mod root;

mod tree;

pub use crate::failure::fault::Fault;
pub use face::{ChildState, LastFailure, Snapshot, SnapshotOf};
pub use garrick_core::backoff::Backoff;
pub use garrick_sched::{Ended, Watch};
pub use policy::{Decision, Restart, Shutdown, Strategy};
pub(crate) use policy::{Policy, policy_setters};
pub(crate) use tree::About;
pub use tree::{SuperviseError, Supervisor, Tree};
