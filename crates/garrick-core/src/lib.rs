//! The lock-free parts that the rest of Garrick stands on, and nothing else. What the runtime does not use is in
//! `garrick-steal`: work stealing, and queues.
//!
//! Every type here is usable on its own. Each module says which algorithm it is, where it comes from,
//! what progress it guarantees and which thread may call what.
//!
//! The modules are declared in the order of their layers: a module uses only those above it.
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
