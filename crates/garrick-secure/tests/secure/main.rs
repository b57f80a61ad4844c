//! Tests connections from the perspective of their users, and of an attacker in the middle.

mod changes;
mod frames;
mod fuzz;
mod greeting;
mod limits;
mod orderly;
mod sockets;
mod stand;
mod tampering;
mod time;
