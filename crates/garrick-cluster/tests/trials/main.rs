//! Tests of two nodes under hard conditions: frames of attackers, networks that lose or delay
//! frames in one direction, messages that the receiver does not know, bugs of the program, and
//! racing threads. A node drops or refuses wrong data, notifies everyone who waits, and continues.
#![forbid(unsafe_code)]

mod forged;
mod spy;

mod pair;

mod attacks;

mod addresses;
mod bounds;
mod doors;
mod forgotten;
mod hostile;
mod networks;
mod order;
mod outages;
mod threads;
mod versions;
