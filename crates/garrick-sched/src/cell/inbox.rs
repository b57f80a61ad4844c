//! The inbox: the only way by which other threads reach a cell.
//!
//! A stack of envelopes, newest first, that the owner takes as a whole (a banker's queue, as in the
//! Lisp TActors; the stack is Treiber's, 1986), with three special values. Pushing is lock-free,
//! taking is wait-free.
//!
//! ```text
//!              push: holds the token               take: gives it back
//!   IDLE (null) ----------------------> envelopes ---------------------> IDLE
//!     |                                  ^     |
//!     | try_hold: holds the token        |     | close
//!     +--------------------> NOTIFIED ---+     v
//!                             push       +-> CLOSED   (for good)
//! ```
//!
//! A cell with a bounded mailbox has BOUNDED in place of IDLE, so that the owner's own sends do not
//! pass its bound unseen.
//!
//! While a cell is lent (`runtime/sponsor/README.md`, rescue), RESTING stands for IDLE: a push
//! takes the token from it as well.

use garrick_core::prim::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use super::envelope::Envelope;
use super::header::Header;

/// Empty, and a thread holds the token.
const NOTIFIED: *mut Envelope = std::ptr::without_provenance_mut(1);
/// Nothing can be pushed any more.
const CLOSED: *mut Envelope = std::ptr::without_provenance_mut(2);
/// The cell is a door: nothing is ever pushed, each sender handles the message itself.
pub(super) const DOOR: *mut Envelope = std::ptr::without_provenance_mut(3);
/// Empty, and nobody holds the token. IDLE to all threads but the owner, which sends through the
/// inbox, because others take from it.
const RESTING: *mut Envelope = std::ptr::without_provenance_mut(4);

/// IDLE of a cell with a bounded mailbox. A separate value, so that senders to other cells pay
/// nothing for the bound.
const BOUNDED: *mut Envelope = std::ptr::without_provenance_mut(5);

fn is_list(inbox: *mut Envelope) -> bool {
    inbox.addr() > BOUNDED.addr()
}

/// Returns true if the value is IDLE, of either kind of cell.
#[inline]
fn is_idle(inbox: *mut Envelope) -> bool {
    inbox.is_null() || inbox == BOUNDED
}

/// Returns the IDLE value of a cell, bounded or not.
#[inline]
pub(super) fn idle_of(is_bounded: bool) -> *mut Envelope {
    if is_bounded {
        BOUNDED
    } else {
        std::ptr::null_mut()
    }
}

/// Envelopes to be pushed in one step: `newest` leads by `next` to `oldest`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    pub(crate) oldest: *mut Envelope,
    pub(crate) newest: *mut Envelope,
}

impl Chain {
    /// Returns a chain of one envelope.
    pub(crate) fn of_one(envelope: *mut Envelope) -> Self {
        Self {
            oldest: envelope,
            newest: envelope,
        }
    }
}

/// The result of a push.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Push {
    /// The cell was idle: the pusher holds its token, carried by the chain's oldest envelope, and
    /// must put it on the ready stack of the cell's home.
    Token,
    /// Another thread holds the token; the owner will come by.
    Queued,
    /// The cell is closed; the chain still belongs to the caller.
    Closed,
}

impl Header {
    /// Returns true if nobody holds the token and nothing waits here.
    ///
    /// For the owner only: to the owner, IDLE stays IDLE until a foreign thread pushes.
    #[inline]
    pub(crate) fn inbox_is_idle(&self) -> bool {
        // Relaxed: the owner wrote IDLE itself, and a push that happened before this call (the case
        // that matters for the order between one sender and one receiver) is seen by coherence.
        is_idle(self.inbox.load(Relaxed))
    }

    /// Returns true if the inbox is idle and the mailbox is not bounded.
    ///
    /// For the owner only: to the owner, IDLE stays IDLE until a foreign thread pushes.
    #[inline]
    pub(crate) fn inbox_is_idle_and_unbounded(&self) -> bool {
        // Relaxed: as above.
        self.inbox.load(Relaxed).is_null()
    }

    /// Returns the IDLE value of this cell.
    fn idle(&self) -> *mut Envelope {
        idle_of(self.is_bounded())
    }

    /// Returns true if the inbox was closed. False may be out of date at once, true never is.
    #[inline]
    pub(crate) fn inbox_is_closed(&self) -> bool {
        // Relaxed: nothing is read on the strength of it.
        self.inbox.load(Relaxed) == CLOSED
    }

    /// Returns true if the cell is a door. The answer never changes.
    #[inline]
    pub(crate) fn is_door(&self) -> bool {
        // Relaxed: written before the first address was given away.
        self.inbox.load(Relaxed) == DOOR
    }

    /// Pushes a chain (README, step 1). The cell is not a door.
    ///
    /// # Safety
    /// The caller holds a reference, and the chain is its own.
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

    /// Owner only: takes the token of an idle cell. Returns false if another thread has it (README,
    /// step 3).
    #[must_use]
    pub(crate) fn try_hold(&self) -> bool {
        // Relaxed: the owner's fields are handed on by the shared queue; nothing is read here.
        self.inbox
            .compare_exchange(self.idle(), NOTIFIED, Relaxed, Relaxed)
            .is_ok()
    }

    /// Token holder, as owner: takes all envelopes and gives the token back (README, steps 2 and
    /// 4). The list is newest first.
    pub(crate) fn take_and_idle(&self) -> *mut Envelope {
        // Acquire: pairs with the Release in `push`. Release: pairs with the Acquire in `push`;
        // publishes the home to the next thread that takes the token.
        taken(self.inbox.swap(self.idle(), AcqRel))
    }

    /// Token holder: takes all envelopes and keeps the token. The list is newest first. Returns
    /// null if there are none.
    pub(crate) fn take_and_hold(&self) -> *mut Envelope {
        // Acquire: pairs with the Release in `push`. The home that the owner has released stays
        // released for the next thread that takes the token, by the release sequence that this swap
        // and those below are part of.
        taken(self.inbox.swap(NOTIFIED, Acquire))
    }

    /// Token holder who took all, and is not the owner: gives the token back, and leaves RESTING.
    /// Returns false if something has come.
    #[must_use]
    pub(crate) fn try_rest(&self) -> bool {
        // Relaxed: the lock of the loan, which the caller holds, hands on what was done to the
        // task; else as in `take_and_hold`.
        self.inbox
            .compare_exchange(NOTIFIED, RESTING, Relaxed, Relaxed)
            .is_ok()
    }

    /// Owner only: ends RESTING. If the inbox has another value, a thread has the token, and gives
    /// it back.
    pub(crate) fn end_rest(&self) {
        // Relaxed: the lock of the loan has ordered what was done before.
        let _ = self
            .inbox
            .compare_exchange(RESTING, self.idle(), Relaxed, Relaxed);
    }

    /// Token holder, as owner: closes the inbox for good and takes the rest, newest first.
    pub(crate) fn close(&self) -> *mut Envelope {
        // Acquire: pairs with the Release in `push`.
        // Release: pairs with the Acquire in `push` that finds it; publishes the orphan mark of
        // `refs`.
        taken(self.inbox.swap(CLOSED, AcqRel))
    }
}

/// Returns the list in a value that a token holder took out of an inbox; null if there is none.
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

/// Reverses a list, so that the oldest comes first.
///
/// # Safety
/// The list is the caller's own.
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
