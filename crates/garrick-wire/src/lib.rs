//! The format of messages between nodes.
//!
//! A type whose values are sent to other nodes implements [`Wire`], by `#[derive(Wire)]`. Fields
//! and variants have numbers, so that a newer and an older version of a program understand each
//! other: a reader skips unknown fields, and uses defaults for missing ones.
//!
//! ```
//! use garrick_wire::{Wire, from_slice, to_vec};
//!
//! #[derive(Wire, Debug, PartialEq)]
//! #[wire(name = "bank.Command")]
//! enum Command {
//!     Deposit { account: u64, cents: u64 },
//!     Close { account: u64, reason: Option<String> },
//! }
//!
//! let bytes = to_vec(Command::Deposit { account: 7, cents: 100 })?;
//! assert_eq!(bytes.len(), 5);
//! assert_eq!(from_slice::<Command>(&bytes)?, Command::Deposit { account: 7, cents: 100 });
//! # Ok::<(), garrick_wire::WireError>(())
//! ```
//!
//! - [`Limits`] sets the maximum length, nesting depth and memory of a message. Memory is counted
//!   before it is allocated. Decoding never panics.
//! - A context can be lent to all types within a message. For example, a reply or an address is
//!   moved into a table of the context: see [`Wire`].
//! - [`lock!`] makes a test that compares the messages with a file, and finds changes that other
//!   versions would not understand.
//!
//! This crate performs no I/O, except in the test of the lock file, and does not depend on actors.
//! `src/README.md` describes the format.

#![forbid(unsafe_code)]

mod shape;

mod error;
mod identity;
mod limits;
mod name;
mod schema;
mod varint;

mod decoder;
mod encoder;

mod wire;

mod message;

mod leaves;

mod whole;

pub mod lock;

#[doc(hidden)]
pub mod derived;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use error::{Reason, WireError};
/// Implements [`trait@Wire`] for a struct or an enum.
pub use garrick_macros::WireAlone as Wire;
pub use identity::MessageId;
pub use limits::Limits;
pub use message::FieldReader;
pub use schema::Schema;
pub use shape::Shape;
pub use whole::{from_slice, to_vec};
pub use wire::Wire;

/// The Rust code in the README of this package.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct PackageReadme;
