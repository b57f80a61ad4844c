//! The search for an order of a history's operations in which a model allows all results.
//!
//! The algorithm is the search of Wing and Gong ("Testing and verifying concurrent objects", 1993)
//! with the memory of Lowe ("Testing for linearizability", 2017), as in the program Porcupine. The
//! history is first split into independent parts (Horn and Kroening, "Faster linearizability
//! checking via P-compositionality", 2015). The modules contain, in this order:
//!
//! - the parts of a history, and the order of all operations that results from the orders of the
//!   parts
//! - the operations of a part that are not in the order yet, and those that may come next
//! - the set of the operations in the order, in a form that is small enough to be remembered
//! - the configurations that the search has visited
//! - the search
//! - the explanation of a failure

mod part;

mod links;

mod remaining;

mod linearized;

mod seen;

mod search;

mod timeline;

mod explanation;

mod verdict;

mod checker;

pub use checker::{CONFIGURATIONS_MAX, Checker};
pub use explanation::Explanation;
pub use verdict::Verdict;
