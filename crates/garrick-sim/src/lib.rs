//! Runs Garrick's actors in a seeded simulation that searches for orders and faults in which they
//! fail.
//!
//! The modules are declared in the order of their layers. A module uses only modules above it.

pub mod history;
pub mod search;
