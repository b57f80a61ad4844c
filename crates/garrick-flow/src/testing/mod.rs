//! Testing stages and graphs without threads: one stage by hand, or a whole graph step by step.
//!
//! A [`StageDriver`] steps one stage; the test holds the other ends of its channels. A [`Stepper`]
//! holds a whole graph, and takes one step of one stage at a time, on the caller's thread. It picks
//! stages in turns, in an order decided by a seed, or by name. Both have a clock that the test
//! sets. So a test controls exactly what happens when, and a failure can be reproduced.

mod driver;
mod stepper;

pub use driver::{Seen, StageDriver};
pub use stepper::{NoSuchStage, STEPS_MAX, Stepper};
