//! Helpers for the tests of several crates: a clock that the test sets, time limits for tests that
//! hang, panics on purpose, and folders for files. Other helpers read the process's CPU time and
//! memory on Linux.
//!
//! A crate depends on `garrick-testkit` as a dev-dependency, for its tests. The unit tests of a
//! crate cannot use `garrick-testkit` if `garrick-testkit` itself depends on this crate. Cargo
//! would build the crate twice, and the types in its unit tests would differ from the types that
//! `garrick-testkit` uses.
#![forbid(unsafe_code)]

mod world;

mod hang;

mod panics;

mod drops;

mod place;

mod process;

mod settings;

mod watches;

pub use {
    drops::{Bomb, OnDrop},
    hang::{HANGS_AFTER, alone, ends, ends_alone, ends_or, wait},
    panics::{ON_PURPOSE, fail, silence_panics},
    place::Place,
    process::{assert_asleep, resident_bytes, this_thread},
    settings::{seeds, setting},
    watches::notices_kept,
    world::{ByHand, ms},
};
