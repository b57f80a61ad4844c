//! The owner-biased cell: the header of one actor, and the protocol by which threads share it.
//!
//! `README.md` in this folder has the vocabulary, the words and their bits, the steps, the races
//! and the reasons why they are harmless. The code refers to its steps by number.
//!
//! Nothing in here allocates, parks or runs an actor. These are the transitions only, so that the
//! loom models drive exactly the code that runs in production.

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
pub(crate) use header::{CellPtr, DoorTable, Header, Slot, Table};
pub(crate) use inbox::{Chain, Push, reverse};
pub(crate) use mail::Mail;
pub(crate) use ready::{Look, Notice, Ready};
pub(crate) use refs::{Dropped, Settled};
pub(crate) use state::{Home, State};
