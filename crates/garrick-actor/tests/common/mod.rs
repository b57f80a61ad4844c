//! Shared code of the tests: a local system whose clock is set by hand.
#![allow(dead_code, reason = "each scenario uses a part of it")]

use std::sync::Arc;

use garrick_actor::{Local, System};
use garrick_testkit::ByHand;

/// Creates a system on the current thread, with a clock that is set by hand.
pub(crate) fn local() -> (Arc<ByHand>, Local) {
    let clock = ByHand::new();
    let builder = System::builder().world(clock.clone());
    let local = builder.on_failure(|_| ()).local().unwrap();
    (clock, local)
}

/// Runs all ready actors and all due timers.
pub(crate) fn settle(local: &Local) {
    // What is due may lead to something else that is due.
    (0..16).for_each(|_| local.run());
}
