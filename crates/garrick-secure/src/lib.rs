//! Authenticated and encrypted frames over a byte stream, read and written by actors.
//!
//! Two sides that have the same 32-byte key exchange payloads: each is encrypted, authenticated, counted, and handed to an
//! actor only after all checks. The form of a frame and the way in which it is read are those of the socket reader in seed
//! 004: a length, encrypted data and a tag, taken one after the other by an actor that becomes what comes next.
//!
//! - [`Greeting`], [`Sealer`] and [`Opener`] are the protocol without any input or output.
//! - [`open`] makes a connection of a [`Transport`]: a small graph of actors that fails alone.
//! - [`Event`] is what an actor is told of it, [`Writer`] where one writes, [`Error`] which check has failed.
//!
//! `docs/secure-socket.md` is the guide. It says what this protects from, and when to use TLS instead.
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
