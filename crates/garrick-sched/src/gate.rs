//! The gate of a sponsor (a group of workers). The gate refuses messages from strangers after the
//! sponsor has begun to shut down.
//!
//! A stranger is a thread that is not a worker of this sponsor. A message that a stranger sends
//! outside of a turn goes through the gate:
//!
//! | a stranger sends | the sponsor begins to shut down |
//! | --- | --- |
//! | G1. takes the read lock. Gives up if the gate is closed | E1. takes the write lock and closes the gate |
//! | G2. pushes the message. If the push got the token (the right to notify), notifies the home | E2. sets DRAIN |
//! | G3. unlocks | E3. the workers check if all messages are handled |
//!
//! If E1 comes before G1, the message is returned to its sender. If E1 comes after G3, E3 sees what
//! G2 has pushed, and the message is handled. So every accepted message is handled, and no message
//! is accepted after the shutdown has begun. If a sponsor has a gate, each message of a stranger
//! costs two read-modify-writes of a shared word. As long as no sponsor of the process has a gate,
//! each message of a stranger costs one load of a word that no thread writes.
//!
//! Each cell contains the number of its home. The home is a worker, and the gate of this worker's
//! sponsor is the gate of the cell. While a cell is in the shared queue, it belongs to no worker,
//! and contains the number of the gate instead.

use std::sync::PoisonError;

use garrick_core::prim::{
    RwLock, RwLockReadGuard,
    unmodelled::{AtomicPtr, AtomicUsize, Relaxed},
};

/// Number of gates in use in this process. A gate can refuse messages to the tasks of a sponsor (a
/// group of workers). The loom models do not explore this count. Relaxed loads are enough: a thread
/// gets the address of a task with a gate only from a thread that has already seen a count above 0.
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

/// The gate of a sponsor (a group of workers). While the gate is closed, the cells of the sponsor
/// refuse messages that threads outside of the sponsor send outside of turns. A new gate is closed.
/// Each gate has a [`Remote`](crate::remote::Remote) with a number that no worker uses. A gate is
/// never freed.
#[derive(Default)]
pub(crate) struct Gate {
    is_open: RwLock<bool>,
    /// Address of the sponsor (group of workers) that owns the gate. Used only for comparison.
    sponsor: AtomicPtr<()>,
}

/// Guard that allows its owner to push one message to a sponsor (a group of workers) that has a
/// gate. A thread that closes the gate waits until the guard is dropped. No foreign code may be
/// called while the guard exists.
#[must_use]
pub(crate) struct Pass {
    _open: RwLockReadGuard<'static, bool>,
}

impl Gate {
    /// Returns true if any sponsor (group of workers) of this process has a gate, which can refuse
    /// messages. The result is reliable if the calling thread has an address of a task whose
    /// sponsor has a gate.
    #[inline]
    pub(crate) fn are_any() -> bool {
        with_gates(|gates| gates.load(Relaxed) != 0)
    }

    /// Counts this gate among the gates in use. A gate in use can refuse messages from other
    /// threads. Called when the group of workers (sponsor) is being started.
    pub(crate) fn begin(&self) {
        with_gates(|gates| gates.fetch_add(1, Relaxed));
    }

    /// Closes the gate, and no longer counts it among the gates in use. Called after the sponsor
    /// (the group of workers) has stopped.
    pub(crate) fn end(&self) {
        self.close();
        with_gates(|gates| gates.fetch_sub(1, Relaxed));
    }

    /// Makes the sponsor (group of workers) at the address `sponsor` the owner of the gate, and
    /// opens the gate for messages from other threads.
    pub(crate) fn open(&self, sponsor: *const ()) {
        self.sponsor.store(sponsor.cast_mut(), Relaxed);
        self.set_open(true);
    }

    /// Closes the gate, so that it refuses messages from other threads. This is step E1 of the
    /// table at the beginning of this file. The gate stays closed until another sponsor (group of
    /// workers) uses the gate.
    pub(crate) fn close(&self) {
        self.set_open(false);
    }

    /// Returns the address of the sponsor (the group of workers) that owns the gate.
    pub(crate) fn sponsor(&self) -> *const () {
        self.sponsor.load(Relaxed)
    }

    /// Checks that the gate is open, for a message from a thread outside of the sponsor (the group
    /// of workers). This is step G1 of the table at the beginning of this file. Returns a guard
    /// that keeps the gate open, or `None` if the gate is closed.
    pub(crate) fn enter(&'static self) -> Option<Pass> {
        let open = self.is_open.read();
        let open = open.unwrap_or_else(PoisonError::into_inner);
        (*open).then_some(Pass { _open: open })
    }

    fn set_open(&self, is_open: bool) {
        *self.is_open.write().unwrap_or_else(PoisonError::into_inner) = is_open;
    }
}
