//! The gate of a sponsor that refuses messages from strangers once it ends.
//!
//! A stranger is a thread that works for another sponsor, or for none. A message that a stranger
//! sends outside of a turn goes through the gate:
//!
//! | a stranger sends | the sponsor begins to end |
//! | --- | --- |
//! | G1. read lock; refused if the gate is closed | E1. write lock: closes the gate |
//! | G2. pushes the message, with the token if that is its own | E2. raises DRAIN |
//! | G3. unlocks | E3. the workers look for the end |
//!
//! If E1 comes before G1, the message goes back to its sender. If E1 comes after G3, E3 sees what
//! G2 has pushed, and the message is handled. So every accepted message is handled, and no message
//! is accepted once the end has begun. The price is two read-modify-writes of a shared word for
//! each message, for sponsors that asked for a gate. Other sponsors pay one load of a word that
//! nobody writes.
//!
//! A cell stands behind the gate of its home. Cells in the shared queue have no worker: their home
//! is the number of the gate.

use std::sync::PoisonError;

use garrick_core::prim::{
    RwLock, RwLockReadGuard,
    unmodelled::{AtomicPtr, AtomicUsize, Relaxed},
};

/// Number of gates in this process. Not modelled: a stranger gets the address of a task behind a
/// gate from a thread that knew the gate.
#[cfg(not(garrick_loom))]
static GATES: AtomicUsize = AtomicUsize::new(0);

// Number of gates of each model. Each model is run by its own system thread.
#[cfg(garrick_loom)]
thread_local! {
    static GATES: AtomicUsize = const { AtomicUsize::new(0) };
}

#[cfg(not(garrick_loom))]
#[inline(always)]
fn with_gates<R>(f: impl FnOnce(&AtomicUsize) -> R) -> R {
    f(&GATES)
}

#[cfg(garrick_loom)]
fn with_gates<R>(f: impl FnOnce(&AtomicUsize) -> R) -> R {
    GATES.with(f)
}

/// A gate, closed at first. Lies in a [`Remote`](crate::remote::Remote) whose number no worker has,
/// and is never freed.
#[derive(Default)]
pub(crate) struct Gate {
    is_open: RwLock<bool>,
    /// Address of the sponsor, used for comparison only.
    sponsor: AtomicPtr<()>,
}

/// The right to push a message through a gate, until dropped. No foreign code may be called
/// meanwhile.
#[must_use]
pub(crate) struct Pass {
    _open: RwLockReadGuard<'static, bool>,
}

impl Gate {
    /// Returns true if this process has any gate that the caller can know of.
    #[inline]
    pub(crate) fn are_any() -> bool {
        with_gates(|gates| gates.load(Relaxed) != 0)
    }

    /// Counts this gate as in use, for a sponsor that is being built.
    pub(crate) fn begin(&self) {
        with_gates(|gates| gates.fetch_add(1, Relaxed));
    }

    /// Closes the gate and no longer counts it, because its sponsor is gone.
    pub(crate) fn end(&self) {
        self.close();
        with_gates(|gates| gates.fetch_sub(1, Relaxed));
    }

    /// Opens the gate for the sponsor at that address.
    pub(crate) fn open(&self, sponsor: *const ()) {
        self.sponsor.store(sponsor.cast_mut(), Relaxed);
        self.set_open(true);
    }

    /// Closes the gate for good (E1).
    pub(crate) fn close(&self) {
        self.set_open(false);
    }

    /// Returns the address of the sponsor that owns the gate.
    pub(crate) fn sponsor(&self) -> *const () {
        self.sponsor.load(Relaxed)
    }

    /// Admits a stranger (G1). Returns `None` if the gate is closed.
    pub(crate) fn enter(&'static self) -> Option<Pass> {
        let open = self.is_open.read();
        let open = open.unwrap_or_else(PoisonError::into_inner);
        (*open).then_some(Pass { _open: open })
    }

    fn set_open(&self, is_open: bool) {
        *self.is_open.write().unwrap_or_else(PoisonError::into_inner) = is_open;
    }
}
