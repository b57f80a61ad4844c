//! The gate of a sponsor that refuses strangers.

use crate::cell::Home;
use crate::gate::Gate;
use crate::remote::Remote;

/// Guard of the gate of a sponsor.
pub(super) struct OwnGate(Home);

impl OwnGate {
    /// Claims a gate. Returns `None` if all numbers of workers are in use.
    pub(super) fn claim() -> Option<Self> {
        let home = Remote::claim()?;
        Remote::of(home).become_gate().begin();
        Some(Self(home))
    }

    /// Returns the home of cells that have this gate and belong to no worker.
    pub(super) fn home(&self) -> Home {
        self.0
    }

    fn gate(&self) -> &'static Gate {
        let gate = Remote::of(self.0).gate();
        gate.unwrap_or_else(|| unreachable!("`claim` has made it"))
    }

    /// Opens the gate for the sponsor at address `sponsor`, whose workers have the homes `homes`.
    pub(super) fn open(&self, sponsor: *const (), homes: &[Home]) {
        let gate = self.gate();
        for home in homes {
            Remote::of(*home).set_gate(gate);
        }
        gate.open(sponsor);
    }

    /// Closes the gate permanently.
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
