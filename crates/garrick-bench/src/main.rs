//! The `garrick` command (being written).
fn main() {}
