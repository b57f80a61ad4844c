//! Tests of the small standard actors, both in normal operation and when something fails.
#![forbid(unsafe_code)]

mod stand;

mod collect;
mod exclusion;
mod fanout;
mod limits;
mod mux;
mod order;
mod parallel;
mod relay;
mod resilience;
mod timing;
