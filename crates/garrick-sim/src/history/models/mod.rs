//! Models of common objects.

pub mod bank;
pub mod counter;
pub mod key_value;
pub mod queue;
pub mod register;
pub mod set;
