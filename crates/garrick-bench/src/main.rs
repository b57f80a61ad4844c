//! The `garrick` command (being written).
#![forbid(unsafe_code)]

fn main() {}
