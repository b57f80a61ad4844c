//! The inbox, through which other threads send messages to a cell (task).
//!
//! The inbox is a stack of envelopes, newest first, and the owner takes the whole stack at once.
//! Together with the mailbox, the inbox is a banker's queue, as in the Lisp TActors. The stack is a
//! Treiber stack (1986). If the stack is empty, its head has one of several special values, such as
//! IDLE. Pushing is lock-free, and taking is wait-free. The *token* is the right to notify the
//! owner of the cell.
//!
//! ```text
//!              push: gets the token                take: returns it
//!   IDLE (null) ----------------------> envelopes ---------------------> IDLE
//!     |                                  ^     |
//!     | try_hold: gets the token         |     | close
//!     +--------------------> NOTIFIED ---+     v
//!                             push       +-> CLOSED   (permanent)
//! ```
//!
//! A cell with a bounded mailbox has BOUNDED instead of IDLE, so that a send by the owner cannot
//! skip the check of the bound.
//!
//! While a cell is lent (`runtime/sponsor/README.md`, rescue), it has RESTING instead of IDLE. A
//! push to RESTING gets the token, like a push to IDLE.

use garrick_core::prim::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use super::envelope::Envelope;
use super::header::Header;

/// The inbox is empty, and a thread holds the token (the right to notify the owner of the cell).
const NOTIFIED: *mut Envelope = std::ptr::without_provenance_mut(1);
/// The inbox is closed: nothing can be pushed to it any more.
const CLOSED: *mut Envelope = std::ptr::without_provenance_mut(2);
/// The cell is a door: a function behind an address. No envelope is ever pushed, because each
/// sender runs the function itself.
pub(super) const DOOR: *mut Envelope = std::ptr::without_provenance_mut(3);
/// The inbox is empty, and no thread holds the token (the right to notify the owner). The cell is
/// lent: other threads handle its messages during a long turn of the owner. Threads other than the
/// owner treat this value as IDLE. The owner itself must send through the inbox, because the other
/// threads take envelopes from the inbox.
const RESTING: *mut Envelope = std::ptr::without_provenance_mut(4);

/// The value that stands for IDLE in a cell with a bounded mailbox. It differs from IDLE so that
/// sends to other cells need no check for a bound.
const BOUNDED: *mut Envelope = std::ptr::without_provenance_mut(5);

fn is_list(inbox: *mut Envelope) -> bool {
    inbox.addr() > BOUNDED.addr()
}

/// Returns true if the value is IDLE or BOUNDED, which are the values of an idle inbox.
#[inline]
fn is_idle(inbox: *mut Envelope) -> bool {
    inbox.is_null() || inbox == BOUNDED
}

/// Returns the value that stands for IDLE: BOUNDED if the mailbox is bounded, otherwise the null
/// pointer.
#[inline]
pub(super) fn idle_of(is_bounded: bool) -> *mut Envelope {
    if is_bounded {
        BOUNDED
    } else {
        std::ptr::null_mut()
    }
}

/// A list of envelopes (memory blocks with messages) that are pushed in one step. The links lead
/// from `newest` to `oldest`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    pub(crate) oldest: *mut Envelope,
    pub(crate) newest: *mut Envelope,
}

impl Chain {
    /// Returns a chain (a list of envelopes) with one envelope.
    pub(crate) fn of_one(envelope: *mut Envelope) -> Self {
        Self {
            oldest: envelope,
            newest: envelope,
        }
    }
}

/// The result of pushing a chain of envelopes to an inbox.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Push {
    /// The cell was idle, so the pusher now holds its token: the right to notify the owner. The
    /// oldest envelope of the chain carries the token. The pusher must push this envelope to the
    /// ready stack (the envelopes that have made idle cells ready) of the worker that owns the
    /// cell.
    Token,
    /// Another thread already notifies the owner (holds the token), so the owner will take the
    /// chain (the list of pushed envelopes).
    Queued,
    /// The cell is closed. The chain (the list of envelopes) still belongs to the caller.
    Closed,
}

impl Header {
    /// Returns true if the inbox is empty and no thread holds the token (the right to notify the
    /// owner). Only the owner calls this.
    ///
    /// A true result means that each envelope whose push happened before this call was already
    /// taken out of the inbox. Another thread may push at any time.
    #[inline]
    pub(crate) fn inbox_is_idle(&self) -> bool {
        // Relaxed: the owner wrote IDLE itself, and a push that happened before this call (the case
        // that matters for the order between one sender and one receiver) is seen by coherence.
        is_idle(self.inbox.load(Relaxed))
    }

    /// Returns true if the inbox is idle and the mailbox is not bounded. Only the owner calls this.
    ///
    /// A true result means that each envelope whose push happened before this call was already
    /// taken out of the inbox. Another thread may push at any time.
    #[inline]
    pub(crate) fn inbox_is_idle_and_unbounded(&self) -> bool {
        // Relaxed: as above.
        self.inbox.load(Relaxed).is_null()
    }

    /// Returns true if the inbox is idle, and the mailbox is bounded.
    #[inline(always)]
    pub(crate) fn inbox_is_idle_and_bounded(&self) -> bool {
        // Relaxed: as above.
        self.inbox.load(Relaxed) == BOUNDED
    }

    /// Returns the value that this cell's inbox has while the inbox is idle.
    fn idle(&self) -> *mut Envelope {
        idle_of(self.is_bounded())
    }

    /// Returns true if the inbox is closed. A closed inbox stays closed. A false result may be
    /// outdated immediately.
    #[inline]
    pub(crate) fn inbox_is_closed(&self) -> bool {
        // Relaxed: no other read depends on the result.
        self.inbox.load(Relaxed) == CLOSED
    }

    /// Returns true if the cell is a door (a function behind an address) and not a task. The result
    /// never changes.
    #[inline]
    pub(crate) fn is_door(&self) -> bool {
        // Relaxed: written before the first address was given away.
        self.inbox.load(Relaxed) == DOOR
    }

    /// Pushes a chain (a list of envelopes) to the inbox (`cell/README.md`, step 1). The cell must
    /// not be a door (a function behind an address).
    ///
    /// # Safety
    /// The caller has a reference to the cell, and owns the chain.
    pub(crate) unsafe fn push(&self, chain: Chain) -> Push {
        self.check_alive();
        let mut seen = self.inbox.load(Relaxed);
        debug_assert_ne!(seen, DOOR, "a door has no inbox");
        loop {
            if seen == CLOSED {
                // Acquire: pairs with the Release in `close`; a thread that finds the inbox closed
                // must find all references moved to the shared count (`refs`, orphans).
                let _closed = self.inbox.load(Acquire);
                return Push::Closed;
            }
            let below = if is_list(seen) {
                seen
            } else {
                std::ptr::null_mut()
            };
            // SAFETY: the chain is still ours.
            unsafe { (*chain.oldest).set_next(below) };
            // Release: pairs with the Acquire in `take_and_idle` and `close`; publishes
            // the envelopes.
            // Acquire: pairs with the Release in `take_and_idle`; a pusher that finds IDLE reads
            // the home that the owner had stored before.
            match self
                .inbox
                .compare_exchange_weak(seen, chain.newest, AcqRel, Relaxed)
            {
                Ok(_) if is_idle(seen) || seen == RESTING => return Push::Token,
                Ok(_) => return Push::Queued,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes the token (the right to notify the owner) of an idle cell. Returns false if another
    /// thread has the token (`cell/README.md`, step 3). Only the owner calls this.
    #[must_use]
    pub(crate) fn try_hold(&self) -> bool {
        // Relaxed: the owner's fields are handed on by the shared queue; nothing is read here.
        self.inbox
            .compare_exchange(self.idle(), NOTIFIED, Relaxed, Relaxed)
            .is_ok()
    }

    /// Takes all envelopes, newest first, and gives back the token, which is the right to notify
    /// the owner (`cell/README.md`, steps 2 and 4). Only an owner that has the token calls this.
    pub(crate) fn take_and_idle(&self) -> *mut Envelope {
        // Acquire: pairs with the Release in `push`. Release: pairs with the Acquire in `push`;
        // publishes the home to the next thread that takes the token.
        taken(self.inbox.swap(self.idle(), AcqRel))
    }

    /// Takes all envelopes, newest first, and keeps the token (the right to notify the owner).
    /// Returns null if there are no envelopes. Only the thread that has the token calls this.
    pub(crate) fn take_and_hold(&self) -> *mut Envelope {
        // Acquire: pairs with the Release in `push`. The home that the owner has released stays
        // released for the next thread that takes the token, by the release sequence that this swap
        // and those below are part of.
        taken(self.inbox.swap(NOTIFIED, Acquire))
    }

    /// Gives back the token (the right to notify the owner), and returns true. If an envelope has
    /// come since the caller took all envelopes, does nothing and returns false. Only an owner that
    /// has the token calls this.
    #[must_use]
    pub(crate) fn try_idle(&self) -> bool {
        // Relaxed: the home stays released, as in `take_and_hold`.
        self.inbox
            .compare_exchange(NOTIFIED, self.idle(), Relaxed, Relaxed)
            .is_ok()
    }

    /// Gives back the token (the right to notify the owner), marks the inbox as RESTING (empty, in
    /// a cell that other threads visit), and returns true. If an envelope has come since the caller
    /// took all envelopes, does nothing and returns false. Called by a thread that is not the
    /// owner, but has the token.
    #[must_use]
    pub(crate) fn try_rest(&self) -> bool {
        // Relaxed: the lock of the loan, which the caller holds, hands on what was done to the
        // task; else as in `take_and_hold`.
        self.inbox
            .compare_exchange(NOTIFIED, RESTING, Relaxed, Relaxed)
            .is_ok()
    }

    /// Changes the inbox from RESTING (empty, in a cell that other threads visit) back to IDLE.
    /// Changes nothing if the inbox has another value, because a thread then has the token (the
    /// right to notify the owner) and will give it back. Only the owner calls this.
    pub(crate) fn end_rest(&self) {
        // Relaxed: the lock of the loan has ordered what was done before.
        let _ = self
            .inbox
            .compare_exchange(RESTING, self.idle(), Relaxed, Relaxed);
    }

    /// Closes the inbox permanently and takes the remaining envelopes, newest first. Only an owner
    /// that has the token (the right to notify the owner) calls this.
    pub(crate) fn close(&self) -> *mut Envelope {
        // Acquire: pairs with the Release in `push`.
        // Release: pairs with the Acquire in `push` that finds it; publishes the orphan mark of
        // `refs`.
        taken(self.inbox.swap(CLOSED, AcqRel))
    }
}

/// Returns the list in a value that was taken out of an inbox, or null if the value is not a list.
fn taken(inbox: *mut Envelope) -> *mut Envelope {
    debug_assert!(
        !is_idle(inbox) && inbox != CLOSED,
        "the caller held the token"
    );
    if is_list(inbox) {
        inbox
    } else {
        std::ptr::null_mut()
    }
}

/// Reverses a list, so that the oldest envelope comes first.
///
/// # Safety
/// The caller owns the list.
pub(crate) unsafe fn reverse(mut list: *mut Envelope) -> *mut Envelope {
    let mut reversed = std::ptr::null_mut();
    while !list.is_null() {
        // SAFETY: ours, and not null.
        unsafe {
            let next = (*list).next();
            (*list).set_next(reversed);
            reversed = list;
            list = next;
        }
    }
    reversed
}
