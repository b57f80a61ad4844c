//! Lock-free work sharing for threads. Garrick's runtime does not use this crate.
//!
//! - [`steal`] is a channel in which each worker thread has a work-stealing deque.
//! - [`deque`] contains the work-stealing deque.
//! - [`queue`] contains queues with many senders and one receiver.
//!
//! Each module can be used alone, and is based on [`garrick_core`]. Each module documents its
//! algorithm, the publication that describes the algorithm, the progress guarantee, and which
//! thread may call which method.
//!
//! The modules are declared in the order of their layers. A module uses only modules above it.
#![allow(unsafe_code)] // As in `garrick-core`. Each block has a SAFETY comment.

#[cfg(test)]
mod testing;

pub mod deque;
pub mod queue;

pub mod steal;
