//! The ready stack of a worker's seat: the cells whose token another thread took.
//!
//! A Treiber stack of the envelopes that carry the tokens, taken as a whole by the sitter of the
//! seat. The same word also holds whether the seat has a sitter. So no fence and no second flag is
//! needed: a push on `PARKED` gives the seat to the pusher.
//!
//! ```text
//!   a thread sits, or is about to:       null, or a list
//!   the same, and others help:           LENT, or a list with this bit
//!   nobody sits, a thread looks here:    WATCHED, or a list with this bit
//!   nobody sits:                         PARKED
//!
//!            try_watch                stop_watching
//!     null ------------> WATCHED ---------------------> null ---try_park---> PARKED
//!       ^                |     | push                                          |
//!       |                |     v                                               |
//!       |                |   list with the bit                                 |
//!       |   push to keep |     | sit_watched                         sit, push |
//!       +----------------+-----+-----------------------------------------------+
//! ```
//!
//! During a long turn another thread takes the stack and leaves LENT on it (`lend`), and then
//! continues to take (`take_lent`). Pushes keep the mark. The sitter removes the mark by `take`,
//! which also shows that others have tokens (`runtime/sponsor/README.md`, rescue).
//!
//! Pushing is lock-free, taking is wait-free.

use garrick_core::prim::atomic::{
    AtomicPtr, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use super::envelope::Envelope;

/// Empty, nobody sits on the seat, and no thread looks at it.
const PARKED: *mut Envelope = std::ptr::without_provenance_mut(1);
/// Nobody sits on the seat, and a thread looks at it that will sit if something is pushed.
const WATCHED: usize = 2;
/// A thread sits on the seat, and others take from the stack.
const LENT: usize = 4;
/// All marks that a word may have beside a list.
const MARKS: usize = WATCHED | LENT;

/// The duty of a thread that has pushed to the stack.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notice {
    /// No duty: a thread sits on the seat, or is about to.
    Taken,
    /// The sitter does not look, but others take from the stack, and may have to be woken.
    Lent,
    /// The pusher owns the seat, and hands it over or sits there.
    Yours,
}

/// The state of a seat as seen by a thread that looks at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// Nothing has happened.
    Nothing,
    /// Something was pushed, and nobody sits there.
    Called,
    /// Another thread has taken the seat.
    Gone,
}

/// The ready stack. The sitter takes, any thread pushes.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    head: AtomicPtr<Envelope>,
    /// The number of times that a thread has sat down, see [`Ready::sits`].
    sits: AtomicUsize,
}

/// Returns true if a thread looks at the seat.
fn is_watched(head: *mut Envelope) -> bool {
    head.addr() & WATCHED != 0
}

/// Returns the list in a word.
fn list_of(head: *mut Envelope) -> *mut Envelope {
    if head == PARKED {
        return std::ptr::null_mut();
    }
    head.map_addr(|addr| addr & !MARKS)
}

/// Returns true if others take from the stack.
fn is_lent(head: *mut Envelope) -> bool {
    head.addr() & LENT != 0
}

impl Ready {
    /// Returns true if there is something to take, or others take, which must be ended.
    #[inline]
    pub(crate) fn has_some(&self) -> bool {
        // Relaxed: `take` looks again with Acquire.
        self.head.load(Relaxed).addr() > WATCHED
    }

    /// Returns true if nobody seems to sit there or look.
    pub(crate) fn is_parked(&self) -> bool {
        // Acquire: pairs with the Release in `try_park`; a thread that looks for the end of a
        // sponsor sees what the last sitter did before it left (sponsor/README.md, the end).
        self.head.load(Acquire) == PARKED
    }

    /// Puts the envelope that carries a cell's token on the stack (README, step 2). A caller that
    /// `keeps` takes the seat also if a thread looks at it.
    ///
    /// # Safety
    /// The envelope carries a token that the caller holds.
    pub(crate) unsafe fn push(&self, envelope: *mut Envelope, keeps: bool) -> Notice {
        debug_assert!(
            // SAFETY: by contract.
            unsafe { (*envelope).token_of() }.is_some(),
            "the carrier of a token names its cell"
        );
        let mut seen = self.head.load(Relaxed);
        loop {
            let is_free = seen == PARKED || keeps && seen.addr() == WATCHED;
            // SAFETY: the token's holder has this field to itself until the exchange succeeds.
            unsafe { (*envelope).set_ready_next(list_of(seen)) };
            let mark = if is_free { 0 } else { seen.addr() & MARKS };
            let new = envelope.map_addr(|addr| addr | mark);
            // Release: pairs with the Acquire in `take`; publishes the link and the token.
            // Acquire: pairs with the Release in `try_park` and `try_watch`; the pusher that gets
            // the seat may sit there, or hands it to the next sitter.
            match self.head.compare_exchange_weak(seen, new, AcqRel, Relaxed) {
                Ok(_) if is_free => return Notice::Yours,
                Ok(_) if is_lent(seen) => return Notice::Lent,
                Ok(_) => return Notice::Taken,
                Err(now) => seen = now,
            }
        }
    }

    /// Sitter only: takes all envelopes, oldest first, and ends the taking by others. Returns
    /// whether others took.
    pub(crate) fn take(&self) -> (*mut Envelope, bool) {
        // Acquire: pairs with the Release in `push`.
        let head = self.head.swap(std::ptr::null_mut(), Acquire);
        debug_assert!(head != PARKED && !is_watched(head), "only the sitter takes");
        (Self::oldest_first(list_of(head)), is_lent(head))
    }

    /// Sitter only: takes the envelope that it has pushed itself, if there is nothing else.
    pub(crate) fn take_only(&self, envelope: *mut Envelope) -> bool {
        // Relaxed: it finds what it has written itself.
        (self.head)
            .compare_exchange(envelope, std::ptr::null_mut(), Relaxed, Relaxed)
            .is_ok()
    }

    /// Takes all envelopes, oldest first, from a seat with a sitter, and leaves LENT for
    /// `take_lent`. Returns `None` if nobody sits there, or others take already.
    pub(crate) fn lend(&self) -> Option<*mut Envelope> {
        let seen = self.head.load(Relaxed);
        if seen == PARKED || seen.addr() & MARKS != 0 {
            return None;
        }
        self.take_and_mark(seen)
    }

    /// Takes all envelopes, oldest first, from a lent stack. Returns `None` if it is not lent any
    /// more.
    pub(crate) fn take_lent(&self) -> Option<*mut Envelope> {
        let seen = self.head.load(Relaxed);
        if !is_lent(seen) {
            return None;
        }
        if list_of(seen).is_null() {
            return Some(std::ptr::null_mut());
        }
        self.take_and_mark(seen)
    }

    fn take_and_mark(&self, mut seen: *mut Envelope) -> Option<*mut Envelope> {
        let was_lent = is_lent(seen);
        let lent = std::ptr::without_provenance_mut(LENT);
        loop {
            // Acquire: pairs with the Release in `push`.
            match self
                .head
                .compare_exchange_weak(seen, lent, Acquire, Relaxed)
            {
                Ok(list) => return Some(Self::oldest_first(list_of(list))),
                Err(now) => seen = now,
            }
            if seen == PARKED || is_watched(seen) || is_lent(seen) != was_lent {
                return None;
            }
        }
    }

    /// Sitter only: counts that a thread has sat down.
    pub(crate) fn count_sit(&self) {
        // Relaxed: the previous sitter has written it, and then left.
        let sits = self.sits.load(Relaxed).wrapping_add(1);
        // Release: pairs with the Acquire in `sits`; a thread that sees this count sees that the
        // seat is not parked any more.
        self.sits.store(sits, Release);
    }

    /// Returns how often a thread has sat down.
    pub(crate) fn sits(&self) -> usize {
        // Acquire: pairs with the Release in `count_sit`.
        self.sits.load(Acquire)
    }

    /// Returns true if a thread seems to sit on the seat, or is about to.
    pub(crate) fn is_sat_on(&self) -> bool {
        let head = self.head.load(Relaxed);
        head != PARKED && !is_watched(head)
    }

    /// Returns true if others than the sitter take from the stack.
    #[inline]
    pub(crate) fn is_lent(&self) -> bool {
        // Relaxed: `take` looks again with Acquire.
        is_lent(self.head.load(Relaxed))
    }

    /// Returns true if others than the sitter may find something here.
    pub(crate) fn has_lent(&self) -> bool {
        // Relaxed: `take_lent` looks again with Acquire; a fence orders it against sleep.
        let head = self.head.load(Relaxed);
        is_lent(head) && !list_of(head).is_null()
    }

    fn oldest_first(mut list: *mut Envelope) -> *mut Envelope {
        let mut oldest_first = std::ptr::null_mut();
        while !list.is_null() {
            // SAFETY: the pusher handed it over, and it lives as long as its token is out.
            unsafe {
                let next = (*list).ready_next();
                (*list).set_ready_next(oldest_first);
                oldest_first = list;
                list = next;
            }
        }
        oldest_first
    }

    /// Sitter only: leaves the seat. Returns false if there is something to take. From here on the
    /// seat belongs to the thread that removes the mark.
    #[must_use]
    pub(crate) fn try_park(&self) -> bool {
        // Release: pairs with the Acquire in `is_parked`, `sit` and `push`: the next sitter sees
        // what this one left. A fence orders it against the shared queue, see `sponsor::idle`.
        self.head
            .compare_exchange(std::ptr::null_mut(), PARKED, Release, Relaxed)
            .is_ok()
    }

    /// Sitter only: leaves the seat and goes on to look at it. Returns false if there is something
    /// to take.
    #[must_use]
    pub(crate) fn try_watch(&self) -> bool {
        let watched = std::ptr::without_provenance_mut(WATCHED);
        // Release: as in `try_park`, for `sit_watched` and `push`.
        self.head
            .compare_exchange(std::ptr::null_mut(), watched, Release, Relaxed)
            .is_ok()
    }

    /// Looks at the seat, for a thread that has left it by `try_watch`.
    pub(crate) fn look(&self) -> Look {
        // Relaxed: `sit_watched` looks again with Acquire.
        match self.head.load(Relaxed) {
            head if !is_watched(head) => Look::Gone,
            head if head.addr() == WATCHED => Look::Nothing,
            _ => Look::Called,
        }
    }

    /// Sits down again after `try_watch`. Returns false if another thread has taken the seat.
    #[must_use]
    pub(crate) fn sit_watched(&self) -> bool {
        let mut seen = self.head.load(Relaxed);
        while is_watched(seen) {
            // Acquire: pairs with the Release in `try_watch` and `try_park`: another thread may
            // have sat here and left since, and watches now as this one did.
            match self
                .head
                .compare_exchange_weak(seen, list_of(seen), Acquire, Relaxed)
            {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Takes a seat where nobody sits, watched or not. Returns true if that succeeds, like
    /// [`Ready::sit`].
    #[must_use]
    pub(crate) fn sit_as_guest(&self) -> bool {
        let seen = self.head.load(Relaxed);
        // Acquire: pairs with the Release in `try_park` and `try_watch`.
        (seen == PARKED || seen.addr() == WATCHED)
            && self
                .head
                .compare_exchange(seen, std::ptr::null_mut(), Acquire, Relaxed)
                .is_ok()
    }

    /// Takes a seat where nobody sits or looks. Returns true if that succeeds, and then the caller
    /// sits there or hands the seat over.
    #[must_use]
    pub(crate) fn sit(&self) -> bool {
        // Acquire: pairs with the Release in `try_park`.
        self.head
            .compare_exchange(PARKED, std::ptr::null_mut(), Acquire, Relaxed)
            .is_ok()
    }
}
