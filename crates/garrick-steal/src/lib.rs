//! Lock-free work sharing for threads outside Garrick's runtime, which uses none of these parts.
//!
//! [`steal`] is a channel in which each worker thread has a deque. [`deque`] is that work-stealing
//! deque. [`queue`] has queues with many producers. Each is usable alone and builds on
//! [`garrick_core`]. Each module documents its algorithm, the source of the algorithm, its progress
//! guarantee and which thread may call what.
//!
//! The modules are declared in the order of their layers. A module uses only modules above it.
#![allow(unsafe_code)] // As in `garrick-core`; every block is answered.

#[cfg(test)]
mod testing;

pub mod deque;
pub mod queue;

pub mod steal;
