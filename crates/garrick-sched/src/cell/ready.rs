//! The ready stack of a worker: the cells (tasks) whose token (right to notify the worker) another
//! thread has taken. A thread *sits on the seat* of a worker while it runs the worker.
//!
//! A ready stack is a Treiber stack of the envelopes that carry the tokens. The *sitter*, which is
//! the thread that runs the worker, takes the whole stack. The same word also records whether there
//! is a sitter. So no fence and no second flag is needed: a push on `PARKED` gives the seat to the
//! pusher.
//!
//! ```text
//!   a thread sits, or soon will:         null, or a list
//!   the same, and other threads help:    LENT, or a list with this bit
//!   no thread sits, a thread watches:    WATCHED, or a list with this bit
//!   no thread sits:                      PARKED
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
//! During a long turn of the sitter, another thread takes the stack and stores LENT (`lend`). This
//! thread can then take further envelopes (`take_lent`). Pushes keep the mark LENT. The sitter
//! removes the mark by `take`, whose result shows that other threads have tokens
//! (`runtime/sponsor/README.md`, rescue).
//!
//! A push is lock-free, and a take is wait-free.

use garrick_core::prim::{
    atomic::{
        AtomicPtr, AtomicUsize,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
    unmodelled::AtomicBool,
};

use super::envelope::Envelope;

/// The stack is empty. No thread runs the worker, and no thread watches the stack.
const PARKED: *mut Envelope = std::ptr::without_provenance_mut(1);
/// No thread runs the worker. A thread watches the stack, and will run the worker if an envelope is
/// pushed.
const WATCHED: usize = 2;
/// A thread runs the worker, and other threads may take envelopes from the stack.
const LENT: usize = 4;
/// Bit mask of all marks that the word of the stack can contain in addition to a list of envelopes.
const MARKS: usize = WATCHED | LENT;

/// The result of pushing an envelope onto a worker's ready stack. Shows what the pushing thread
/// must do.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notice {
    /// The pusher need not do anything, because a thread runs the worker or soon will.
    Taken,
    /// The thread that runs the worker does not check the stack now, but other threads may take
    /// envelopes from it. The pusher may have to wake one of these threads.
    Lent,
    /// No thread was running the worker. The pusher now has the right to run it. The pusher must do
    /// so, or must pass this right to another thread.
    Yours,
}

/// The state of a worker's ready stack, as read by a thread that watches the stack instead of
/// running the worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// No envelope was pushed, and no thread runs the worker.
    Nothing,
    /// An envelope was pushed, and no thread runs the worker.
    Called,
    /// Another thread has begun to run the worker.
    Gone,
}

/// The ready stack of a worker. Any thread may push envelopes. The thread that runs the worker (the
/// sitter) takes them.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    head: AtomicPtr<Envelope>,
    /// The number of times that a thread has begun to run the worker.
    sits: AtomicUsize,
    /// True if the thread that has begun to run the worker most recently is a guest: a thread that
    /// waits for an answer. A hint, which is not modelled.
    is_with_guest: AtomicBool,
}

/// Returns true if a thread watches the stack instead of running the worker.
fn is_watched(head: *mut Envelope) -> bool {
    head.addr() & WATCHED != 0
}

/// Returns true if no thread runs the worker, and nothing was pushed to the stack.
fn is_free(head: *mut Envelope) -> bool {
    head == PARKED || head.addr() == WATCHED
}

/// Extracts the list of envelopes from the word of the stack, which may also contain marks.
fn list_of(head: *mut Envelope) -> *mut Envelope {
    if head == PARKED {
        return std::ptr::null_mut();
    }
    head.map_addr(|addr| addr & !MARKS)
}

/// Returns true if the word of the stack has the mark LENT: other threads may take envelopes.
fn is_lent(head: *mut Envelope) -> bool {
    head.addr() & LENT != 0
}

impl Ready {
    /// Returns true if the thread that runs the worker must call `take`, because there are
    /// envelopes or because the stack has the mark LENT (other threads may take envelopes).
    #[inline]
    pub(crate) fn has_some(&self) -> bool {
        // Relaxed: `take` looks again with Acquire.
        self.head.load(Relaxed).addr() > WATCHED
    }

    /// Returns true if probably no thread runs the worker, and no thread watches its ready stack.
    pub(crate) fn is_parked(&self) -> bool {
        // Acquire: pairs with the Release in `try_park`; a thread that looks for the end of a
        // sponsor sees what the last sitter did before it left (sponsor/README.md, the end).
        self.head.load(Acquire) == PARKED
    }

    /// Pushes the envelope that carries a cell's token: the right to notify the cell's owner
    /// (`cell/README.md`, step 1). If no thread runs the worker, the caller gets the right to run
    /// it. If a thread watches the stack, the caller gets this right only if `keeps` is true.
    /// Otherwise the watching thread will run the worker.
    ///
    /// # Safety
    /// The envelope carries a token, which the caller holds.
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

    /// Takes all envelopes, oldest first, and removes the mark LENT, so that other threads can no
    /// longer take envelopes. The returned flag is true if the stack had this mark. Only the thread
    /// that runs the worker calls this.
    pub(crate) fn take(&self) -> (*mut Envelope, bool) {
        // Acquire: pairs with the Release in `push`.
        let head = self.head.swap(std::ptr::null_mut(), Acquire);
        debug_assert!(head != PARKED && !is_watched(head), "only the sitter takes");
        (Self::oldest_first(list_of(head)), is_lent(head))
    }

    /// Takes `envelope` if it is the only envelope in the stack. Returns true on success. Only the
    /// thread that runs the worker calls this, for an envelope that it has pushed itself.
    pub(crate) fn take_only(&self, envelope: *mut Envelope) -> bool {
        // Relaxed: it finds what it has written itself.
        (self.head)
            .compare_exchange(envelope, std::ptr::null_mut(), Relaxed, Relaxed)
            .is_ok()
    }

    /// Takes all envelopes, oldest first, while another thread runs the worker, and sets the mark
    /// LENT: other threads may take envelopes. Returns `None` if no thread runs the worker, or if
    /// the stack already has the mark.
    pub(crate) fn lend(&self) -> Option<*mut Envelope> {
        let seen = self.head.load(Relaxed);
        if seen == PARKED || seen.addr() & MARKS != 0 {
            return None;
        }
        self.take_and_mark(seen)
    }

    /// Takes all envelopes, oldest first, from a stack with the mark LENT (other threads may take
    /// envelopes). Returns `None` if the stack no longer has the mark.
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

    /// Adds 1 to the number of times that a thread has begun to run the worker. Called by each
    /// thread that has begun to run it.
    pub(crate) fn count_sit(&self) {
        // Relaxed: the previous sitter has written it, and then left.
        let sits = self.sits.load(Relaxed).wrapping_add(1);
        // Release: pairs with the Acquire in `sits`; a thread that sees this count sees that the
        // seat is not parked any more.
        self.sits.store(sits, Release);
    }

    /// Returns the number of times that a thread has begun to run the worker.
    pub(crate) fn sits(&self) -> usize {
        // Acquire: pairs with the Release in `count_sit`.
        self.sits.load(Acquire)
    }

    /// Returns true if a thread probably runs the worker, or soon will.
    pub(crate) fn is_sat_on(&self) -> bool {
        let head = self.head.load(Relaxed);
        head != PARKED && !is_watched(head)
    }

    /// Returns true if the stack has the mark LENT: threads that do not run the worker may take
    /// envelopes.
    #[inline]
    pub(crate) fn is_lent(&self) -> bool {
        // Relaxed: `take` looks again with Acquire.
        is_lent(self.head.load(Relaxed))
    }

    /// Returns true if the stack contains envelopes and has the mark LENT, so that threads that do
    /// not run the worker may take the envelopes.
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

    /// Stops running the worker, marks the stack as PARKED, and returns true. The thread that later
    /// removes this mark gets the right to run the worker. Does nothing and returns false if there
    /// are envelopes to take. Only the thread that runs the worker calls this.
    #[must_use]
    pub(crate) fn try_park(&self) -> bool {
        // Release: pairs with the Acquire in `is_parked`, `sit` and `push`: the next sitter sees
        // what this one left. A fence orders it against the shared queue, see `sponsor::idle`.
        self.head
            .compare_exchange(std::ptr::null_mut(), PARKED, Release, Relaxed)
            .is_ok()
    }

    /// Stops running the worker in order to watch its ready stack. Returns false if there are
    /// envelopes to take. Only the thread that runs the worker calls this.
    #[must_use]
    pub(crate) fn try_watch(&self) -> bool {
        let watched = std::ptr::without_provenance_mut(WATCHED);
        // Release: as in `try_park`, for `sit_watched` and `push`.
        self.head
            .compare_exchange(std::ptr::null_mut(), watched, Release, Relaxed)
            .is_ok()
    }

    /// Returns the state of the ready stack. Called by a thread that has stopped running the worker
    /// in order to watch the stack (`try_watch`).
    pub(crate) fn look(&self) -> Look {
        // Relaxed: `sit_watched` looks again with Acquire.
        match self.head.load(Relaxed) {
            head if !is_watched(head) => Look::Gone,
            head if head.addr() == WATCHED => Look::Nothing,
            _ => Look::Called,
        }
    }

    /// Begins to run the worker again, after `try_watch`. Returns false if another thread has begun
    /// to run the worker.
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

    /// Records if the thread that now runs the worker is a guest: a thread that waits for an
    /// answer.
    pub(crate) fn note_guest(&self, is_guest: bool) {
        self.is_with_guest.store(is_guest, Relaxed);
    }

    /// Returns true if a guest (a thread that waits for an answer) runs the worker, as far as the
    /// calling thread knows.
    pub(crate) fn has_guest(&self) -> bool {
        // Relaxed: a hint.
        self.is_with_guest.load(Relaxed) && !is_free(self.head.load(Relaxed))
    }

    /// Begins to run a worker that no thread runs, even if a thread watches its ready stack.
    /// Returns true on success, as [`Ready::sit`] does.
    #[must_use]
    pub(crate) fn sit_as_guest(&self) -> bool {
        let seen = self.head.load(Relaxed);
        // Acquire: pairs with the Release in `try_park` and `try_watch`.
        is_free(seen)
            && self
                .head
                .compare_exchange(seen, std::ptr::null_mut(), Acquire, Relaxed)
                .is_ok()
    }

    /// Takes the right to run a worker that no thread runs and no thread watches. Returns true on
    /// success. The caller must then run the worker, or pass the right to another thread.
    #[must_use]
    pub(crate) fn sit(&self) -> bool {
        // Acquire: pairs with the Release in `try_park`.
        self.head
            .compare_exchange(PARKED, std::ptr::null_mut(), Acquire, Relaxed)
            .is_ok()
    }
}
