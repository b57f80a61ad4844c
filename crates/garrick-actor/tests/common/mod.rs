//! What the scenarios share: a clock that is set by hand, and silence for panics on purpose.
#![allow(dead_code, reason = "each scenario uses a part of it")]

use std::io;
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Once};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use garrick_actor::{Local, Nanos, System, World};

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

/// What panics say that are part of a scenario.
const ON_PURPOSE: &str = "on purpose";

/// Keeps panics on purpose from being printed.
pub(crate) fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&ON_PURPOSE) {
                print(info);
            }
        }));
    });
}

/// Panics on purpose.
pub(crate) fn fail() -> ! {
    panic::panic_any(ON_PURPOSE)
}

/// A world with a clock that is set by hand.
#[derive(Default)]
pub(crate) struct ByHand {
    now: AtomicU64,
}

impl ByHand {
    pub(crate) fn advance(&self, by: Duration) {
        self.now.fetch_add(by.as_nanos() as u64, SeqCst);
    }
}

impl World for ByHand {
    fn now(&self) -> Nanos {
        self.now.load(SeqCst)
    }

    fn seed(&self) -> u64 {
        self.now.load(SeqCst)
    }

    fn spawn_thread(
        &self,
        name: String,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        thread::Builder::new().name(name).spawn(body)
    }
}
