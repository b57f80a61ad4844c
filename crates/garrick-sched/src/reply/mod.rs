//! Questions and answers, and the slot that passes an answer to a thread or a future.
//!
//! An [`Ask`] is the asker's side of a slot, for code outside of turns. A [`Reply`] is the
//! replier's side. If the asker is a task, the reply sends the answer as a message and needs no
//! slot. A slot is a pooled block. So as soon as the pools have free blocks, a question allocates
//! no memory.

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
