//! The format of messages between nodes: numbered fields, compatible versions, and bounds before
//! allocation.

pub use garrick_wire::*;

// Hides the macro of the same name, whose code refers to `garrick_wire`.
pub use garrick_macros::Wire;
