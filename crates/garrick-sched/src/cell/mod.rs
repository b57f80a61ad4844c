//! The owner-biased cell: the header of one actor, and the protocol by which threads share it.
//!
//! The `README.md` in this folder explains the terms, the words and their bits, the steps, and why
//! the races are harmless. The code refers to these steps by number.
//!
//! No code in this module allocates memory, parks a thread or runs an actor. The module contains
//! only the transitions of the state, so that the loom models test exactly the code that runs in
//! production.

mod envelope;
mod header;
mod inbox;
mod refs;
mod state;

#[cfg(garrick_loom)]
pub(crate) mod homes;

mod mail;
mod ready;

pub(crate) use envelope::{Envelope, Kind};
pub use header::TaskId;
pub(crate) use header::{CellPtr, DoorTable, Header, Slot, Table};
pub(crate) use inbox::{Chain, Push, reverse};
pub(crate) use mail::Mail;
pub(crate) use ready::{Look, Notice, Ready};
pub(crate) use refs::{Dropped, Settled};
pub(crate) use state::{Home, State};
