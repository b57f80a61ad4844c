//! Lock-free building blocks of Garrick. The work-stealing channel and the queues, which the
//! runtime does not use, are in the crate `garrick-steal`.
//!
//! Every type here is usable on its own. Each module documents its algorithm, the publication that
//! describes the algorithm, the progress guarantee, and which thread may call which method.
//!
//! The modules are declared in the order of their layers. A module uses only modules above it.
#![allow(unsafe_code)] // This crate is for lock-free structures. Each block has a SAFETY comment.

// Conditions that hold, and no negations, so that `cargo xtask portable` can make them true.
#[cfg(any(target_pointer_width = "16", target_pointer_width = "32"))]
compile_error!("Garrick needs 64-bit pointers: its counters and state words have 64 bits.");

#[cfg(target_endian = "big")]
compile_error!("Garrick supports only little-endian targets: nobody has tested it on others.");

#[doc(hidden)]
pub mod prim;

pub mod copy;
pub mod fence;
pub mod prefetch;
#[doc(hidden)]
pub mod quiet;
pub mod random;
#[doc(hidden)]
pub mod text;

pub mod backoff;

pub mod bell;
pub mod count;
pub mod gate;
pub mod lend;
pub mod park;
pub mod ring;
pub mod wheel;
