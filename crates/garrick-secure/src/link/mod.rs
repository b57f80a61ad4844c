//! A connection as a small graph of actors.
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
//! The buffer passes n successive bytes to the actor that requested them. The behavior of the
//! reader encodes its position in a frame. The source reads only when the buffer has too few bytes.
//! The source reads into memory that it borrows from the buffer. While the listener holds too many
//! frames, the buffer does not begin another frame. The source and the scribe are async actors. The
//! other three are plain actors.
//!
//! All errors are sent to the keeper. It reports the first error, and stops the other actors. Other
//! connections are not affected.

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
