//! Testing stages and graphs without threads: one stage by hand, or a whole graph step by step.
//!
//! A [`StageDriver`] steps one stage; the test holds the other ends of its channels. A [`Stepper`] has a whole graph,
//! and takes one step of one stage at a time, on the caller's thread: in turns, in an order that a seed decides, or
//! by name. Both have a clock that is set by hand. So a test says exactly what happens when, and a failure can be had
//! again.

mod driver;
mod stepper;

pub use driver::{Seen, StageDriver};
pub use stepper::{NoSuchStage, STEPS_MAX, Stepper};
