//! The `garrick` command (being written).
#![forbid(unsafe_code)]

#[allow(dead_code, unused_imports, reason = "the command line comes next")]
mod pipeline;

fn main() {}
