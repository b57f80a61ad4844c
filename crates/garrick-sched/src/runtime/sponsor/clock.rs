//! The clocks of a sponsor's [`World`](crate::World), and how a panic in a clock is handled.

use garrick_core::prim::atomic::Ordering::Relaxed;
use garrick_core::wheel::Precision;

use super::Shared;
use crate::quiet;
use crate::runtime::current::Entered;
use crate::world::{Nanos, World};

impl Shared {
    /// Returns true if the workers use the clock of the real world.
    pub(crate) fn is_real(&self) -> bool {
        self.clock.is_some()
    }

    /// Returns the precision of timers. Timers are exact, except with the clock of the real world.
    pub(crate) fn precision(&self) -> Precision {
        if self.is_real() {
            Precision::Tick
        } else {
            Precision::Exact
        }
    }

    /// Returns the current time by the clock of the sponsor's world, for use by a worker. A panic
    /// of the clock must not interrupt the worker's code. So a panic is caught, and the latest
    /// known time is returned. Only the first panic is reported.
    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        match &self.clock {
            Some(clock) => clock.now(),
            None => self.foreign_now(),
        }
    }

    #[inline(never)]
    fn foreign_now(&self) -> Nanos {
        // The clock's code belongs to no turn.
        let _nobody = Entered::nobody();
        let told = quiet::call(|| self.world.now());
        if let Err(panic) = &told
            && !self.clock_failed.swap(true, Relaxed)
        {
            self.report("the clock of the sponsor's world", panic.message(), false);
        }
        let now = told.unwrap_or(0);
        // The time never goes back, whatever the world returns.
        self.latest.fetch_max(now, Relaxed).max(now)
    }

    /// Returns the current time by the world's clock for leases. If this clock panics, returns
    /// [`Nanos::MAX`], so that all leases count as ended.
    pub(crate) fn lease_now(&self) -> Nanos {
        // The clock's code belongs to no turn.
        let _nobody = Entered::nobody();
        quiet::call(|| self.world.lease_now()).unwrap_or(Nanos::MAX)
    }
}
