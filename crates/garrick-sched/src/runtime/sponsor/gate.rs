//! The gate of a sponsor (a group of workers). After a shutdown has begun, the gate refuses
//! messages from threads that do not belong to the sponsor (strangers).

use crate::cell::Home;
use crate::gate::Gate;
use crate::remote::Remote;

/// Guard that owns the gate of a sponsor (a group of workers). The gate can refuse messages from
/// threads outside of the sponsor. Dropping the guard releases the gate.
pub(super) struct OwnGate(Home);

impl OwnGate {
    /// Creates the gate of a sponsor (a group of workers). The gate can refuse messages from other
    /// threads. The gate occupies one worker number. Returns `None` if all worker numbers are in
    /// use.
    pub(super) fn claim() -> Option<Self> {
        let home = Remote::claim()?;
        Remote::of(home).become_gate().begin();
        Some(Self(home))
    }

    /// Returns the number of the gate. Cells of this sponsor that belong to no worker have this
    /// number as their home, so that other threads find the gate.
    pub(super) fn home(&self) -> Home {
        self.0
    }

    fn gate(&self) -> &'static Gate {
        let gate = Remote::of(self.0).gate();
        gate.unwrap_or_else(|| unreachable!("`claim` has made it"))
    }

    /// Opens the gate for messages from other threads. The gate belongs to the sponsor at address
    /// `sponsor`, whose workers have the numbers `homes`.
    pub(super) fn open(&self, sponsor: *const (), homes: &[Home]) {
        let gate = self.gate();
        for home in homes {
            Remote::of(*home).set_gate(gate);
        }
        gate.open(sponsor);
    }

    /// Closes the gate permanently, because a shutdown begins. After that, the gate refuses
    /// messages from other threads.
    pub(super) fn close(&self) {
        self.gate().close();
    }
}

impl Drop for OwnGate {
    fn drop(&mut self) {
        self.gate().end();
        Remote::release(self.0);
    }
}
