//! Histories of operations, and the check that a history is linearizable.
//!
//! A history is *linearizable* (Herlihy and Wing, "Linearizability: a correctness condition for
//! concurrent objects", 1990) if each operation seems to take effect at one instant between its
//! invocation and its return. In other words: there is an order of the operations in which a
//! sequential object would have returned the same results. In this order, each operation comes
//! before all operations that were invoked after its return.
//!
//! Record the operations of all clients in a [`History`], choose one of the [`models`] or write a
//! [`Model`], and call [`History::check`]. The [`Verdict`] contains an order, or an [`Explanation`]
//! of the reason why there is none. In a simulation, clients record [`Called`] and [`Returned`]
//! facts instead, and [`Sim::linearizable`](crate::Sim::linearizable) does the rest.
//!
//! # Examples
//! ```
//! use garrick_sim::history::History;
//! use garrick_sim::history::models::register::{Op, Register, Ret};
//!
//! let mut history = History::new();
//! let write = history.invoke(1, Op::Write(5));
//! history.complete(write, Ret::Written);
//! let read = history.invoke(2, Op::Read);
//! history.complete(read, Ret::Value(0));
//!
//! let verdict = history.check(&Register::new(0));
//! assert_eq!(
//!     verdict.to_string(),
//!     "\
//! The history is not linearizable. No order allows this operation of client 2:
//!     Read -> Value(0)
//! After the longest prefix in order (1 operation), the state is
//!     5
//! There, the operation would have to return
//!     Value(5)
//! Time goes from left to right:
//!     client 1  [-]      Write(5) -> Written  (place 1)
//!     client 2      [-]  Read -> Value(0)  (cannot be placed)
//! "
//! );
//! ```

mod facts;
mod record;

mod model;

pub mod models;

mod check;

#[cfg(test)]
mod tests;

pub use check::{CONFIGURATIONS_MAX, Checker, Explanation, Verdict};
pub use facts::{Called, Returned};
pub use model::{Model, Sequential};
pub use record::{Call, History, Operation, Outcome};
