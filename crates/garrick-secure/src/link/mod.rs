//! One connection as a small graph of actors.
//!
//! ```text
//!              bytes               n bytes              Frame
//!   peer ---> source ---> buffer ---------> reader --------------> whoever is told
//!               ^           |  ^               |  length -> body      |     |
//!               +-- fill ---+  +---- get n ----+  ^          |        |     |
//!                              ^                  +-- tag <--+        |     |
//!                              +------------ place free --------------+     |
//!                                                                           v
//!   peer <--- scribe <------------------------------------------------- Writer
//!
//!               keeper: spawns them all, watches them, tells of the end once, and takes all down
//! ```
//!
//! After the socket reader of seed 004: the buffer hands successive bytes to whoever asked for n of them, and the
//! reader knows where it is in a frame by what it has become. What is new is that bytes are pulled: the source reads when
//! the buffer has too few, into the buffer's own memory, which it is lent; and the buffer begins no frame while too many
//! lie with others. The source and the scribe are futures, the other three plain actors.
//!
//! All errors go to the keeper. The first one is told, and the others end with it; no other connection has anything to do
//! with these.

mod buffer;
mod keeper;
mod open;
mod reader;
mod scribe;
mod source;
mod timely;
mod transport;

pub use open::{Connection, OpenError, open};
pub use transport::Transport;
