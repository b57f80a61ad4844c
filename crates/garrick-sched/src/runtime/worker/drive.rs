//! A worker with a driver: it sleeps in the driver, and polls it while it is busy.

use std::cell::Cell;
use std::time::Duration;

use garrick_core::prim::thread;

use super::Worker;
use crate::driver::Driver;
use crate::quiet;
use crate::runtime::current::Entered;
use crate::world::Nanos;

/// The shortest time between two polls of the driver while the worker is busy. A poll costs about
/// half a microsecond, so its cost stays below one percent. In the load test of the example
/// `sessions`, 25, 100 and 400 us made no difference beyond the noise.
const POLL_EVERY_NS: Nanos = 100_000;

/// Name under which a driver's panics are reported.
const NAME: &str = "the worker's driver";

/// A worker's driver.
pub(super) struct Drive {
    driver: Box<dyn Driver>,
    /// Time of the last poll or sleep.
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

    /// Calls `life` inside of the driver, once, whatever the driver does: otherwise tasks would
    /// never end, and their worker's number would go to another worker.
    pub(crate) fn live(&self, life: impl FnOnce()) {
        let mut life = Some(life);
        if let Some(drive) = &self.driver {
            let mut once = || {
                if let Some(life) = life.take() {
                    life();
                }
            };
            if let Err(panic) = quiet::call(|| drive.driver.surround(&mut once)) {
                self.report_as(NAME, &panic);
            }
        }
        if let Some(life) = life {
            life();
        }
    }

    /// Sleeps until this thread is woken, for `timeout` at most.
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

    /// Polls the driver, if there is one and it is time.
    pub(super) fn poll_driver(&self, now: Nanos) {
        let Some(drive) = &self.driver else { return };
        if now.saturating_sub(drive.polled.get()) >= POLL_EVERY_NS {
            drive.polled.set(now);
            self.leave_to(|| drive.driver.poll());
        }
    }

    /// Leaves the thread to foreign code, which is in no turn. A panic of it must not stop the
    /// worker.
    fn leave_to(&self, foreign: impl FnOnce()) {
        let _nobody = Entered::nobody();
        if let Err(panic) = quiet::call(foreign) {
            self.report_as(NAME, &panic);
        }
    }
}
