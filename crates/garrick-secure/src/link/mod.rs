//! The actors of a connection.
//!
//! ```text
//!              bytes               n bytes              Frame
//!   peer ---> source ---> buffer ---------> reader --------------> listener
//!               ^           |  ^               |  length -> body      |     |
//!               +-- fill ---+  +---- get n ----+  ^          |        |     |
//!                              ^                  +-- tag <--+        |     |
//!                              +------------ place free --------------+     |
//!                                                                           v
//!   peer <--- scribe <------------------------------------------------- Writer
//!
//!               keeper: spawns and watches all actors, reports the end once, and stops all actors
//! ```
//!
//! The buffer passes the next n bytes to the actor that requested them. The current behavior of the
//! reader corresponds to its position in a frame. The source reads from the transport only when the
//! buffer has too few bytes. It reads into memory that it borrows from the buffer. While the
//! listener holds too many frames, the buffer does not begin another frame. The source and the
//! scribe, which writes, are async actors. The other three actors are plain actors.
//!
//! All errors are sent to the keeper, which reports the first error, and stops the other actors.
//! Other connections are not affected.

mod timely;
mod transport;

mod buffer;
mod keeper;
mod reader;
mod scribe;
mod source;

mod open;

pub use open::{Connection, OpenError, open};
pub use transport::Transport;
