//! Visits: while a worker is stuck in a long turn, it lends its cells (tasks), and other workers
//! handle the messages of these cells (section *Rescue* of the README.md in this folder).

use std::ptr;

use crate::cell::{CellPtr, Envelope, Home, Mail};
use crate::run_queue::Entry;

/// A visit: a worker, the visitor, runs a cell that another worker has lent. The visitor has the
/// token of the cell (the right to notify the owner). The owner does not run the cell before it has
/// recalled the cell.
pub(crate) struct Visit {
    pub(crate) cell: CellPtr,
    pub(super) seat: usize,
    pub(super) home: Home,
    /// Entry of the cell in a run queue, until the visitor takes the entry to handle its message.
    pub(super) entry: Option<Entry>,
    /// Snapshot of the cell's mailbox, if the cell was in a run queue.
    pub(crate) mail: Option<Mail>,
    /// Envelopes (blocks of messages) that the previous visitor of the cell has not handled, oldest
    /// first.
    pub(super) rest: Option<Rest>,
    /// Work for the owner of the cell, from notes (internal messages) that have come during the
    /// visit.
    pub(crate) notes: Notes,
}

/// Work that notes (internal messages) have left for the owner of a cell. The notes came while
/// another worker was running the cell.
#[derive(Default)]
pub(crate) struct Notes {
    /// True if watchers of the task were registered. The owner must then give the cell the function
    /// table that marks a watched task.
    pub(crate) is_watched: bool,
    /// Number of references to the cell that other threads have given back, by RELEASE notes
    /// (internal messages).
    pub(crate) releases: usize,
}

impl Notes {
    pub(super) fn is_empty(&self) -> bool {
        !self.is_watched && self.releases == 0
    }

    /// Adds the work that the notes (internal messages) of a later visit leave to the owner.
    pub(super) fn add(&mut self, later: &Self) {
        self.is_watched |= later.is_watched;
        self.releases += later.releases;
    }
}

impl Visit {
    /// Creates a visit, in which the calling worker runs a lent cell for which messages have come.
    /// The cell belongs to the worker number `seat` of the crew (the workers and threads of one
    /// sponsor).
    pub(super) fn of(cell: CellPtr, seat: usize, home: Home) -> Self {
        Self {
            cell,
            seat,
            home,
            entry: None,
            mail: None,
            rest: None,
            notes: Notes::default(),
        }
    }

    /// Lets this visit continue with the work that an earlier visit of the lent cell has left.
    pub(super) fn resume(self, left: Left) -> Self {
        Self {
            mail: left.mail,
            rest: Some(left.rest),
            notes: left.notes,
            ..self
        }
    }

    /// Takes the envelopes (blocks of messages) that the previous visitor (worker that ran the lent
    /// cell) has not handled.
    pub(crate) fn take_rest(&mut self) -> Option<Rest> {
        self.rest.take()
    }

    /// Returns true if the snapshot of the lent cell's mailbox has envelopes (blocks of messages)
    /// that were not handled.
    pub(crate) fn has_mail(&self) -> bool {
        self.next_mail().is_some()
    }

    /// Returns true if the next envelope (memory block) in the snapshot of the mailbox contains
    /// messages.
    pub(crate) fn has_messages(&self) -> bool {
        self.mail.as_ref().is_some_and(Mail::has_messages)
    }

    /// Returns the next envelope (memory block) in the snapshot of the mailbox, like
    /// [`Mail::next`].
    pub(crate) fn next_mail(&self) -> Option<(*mut Envelope, u32, bool)> {
        self.mail.as_ref()?.next()
    }

    /// Records that the next envelope in the snapshot is a nudge (a request for a turn) that was
    /// handled, like [`Mail::end_nudge`].
    pub(crate) fn end_nudge(&mut self) {
        if let Some(mail) = &mut self.mail {
            mail.end_nudge();
        }
    }

    /// Advances to the next envelope (memory block) in the snapshot of the mailbox, like
    /// [`Mail::go_on`].
    pub(crate) fn next_envelope(&mut self) -> Option<*mut Envelope> {
        self.mail.as_mut()?.go_on()
    }

    /// Takes the entry that the cell had in a run queue, if there is one.
    pub(crate) fn take_entry(&mut self) -> Option<Entry> {
        self.entry.take()
    }

    /// Returns true if the messages in the cell's inbox can be handled next, because the cell has
    /// no older messages elsewhere.
    pub(crate) fn is_calm(&self) -> bool {
        match &self.mail {
            Some(mail) => mail.is_whole(&self.cell),
            None => self.cell.state().rests_at(self.home),
        }
    }
}

/// Envelopes (blocks of messages) to a lent cell that a visitor (a worker that ran the cell) has
/// not handled.
#[derive(Clone, Copy)]
pub(crate) struct Rest {
    /// Linked list of the envelopes, oldest first, or null if there are none.
    pub(crate) list: *mut Envelope,
    /// True if the envelopes are older than the messages in the mailbox, false if they are newer.
    pub(crate) is_older: bool,
}

impl Rest {
    pub(crate) const NONE: Self = Self {
        list: ptr::null_mut(),
        is_older: false,
    };
}

/// Reason why a worker stops running a cell that another worker has lent.
pub(crate) enum Outcome {
    /// The worker has handled all messages of the cell.
    Done,
    /// The visiting worker has other work.
    Later,
    /// Only the worker that owns the cell may handle the next envelope (memory block with messages
    /// or a note).
    ForOwner,
    /// The task has stopped.
    Stops,
    /// A turn has panicked with the contained message and was undone.
    Failed(String),
}

/// Result of a visit, in which a worker has run a cell that another worker has lent.
pub(crate) struct Parted {
    pub(crate) rest: Rest,
    pub(crate) outcome: Outcome,
}

/// Next step after a visit, in which a worker has run a cell that another worker has lent.
pub(crate) enum After {
    /// There is nothing more to do.
    Nothing,
    /// More messages have come, so that the visit continues.
    Again(Visit),
    /// The owner (the lending worker) has recalled the cell. The visitor must notify the owner, by
    /// a note (an internal message) that carries the token of the cell (the right to notify the
    /// owner).
    Tell(CellPtr),
}

/// The work that remains for the owner of a lent cell after another worker has run the cell.
pub(crate) struct Left {
    pub(crate) rest: Rest,
    pub(crate) outcome: Outcome,
    /// Snapshot of the mailbox, if the cell was taken out of a run queue.
    pub(crate) mail: Option<Mail>,
    pub(crate) notes: Notes,
}

impl Left {
    /// Leaves the messages of a cell to the owner of the cell, including those that an earlier
    /// visitor has not handled.
    pub(super) fn for_owner(visit: Visit) -> Self {
        Self {
            rest: visit.rest.unwrap_or(Rest::NONE),
            outcome: Outcome::ForOwner,
            mail: visit.mail,
            notes: visit.notes,
        }
    }
}
