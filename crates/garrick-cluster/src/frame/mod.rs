//! Frames: the units that a transport carries from one node to another.
//!
//! ```text
//! magic 4 | version u8 | length of name u8 | zeros 2 | cluster u64 | node u64 | peer u64 |
//! session u64 | number u64 | seen u64 | taken u64 | orders u64 | dead u64 | entries u32 |
//! checksum u32 |
//! name | entries                                            (numbers are little-endian)
//! ```
//!
//! The checksum is the CRC-32C of the whole frame, with zeros in place of the checksum itself.

mod bytes;

mod entry;
mod head;

pub(crate) use entry::{
    Answer, Body, Entries, Entry, Message, NewBody, Order, Owned, Ref, Slot, Target, put_another,
    put_answer, put_leave, put_message, put_order, put_refusal,
};
pub(crate) use head::{HEAD_BYTES, Head};
