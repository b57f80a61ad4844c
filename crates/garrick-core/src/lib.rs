//! Lock-free building blocks of Garrick. The crate `garrick-steal` contains a work-stealing channel
//! and queues, which the runtime does not use.
//!
//! Every type here is usable on its own. Each module documents its algorithm, the publication that
//! describes the algorithm, the progress guarantee, and which thread may call which method.
//!
//! The modules are declared in the order of their layers. A module uses only modules above it.
#![allow(unsafe_code)] // This crate is for lock-free structures. Each block has a SAFETY comment.

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
