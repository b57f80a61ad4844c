//! Helpers for the tests of several crates: a clock that is set by hand, time limits for tests that
//! hang, panics on purpose, and views of the process from outside.
//!
//! A crate uses this as a dev-dependency, for the tests in its folder `tests`. Unit tests of the
//! crates that this crate depends on cannot use it. They are built with a second copy of their
//! crate, whose types differ from the types used here.
#![forbid(unsafe_code)]

mod world;

mod hang;

mod panics;

mod drops;

mod process;

mod settings;

pub use {
    drops::{Bomb, OnDrop},
    hang::{HANGS_AFTER, alone, ends, ends_alone, ends_or, wait},
    panics::{ON_PURPOSE, fail, silence_panics},
    process::{assert_asleep, resident_bytes, this_thread},
    settings::setting,
    world::{ByHand, ms},
};
