//! Connections as their users see them, and as somebody in between does.

mod changes;
mod frames;
mod fuzz;
mod greeting;
mod orderly;
mod sockets;
mod stand;
mod tampering;
mod time;
