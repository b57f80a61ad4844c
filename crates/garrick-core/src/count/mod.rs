//! Counters that one thread writes and any thread reads.
//!
//! Telemetry here is pulled: the worker increments plain counters, and readers fetch them on
//! demand. An atomic read-modify-write costs several times a plain increment. Since a counter has
//! one writer, a load and a store suffice, and cost as much as a plain increment. The writer is a
//! type that is neither `Clone` nor writable through `&self`, so there is only one.
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
//! A [`Counter`] is one number. A [`Group`] is several numbers that belong together: a reader gets
//! all of them as they were at one [`publish`](Group::publish), never a mix of two publishes. The
//! group is a sequence lock whose data are atomics, so that there is no data race even where a
//! reader must try again: H.-J. Boehm, "Can Seqlocks Get Along with Programming Language Memory
//! Models?" (2012). A [`Tally`] is several independent counters side by side.
//!
//! | operation | who | progress |
//! | --- | --- | --- |
//! | [`Counter::add`], [`Tally::add`], [`Group::add`], [`Group::publish`] | the one writer | wait-free |
//! | [`CounterReader::get`], [`TallyReader::values`] | anyone | wait-free |
//! | [`GroupReader::try_snapshot`] | anyone | bounded: gives up after [`TRIES_MAX`] tries |
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
