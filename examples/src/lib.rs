//! Garrick's examples, one file each beside this crate root, and the parts of them that the tests
//! use.
#![forbid(unsafe_code)]

pub mod sessions;
