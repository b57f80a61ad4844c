//! A local mailbox that a visitor (another thread) reads while the owner of the cell is in a long
//! turn (`runtime/sponsor/README.md`, rescue).
//!
//! During the visit, the owner may append once, if the owner checked the inbox before the visitor
//! took the token (the right to notify the owner). So the visitor reads only up to the end that the
//! mailbox had when the snapshot was taken. The visitor writes only the field `read` of each
//! envelope. The visitor frees the envelopes whose messages are all read, except for the last
//! envelope, in which the owner may be writing. The owner repairs the list after its turn
//! ([`Header::mend`]).

use garrick_core::prim::unmodelled::{Acquire, fence};

use super::envelope::{Envelope, Kind};
use super::header::Header;
use super::state::{Home, State};

/// Snapshot of a mailbox, for a visitor: a thread that handles messages of the mailbox during a
/// long turn of the owner.
pub(crate) struct Mail {
    /// State word of the cell.
    state: State,
    /// Oldest envelope that may have unread messages.
    first: *mut Envelope,
    /// Last envelope of the mailbox, or null if there is none.
    last: *mut Envelope,
    /// Number of free slots of the envelope `last`, or 0 if there is no envelope.
    free: u32,
    /// True if `last` is a nudge (a request for a turn without a message) that was handled.
    is_nudged: bool,
}

impl Mail {
    /// Returns the oldest envelope that was not handled, its lowest slot to read, and a flag. The
    /// flag is true if the next envelope after the returned one contains unread messages. Returns
    /// `None` if all envelopes were handled.
    pub(crate) fn next(&self) -> Option<(*mut Envelope, u32, bool)> {
        // SAFETY: envelopes up to the last one are the visitor's to read.
        let envelope = unsafe { self.first.as_ref() }?;
        let free = self.free_of(envelope);
        if self.first != self.last {
            // SAFETY: as above.
            let follows = self.has_unread(unsafe { &*envelope.next() });
            return Some((self.first, free, follows));
        }
        let is_handled = match envelope.kind() {
            Kind::Messages => !self.has_unread(envelope),
            _ => self.is_nudged,
        };
        (!is_handled).then_some((self.first, free, false))
    }

    /// Returns true if the oldest envelope contains messages that were not handled.
    pub(crate) fn has_messages(&self) -> bool {
        // SAFETY: as in `next`.
        unsafe { self.first.as_ref() }.is_some_and(|envelope| self.has_unread(envelope))
    }

    /// Returns the number of free slots that an envelope had when the snapshot of the mailbox was
    /// taken.
    fn free_of(&self, envelope: &Envelope) -> u32 {
        if std::ptr::eq(envelope, self.last) {
            self.free
        } else {
            envelope.free()
        }
    }

    fn has_unread(&self, envelope: &Envelope) -> bool {
        envelope.kind() == Kind::Messages && u32::from(envelope.read()) > self.free_of(envelope)
    }

    /// Records that the oldest envelope is a nudge (a request for a turn without a message) that
    /// was handled.
    pub(crate) fn end_nudge(&mut self) {
        self.is_nudged = self.first == self.last;
    }

    /// Advances to the next envelope. Returns the previous envelope, which has been read and must
    /// be freed. Returns `None` if the current envelope is the last.
    pub(crate) fn go_on(&mut self) -> Option<*mut Envelope> {
        if self.first == self.last {
            return None;
        }
        let read = self.first;
        // SAFETY: as above.
        self.first = unsafe { (*read).next() };
        Some(read)
    }

    /// Returns true if the owner has probably not appended messages to the mailbox since this
    /// snapshot of the mailbox was taken.
    pub(crate) fn is_whole(&self, cell: &Header) -> bool {
        // SAFETY: the last envelope stays until the owner mends the mailbox.
        let last = unsafe { self.last.as_ref() };
        cell.state() == self.state && last.is_none_or(|last| last.free() == self.free)
    }
}

impl Header {
    /// Takes a snapshot of the mailbox of a cell that waits in the run queue of the worker `home`.
    ///
    /// The caller must have the token of the cell (the right to notify this worker). `turn` returns
    /// the number of the worker's current turn. Returns `None` if the cell is not in the run queue,
    /// if the current turn has appended messages to the mailbox, or if this turn ends during the
    /// call.
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
            is_nudged: false,
        })
    }

    /// Corrects the local mailbox after another thread (a visitor) has handled messages and nudges
    /// (requests for a turn): removes what was handled. If the visitor has handled the last
    /// envelope of the snapshot, returns this envelope, which the caller must free. Only the owner
    /// calls this.
    pub(crate) fn mend(&self, mail: &Mail) -> Option<*mut Envelope> {
        let tail = self.mailbox_tail();
        if mail.last.is_null() {
            return None;
        }
        // SAFETY: the local mailbox is ours again: a list from `first` to `last`, and on to `tail`.
        unsafe {
            let last = &*mail.last;
            let is_read = match last.kind() {
                Kind::Messages => last.unread() == 0,
                _ => mail.is_nudged,
            };
            if mail.first != mail.last || !is_read {
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

    /// Inserts a list of envelopes, oldest first, before all other envelopes in the local mailbox.
    /// Only the owner calls this.
    ///
    /// # Safety
    /// The requirements of [`Header::append`] apply.
    pub(crate) unsafe fn prepend(&self, list: *mut Envelope) {
        let tail = self.mailbox_tail();
        // SAFETY: the list is ours by contract, and ends with null; the mailbox is circular.
        unsafe {
            let (mut newest, mut count) = (list, (*list).unread() as usize);
            while !(*newest).next().is_null() {
                newest = (*newest).next();
                count += (*newest).unread() as usize;
            }
            // The numbers of the inserted messages end where the numbers of the mailbox begin.
            let end = tail
                .as_ref()
                .map_or(0, |tail| (*tail.next()).first_unread());
            let (mut envelope, mut first) = (list, end.wrapping_sub(count));
            while !envelope.is_null() {
                (*envelope).begin_at(first);
                first = (*envelope).end();
                envelope = (*envelope).next();
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
