//! A local mailbox that a visitor reads while the owner of the cell is in a long turn
//! (`runtime/sponsor/README.md`, rescue).
//!
//! The owner may append meanwhile: once, if its look at the inbox came before the visitor took the
//! token. So the visitor reads no further than the end of the mailbox when it looked. It writes
//! only the positions up to which envelopes are read. It frees the read envelopes, except for the
//! last envelope, in which the owner may be writing. The owner mends the list when it is back
//! ([`Header::mend`]).

use garrick_core::prim::unmodelled::{Acquire, fence};

use super::envelope::{Envelope, Kind};
use super::header::Header;
use super::state::{Home, State};

/// The contents of a mailbox, as a visitor has seen them.
pub(crate) struct Mail {
    /// The state of the cell.
    state: State,
    /// The oldest envelope that may have unread messages.
    first: *mut Envelope,
    /// The last envelope, or null, and its free slots.
    last: *mut Envelope,
    free: u32,
}

impl Mail {
    /// Returns the oldest envelope with unread messages, the slot below which its slots do not
    /// count, and whether more envelopes follow. Returns `None` if all is read.
    pub(crate) fn next(&self) -> Option<(*mut Envelope, u32, bool)> {
        // SAFETY: envelopes up to the last one are the visitor's to read.
        let envelope = unsafe { self.first.as_ref() }?;
        let is_last = self.first == self.last;
        let free = if is_last { self.free } else { envelope.free() };
        // A note holds no messages, and is for the owner.
        let is_read =
            is_last && envelope.kind() == Kind::Messages && u32::from(envelope.read()) == free;
        (!is_read).then_some((self.first, free, !is_last))
    }

    /// Advances to the next envelope. Returns the previous one, which has been read, to be freed.
    /// Returns `None` if the current envelope is the last.
    pub(crate) fn go_on(&mut self) -> Option<*mut Envelope> {
        if self.first == self.last {
            return None;
        }
        let read = self.first;
        // SAFETY: as above.
        self.first = unsafe { (*read).next() };
        Some(read)
    }

    /// Returns true if the owner seems to have appended nothing to the mailbox of the cell.
    pub(crate) fn is_whole(&self, cell: &Header) -> bool {
        // SAFETY: the last envelope stays until the owner mends the mailbox.
        let last = unsafe { self.last.as_ref() };
        cell.state() == self.state && last.is_none_or(|last| last.free() == self.free)
    }
}

impl Header {
    /// Takes a snapshot of the mailbox of a cell that stands in the run queue of its home, and
    /// whose token the caller has. `turn` reads the number of the current turn. Returns `None` if
    /// the cell does not wait to be run there, or if that turn has appended to it.
    pub(crate) fn snapshot(&self, home: Home, turn: impl Fn() -> u64) -> Option<Mail> {
        let now = turn();
        let state = self.state();
        if !state.is_scheduled_whole_at(home) {
            return None;
        }
        // Acquire: pairs with the Release fence of a commit. Without the flag APPENDED, the last
        // envelope is committed, so it stays.
        fence(Acquire);
        let last = state.tail();
        // SAFETY: the cell is not run while others visit, so its envelopes stay.
        let (first, free) =
            unsafe { last.as_ref() }.map_or((last, 0), |last| (last.next(), last.free()));
        // Acquire: pairs with the Release fence of `Stage::cover`. If one of the two was written by
        // a current append, the state word differs, or the turn that has appended is over.
        fence(Acquire);
        let is_same = self.state() == state;
        // Acquire: pairs with the Release fence of `Cut::end`. If an append has come and gone, the
        // turn number has changed.
        fence(Acquire);
        (is_same && turn() == now).then_some(Mail {
            state,
            first,
            last,
            free,
        })
    }

    /// Owner only: removes what a visitor has read from the local mailbox. Returns the last
    /// envelope that the visitor knew, to be freed, if all of it is read.
    pub(crate) fn mend(&self, mail: &Mail) -> Option<*mut Envelope> {
        let tail = self.mailbox_tail();
        if mail.last.is_null() {
            return None;
        }
        // SAFETY: the local mailbox is ours again: a list from `first` to `last`, and on to `tail`.
        unsafe {
            let last = &*mail.last;
            let is_read =
                mail.first == mail.last && last.kind() == Kind::Messages && last.unread() == 0;
            if !is_read {
                (*tail).set_next(mail.first);
                return None;
            }
            if tail == mail.last {
                self.set_mailbox_tail(std::ptr::null_mut());
            } else {
                (*tail).set_next((*mail.last).next());
            }
        }
        Some(mail.last)
    }

    /// Owner only: puts a list of envelopes, oldest first, before all others of the local mailbox.
    ///
    /// # Safety
    /// The contract of [`Header::append`].
    pub(crate) unsafe fn prepend(&self, list: *mut Envelope) {
        let tail = self.mailbox_tail();
        // SAFETY: the list is ours by contract, and ends with null; the mailbox is circular.
        unsafe {
            let mut newest = list;
            while !(*newest).next().is_null() {
                newest = (*newest).next();
            }
            if tail.is_null() {
                (*newest).set_next(list);
                self.set_mailbox_tail(newest);
            } else {
                (*newest).set_next((*tail).next());
                (*tail).set_next(list);
            }
        }
    }
}
