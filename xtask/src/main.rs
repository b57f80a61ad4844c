//! Automation (being written).
fn main() {}
