//! Tests of failures: the reports, the printed lines, the log, and the failures that a tree shows.
#![forbid(unsafe_code)]

mod drops;
mod kept;
mod late;
mod lines;
mod reports;
mod stand;
mod tree;
