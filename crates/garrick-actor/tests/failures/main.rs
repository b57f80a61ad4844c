//! Failures: what is reported, what is printed, what is kept, and what a tree shows of them.
#![forbid(unsafe_code)]

mod drops;
mod kept;
mod late;
mod lines;
mod reports;
mod stand;
mod tree;
