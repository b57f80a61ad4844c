//! The current date and time, which a turn reads from the clock of its sponsor's world.

use std::time::SystemTime;

use super::Shared;
use crate::runtime::current::Entered;

impl Shared {
    /// Returns the date by the clock of the sponsor's world, for use in a turn. If this clock
    /// panics, the turn panics, too.
    pub(crate) fn date(&self) -> SystemTime {
        // The clock's code belongs to no turn.
        let _nobody = Entered::nobody();
        self.world.date()
    }
}
