//! Lock-free building blocks of Garrick. Work stealing and queues, which the runtime does not use,
//! are in `garrick-steal`.
//!
//! Every type here is usable on its own. Each module documents its algorithm with its source, the
//! progress guarantee, and which thread may call which method.
//!
//! The modules are declared in the order of their layers. A module uses only modules above it.
#![allow(unsafe_code)] // Lock-free structures are what this crate is for; every block is answered.

#[doc(hidden)]
pub mod prim;

pub mod copy;
pub mod fence;
pub mod prefetch;
#[doc(hidden)]
pub mod quiet;
pub mod random;

pub mod backoff;

pub mod bell;
pub mod count;
pub mod gate;
pub mod lend;
pub mod park;
pub mod ring;
pub mod wheel;
