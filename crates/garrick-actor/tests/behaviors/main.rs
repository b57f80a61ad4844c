//! The small standard actors, by scenario: what they do when all goes well, and when something does
//! not.
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
