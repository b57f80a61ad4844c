//! Workers with a driver. Such a worker sleeps in its driver, and polls the driver while it is
//! busy.

use std::cell::Cell;
use std::time::Duration;

use garrick_core::prim::thread;

use super::Worker;
use crate::driver::Driver;
use crate::quiet;
use crate::runtime::current::Entered;
use crate::world::Nanos;

/// Minimum time between two polls of the driver while the worker is busy. A poll takes about half a
/// microsecond, so the cost stays below one percent. Values of 25, 100 and 400 us made no
/// measurable difference in the load test of the example `sessions`.
const POLL_EVERY_NS: Nanos = 100_000;

/// Name under which a panic in a driver is reported.
const NAME: &str = "the worker's driver";

/// Driver in which a worker sleeps, and the time of its latest use.
pub(super) struct Drive {
    driver: Box<dyn Driver>,
    /// Time at which the driver was last polled, or at which the worker last slept in the driver.
    polled: Cell<Nanos>,
}

impl Drive {
    pub(super) fn new(driver: Box<dyn Driver>) -> Self {
        Self {
            driver,
            polled: Cell::new(0),
        }
    }
}

impl Worker {
    /// Returns true if the worker has a driver.
    pub(crate) fn is_driven(&self) -> bool {
        self.driver.is_some()
    }

    /// Calls `life`, which runs the worker, inside of the driver. Ensures that `life` is called
    /// exactly once, even if the driver fails. Without this call, the tasks of the worker would
    /// never end, although another worker could reuse the worker's number.
    pub(crate) fn live(&self, life: impl FnOnce()) {
        let mut life = Some(life);
        if let Some(drive) = &self.driver {
            let mut once = || {
                if let Some(life) = life.take() {
                    life();
                }
            };
            if let Err(panic) = quiet::call(|| drive.driver.surround(&mut once)) {
                self.report_as(NAME, &panic, false);
            }
        }
        if let Some(life) = life {
            life();
        }
    }

    /// Sleeps in the driver until this thread is woken, but for at most `timeout`.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        match (&self.driver, timeout) {
            (Some(drive), _) => {
                self.leave_to(|| drive.driver.park(timeout));
                // The sleep included a poll.
                drive.polled.set(self.now());
            }
            (None, None) => thread::park(),
            (None, Some(left)) => thread::park_timeout(left),
        }
    }

    /// Polls the driver if the worker has one, and if the latest poll was long enough ago.
    pub(super) fn poll_driver(&self, now: Nanos) {
        let Some(drive) = &self.driver else { return };
        if now.saturating_sub(drive.polled.get()) >= POLL_EVERY_NS {
            drive.polled.set(now);
            self.leave_to(|| drive.driver.poll());
        }
    }

    /// Runs foreign code on this thread, outside of turns. Catches a panic, so that the worker does
    /// not stop.
    fn leave_to(&self, foreign: impl FnOnce()) {
        let _nobody = Entered::nobody();
        if let Err(panic) = quiet::call(foreign) {
            self.report_as(NAME, &panic, false);
        }
    }
}
