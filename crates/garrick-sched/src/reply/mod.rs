//! Questions and answers: the slot that carries an answer to an asker outside of any task, and its
//! two ends.
//!
//! An [`Ask`] waits on a slot, outside of any turn. A [`Reply`] is the other end. A [`Reply`] can
//! also answer a task: then the answer is a message. A slot is a pooled block, so that asking
//! allocates nothing once the pools are warm.

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
