//! The format of messages between nodes. Fields have numbers, different versions of a program are
//! compatible, and lengths are checked before memory is allocated.

pub use garrick_wire::*;

// Hides the macro of the same name, whose code refers to `garrick_wire`.
pub use garrick_macros::Wire;
