//! Histories of operations, and the check that a history is linearizable.
//!
//! Clients call operations of an object, for example of a replicated register, and each call
//! returns later. A history is *linearizable* if each operation can be placed at one point in time
//! between its call and its return, so that the results are those of a sequence without concurrency
//! (Herlihy and Wing, "Linearizability: a correctness condition for concurrent objects", 1990).
//!
//! The check is the search of Wing and Gong, "Testing and verifying concurrent objects" (1993),
//! which remembers the configurations that it has seen (Lowe, "Testing for linearizability", 2017).
//! Operations on independent parts of the object are checked separately (Horn and Kroening, "Faster
//! linearizability checking via P-compositionality", 2015).

mod model;
mod models;

mod recorded;

mod check;

pub use check::{Explanation, Verdict, check};
pub use model::Model;
pub use models::{
    Bank, BankOp, BankRet, Counter, CounterOp, Queue, QueueOp, Register, RegisterOp, Set, SetOp,
    Value,
};
pub use recorded::{Call, Called, History, Returned};
