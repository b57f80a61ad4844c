//! A worker's ready stack: the cells whose token somebody else took.
//!
//! A Treiber stack of the envelopes that carry the tokens, taken whole by the worker, with the
//! worker's sleep folded into the same word: pushing on `PARKED` tells the pusher to wake it, so no
//! fence and no second flag is needed. Pushing is lock-free, taking is wait-free.

use garrick_core::prim::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Relaxed, Release},
};

use super::envelope::Envelope;

/// Empty, and the worker sleeps or is about to.
const PARKED: *mut Envelope = std::ptr::without_provenance_mut(1);

/// What the one who put something on the stack has to do.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notice {
    /// Nothing, the worker is up.
    Awake,
    /// Unpark the worker.
    Unpark,
}

/// The stack. The worker takes, everyone pushes.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    head: AtomicPtr<Envelope>,
}

impl Ready {
    /// Whether there is something to take.
    #[inline]
    pub(crate) fn has_some(&self) -> bool {
        // Relaxed: `take` looks again with Acquire.
        self.head.load(Relaxed).addr() > PARKED.addr()
    }

    /// Whether the worker sleeps, as far as can be seen.
    pub(crate) fn is_parked(&self) -> bool {
        // Acquire: pairs with the Release in `try_park`; who looks for the end of a sponsor sees what the worker did
        // before it went to sleep (sponsor/README.md, the end).
        self.head.load(Acquire) == PARKED
    }

    /// Puts the envelope that carries a cell's token on the stack (README, step 2).
    ///
    /// # Safety
    /// The envelope carries a token that the caller holds.
    pub(crate) unsafe fn push(&self, envelope: *mut Envelope) -> Notice {
        debug_assert!(
            // SAFETY: by contract.
            unsafe { (*envelope).token_of() }.is_some(),
            "the carrier of a token names its cell"
        );
        let mut seen = self.head.load(Relaxed);
        loop {
            let below = if seen == PARKED {
                std::ptr::null_mut()
            } else {
                seen
            };
            // SAFETY: the token's holder has this field to itself until the exchange succeeds.
            unsafe { (*envelope).set_ready_next(below) };
            // Release: pairs with the Acquire in `take`; publishes the link and the token.
            match self
                .head
                .compare_exchange_weak(seen, envelope, Release, Relaxed)
            {
                Ok(_) if seen == PARKED => return Notice::Unpark,
                Ok(_) => return Notice::Awake,
                Err(now) => seen = now,
            }
        }
    }

    /// Worker only: takes all, oldest first.
    pub(crate) fn take(&self) -> *mut Envelope {
        // Acquire: pairs with the Release in `push`.
        let mut list = self.head.swap(std::ptr::null_mut(), Acquire);
        if list == PARKED {
            return std::ptr::null_mut();
        }
        let mut oldest_first = std::ptr::null_mut();
        while !list.is_null() {
            // SAFETY: whoever pushed it handed it over, and it lives as long as its token is out.
            unsafe {
                let next = (*list).ready_next();
                (*list).set_ready_next(oldest_first);
                oldest_first = list;
                list = next;
            }
        }
        oldest_first
    }

    /// Worker only: announces sleep; false if something is there to take.
    #[must_use]
    pub(crate) fn try_park(&self) -> bool {
        // Release: pairs with the Acquire in `is_parked`. The pusher that finds PARKED reads nothing of ours, and a fence
        // orders it against the shared queue, see `sponsor::idle`.
        self.head
            .compare_exchange(std::ptr::null_mut(), PARKED, Release, Relaxed)
            .is_ok()
    }

    /// Takes back the announcement of sleep, from either side; true if it was there. A foreign thread
    /// that gets true must unpark the worker.
    pub(crate) fn unpark(&self) -> bool {
        // Relaxed: what the worker is woken for is published by the shared queue's lock.
        self.head
            .compare_exchange(PARKED, std::ptr::null_mut(), Relaxed, Relaxed)
            .is_ok()
    }
}
