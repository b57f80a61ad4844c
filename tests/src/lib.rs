//! Garrick's tests, one file each beside this crate root.
