//! Lock-free work sharing for threads. Garrick's runtime does not use this crate.
//!
//! [`steal`] is a channel in which each worker thread has a work-stealing deque. [`deque`] is this
//! deque. [`queue`] has queues with many producers. Each part is usable alone and builds on
//! [`garrick_core`]. Each module documents its algorithm with its source, the progress guarantee,
//! and which thread may call which method.
//!
//! The modules are declared in the order of their layers. A module uses only modules above it.
#![allow(unsafe_code)] // As in `garrick-core`; every block is answered.

#[cfg(test)]
mod testing;

pub mod deque;
pub mod queue;

pub mod steal;
