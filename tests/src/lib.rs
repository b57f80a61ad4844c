//! Garrick's tests, one file each beside this crate root.
#![forbid(unsafe_code)]
