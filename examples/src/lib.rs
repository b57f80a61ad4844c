//! Garrick's examples, one file each beside this crate root.
#![forbid(unsafe_code)]
