//! Tools to test stages and graphs without threads.
//!
//! A [`StageDriver`] steps one stage, and the test holds the other ends of its channels. A
//! [`Stepper`] runs a whole graph. The stepper takes one step of one stage at a time, on the
//! caller's thread. The stage is chosen round-robin, at random from a seed, or by name. Both types
//! have a clock that the test sets. So a test controls the order of all steps and the time at which
//! each step is taken, and can reproduce a failure.

mod driver;
mod stepper;

#[cfg(feature = "sim")]
mod pipeline;

pub use driver::{Seen, StageDriver};
#[cfg(feature = "sim")]
pub use pipeline::Pipeline;
pub use stepper::{NoSuchStage, STEPS_MAX, Stepper};
