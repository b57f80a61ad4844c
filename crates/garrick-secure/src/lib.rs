//! Authenticated and encrypted frames over a byte stream, read and written by actors.
//!
//! Two peers that share a 32-byte key exchange payloads. Each payload is encrypted, authenticated
//! and numbered, and is sent as a frame. A frame consists of a length, encrypted data and a tag. An
//! actor, the reader, receives the parts of a frame one after another, and handles each part by a
//! different [behavior](garrick_actor::behavior()). A payload is passed to the listening actor only
//! after all checks have succeeded.
//!
//! - [`Greeting`], [`Sealer`] and [`Opener`] implement the protocol without doing any I/O.
//! - [`open`] creates a connection over a [`Transport`]. A connection consists of a few actors. A
//!   failure of the connection stops only these actors.
//! - [`Event`] is a message to the listening actor, [`Writer`] sends payloads, and [`Error`] is the
//!   reason why a connection was closed.
//!
//! The guide is `docs/secure-socket.md`. It describes which attacks the protocol prevents, and when
//! to use TLS instead.
#![forbid(unsafe_code)]

mod error;
mod tag;

mod key;

mod frame;

mod greeting;

mod options;
mod patience;

mod writer;

mod event;

mod link;

pub use error::{Error, Part, Wait};
pub use event::{Event, Frame, Listener};
pub use frame::{Kind, LENGTH_BYTES, OVERHEAD_BYTES, Opener, Sealer};
pub use greeting::{Greeting, HELLO_BYTES, PROOF_BYTES, Proving, Session};
pub use key::{PreSharedKey, Role};
pub use link::{Connection, OpenError, Transport, open};
pub use options::{Options, OptionsError};
pub use tag::{Suite, TAG_BYTES};
pub use writer::{Refused, Writer};
