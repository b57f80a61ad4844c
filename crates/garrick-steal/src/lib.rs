//! Lock-free parts for threads of one's own that share work. Garrick's runtime uses none of them.
//!
//! [`steal`] is a channel of which each thread has a deque, [`deque`] that deque, [`queue`] queues with many producers.
//! They are usable alone, and stand on [`garrick_core`]. Each module says which algorithm it is, where it comes from,
//! what progress it guarantees and which thread may call what.
//!
//! The modules are declared in the order of their layers: a module uses only those above it.
#![allow(unsafe_code)] // As in `garrick-core`; every block is answered.

#[cfg(test)]
mod testing;

pub mod deque;
pub mod queue;

pub mod steal;
