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
//! The source reads from the transport only when the buffer has too few bytes. The memory for a
//! read belongs to the buffer, which lends it to the source. The reader requests the parts of a
//! frame from the buffer, one after another, and has a different behavior for each part. While the
//! listener holds too many frames, the buffer does not begin another frame. The scribe writes to
//! the transport. The source and the scribe are async actors. The buffer, the reader and the keeper
//! are plain actors. For a long frame, the reader spawns an opener, an async actor that checks and
//! decrypts the frame in several turns.
//!
//! All errors are sent to the keeper, which reports the first error, and stops the other actors.
//! Other connections are not affected.

mod timely;
mod transport;

mod buffer;
mod keeper;
mod opener;
mod reader;
mod scribe;
mod source;

mod open;

pub use open::{Connection, OpenError, open};
pub use transport::Transport;
