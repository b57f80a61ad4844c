//! A setup for tests of timers: a clock that the test sets, and a task that reports its messages.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use garrick_sched::{Address, Flow, Here, Sponsor, Turn};
use garrick_testkit::ByHand;

use super::does;

/// A sponsor on this thread whose clock the test sets, and a task on it that forwards its messages.
pub(crate) struct Listening {
    pub(crate) clock: Arc<ByHand>,
    pub(crate) here: Here,
    pub(crate) listener: Address<u64>,
    pub(crate) heard: Receiver<u64>,
}

impl Listening {
    pub(crate) fn new() -> Self {
        let clock = ByHand::new();
        let here = Sponsor::builder().world(clock.clone()).here().unwrap();
        let (told, heard) = channel();
        let listener = here.spawn(does(move |n, _: &Turn<'_, u64>| {
            told.send(n).unwrap();
            Flow::Continue
        }));
        Self {
            clock,
            here,
            listener,
            heard,
        }
    }

    /// Returns the messages that were received when all due timers have fired.
    pub(crate) fn heard(&self) -> Vec<u64> {
        // The clock is read every few activations only.
        (0..16).for_each(|_| self.here.run());
        self.heard.try_iter().collect()
    }
}
