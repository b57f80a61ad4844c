//! Garrick's examples, one file each beside this crate root, and what the tests need of them.
#![forbid(unsafe_code)]

pub mod sessions;
