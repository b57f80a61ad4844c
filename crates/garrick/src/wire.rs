//! The binary format of messages between nodes. Each field has a number, so different versions of a
//! program understand each other. A decoder checks lengths before it allocates memory.

pub use garrick_wire::*;

// Hides the macro of the same name, whose code refers to `garrick_wire`.
pub use garrick_macros::Wire;
