//! What the scenarios share: a clock that is set by hand, and silence for panics on purpose.
#![allow(dead_code, unused_imports, reason = "each scenario uses a part of it")]

#[path = "../../../garrick-sched/tests/common/panics.rs"]
mod panics;
#[path = "../../../garrick-sched/tests/common/world.rs"]
mod world;

use std::sync::Arc;
use std::time::Duration;

use garrick_actor::{Local, System};
pub(crate) use panics::{ON_PURPOSE, fail, silence_panics};
pub(crate) use world::ByHand;

pub(crate) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A system of this thread whose clock is set by hand.
pub(crate) fn local() -> (Arc<ByHand>, Local) {
    let clock = Arc::<ByHand>::default();
    let builder = System::builder().world(clock.clone());
    let local = builder.on_failure(|_| ()).local().unwrap();
    (clock, local)
}

/// Runs everything that there is to run, and everything that is due.
pub(crate) fn settle(local: &Local) {
    // What is due may lead to something else that is due.
    (0..16).for_each(|_| local.run());
}
