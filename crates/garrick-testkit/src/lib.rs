//! Helps the tests of several crates: time that is set by hand, ends for what hangs, panics on purpose, and looks at the
//! process from outside.
//!
//! A crate takes it as a dev-dependency, for the tests in its folder `tests`. Unit tests of the crates that it is made of
//! leave it alone: they are built with a copy of their crate whose types are not those known here.
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
