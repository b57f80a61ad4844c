//! Questions and answers: the slot that an answer from afar is put in, and the two ends of it.
//!
//! An [`Ask`] waits on a slot, outside of any turn. A [`Reply`] is the other end, and the same type also
//! answers a task: then the answer is a message. A slot is a pooled block, so that asking allocates
//! nothing once the pools are warm.

mod slot;

#[cfg(all(test, garrick_loom))]
mod loom_tests;

mod block;

mod circle;

mod answer;

mod ask;

mod call;

pub use {
    answer::{NoReply, Reply},
    ask::Ask,
    call::Call,
    circle::Circle,
};
