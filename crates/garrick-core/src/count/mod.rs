//! Counters that one thread writes and any thread can read.
//!
//! For example, a worker increments its counters, and telemetry reads them on demand. An atomic
//! read-modify-write costs several times as much as a plain increment. A counter has only one
//! writer, so a load and a store suffice. Together they cost as much as a plain increment. The type
//! of a counter guarantees that it has only one writer: it is not `Clone`, and writing takes `&mut
//! self`.
//!
//! ```text
//!   Counter ---- add: load, add, store ----> [ value ] <---- get ---- CounterReader, as many as wanted
//!
//!   Group ------ add: plain memory
//!     |          publish: version odd, values, version even ----> [ version | values ... ]
//!                                                                       ^
//!   GroupReader, as many as wanted -- try_snapshot: version, values, version again
//! ```
//!
//! - A [`Counter`] is one number.
//! - A [`Tally`] is several independent counters in adjacent memory.
//! - A [`Group`] is several numbers that belong together. A reader gets the numbers of one
//!   [`publish`](Group::publish), never a mix of two.
//!
//! A group is a sequence lock whose data are atomics. So there is no data race, even if a reader
//! reads during a publish and must try again. The method is from H.-J. Boehm, "Can Seqlocks Get
//! Along with Programming Language Memory Models?" (2012).
//!
//! | operation | who | progress |
//! | --- | --- | --- |
//! | [`Counter::add`], [`Tally::add`], [`Group::add`], [`Group::publish`] | the one writer | wait-free |
//! | [`CounterReader::get`], [`TallyReader::values`] | any thread | wait-free |
//! | [`GroupReader::try_snapshot`] | any thread | bounded: gives up after [`TRIES_MAX`] tries |
mod counter;
mod group;
mod tally;

#[cfg(all(test, garrick_loom))]
mod loom_tests;
#[cfg(all(test, not(garrick_loom)))]
mod tests;

pub use counter::{Counter, CounterReader};
pub use group::{Busy, Group, GroupReader, TRIES_MAX};
pub use tally::{Tally, TallyReader};
