//! Trials of two nodes: frames of enemies, networks that lose or delay frames one way, messages
//! that the receiver does not know, bugs of the program, and threads that race. A node drops or
//! refuses what is wrong, tells all who wait, and goes on.
#![forbid(unsafe_code)]

mod forged;
mod spy;

mod pair;

mod addresses;
mod bounds;
mod doors;
mod hostile;
mod networks;
mod outages;
mod threads;
mod versions;
