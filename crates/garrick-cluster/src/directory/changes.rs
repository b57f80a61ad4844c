//! Requests to the placement (the store of the cluster's records) that have no answer yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::Address;
use garrick_sched::{Nanos, nanos};

use crate::placement::{Change, News, Placement};

/// Time without an answer after which a read or a change of a record is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// Maximum number of changes of records that have no answer yet.
const CHANGES_MAX: usize = 64;

/// Returns true if a request that was sent at `since` has had no answer for [`AGAIN`] or longer.
fn is_late(since: Nanos, now: Nanos) -> bool {
    now.saturating_sub(since) >= nanos(AGAIN)
}

/// Requests of a directory (the actor that knows all services and names) to the placement, the
/// store of the cluster's records.
pub(super) struct Changes {
    placement: Arc<dyn Placement>,
    /// Changes without an answer, by the keys of their records.
    pending: BTreeMap<Arc<str>, Pending>,
    ticket: u64,
    /// True if a change was postponed because too many changes have no answer.
    puts_off: bool,
    /// Time at which the unanswered request for records was sent. `None` if no request is
    /// unanswered.
    reads_since: Option<Nanos>,
    /// True if a record may have changed after the unanswered request was sent. In this case,
    /// another request follows the answer.
    reads_again: bool,
}

/// A change of a record that the placement (the store of the cluster's records) has not answered
/// yet.
pub(super) struct Pending {
    ticket: u64,
    since: Nanos,
    pub(super) value: Option<bytes::Bytes>,
}

impl Changes {
    pub(super) fn new(placement: Arc<dyn Placement>) -> Self {
        Self {
            placement,
            pending: BTreeMap::new(),
            ticket: 0,
            puts_off: false,
            reads_since: None,
            reads_again: false,
        }
    }

    /// Asks the placement (the store of the cluster's records) to notify `to` after changes of
    /// records.
    pub(super) fn watch(&self, to: &Address<News>) {
        self.placement.watch(to);
    }

    /// Forgets the changes that have had no answer for a long time, because the answers may never
    /// come.
    pub(super) fn forget_late(&mut self, now: Nanos) {
        self.pending
            .retain(|_, pending| !is_late(pending.since, now));
    }

    /// Returns true if a change of this record has no answer yet.
    pub(super) fn is_pending(&self, key: &str) -> bool {
        self.pending.contains_key(key)
    }

    /// Changes a record. Does nothing if an earlier change of this record has no answer yet, or if
    /// too many changes are unanswered. In both cases, the caller must try again later.
    pub(super) fn change(
        &mut self,
        key: Arc<str>,
        expected: u64,
        value: Option<bytes::Bytes>,
        now: Nanos,
        to: &Address<News>,
    ) {
        if self.is_pending(&key) {
            return;
        }
        if self.pending.len() >= CHANGES_MAX {
            self.puts_off = true;
            return;
        }
        self.ticket += 1;
        let pending = Pending {
            ticket: self.ticket,
            since: now,
            value: value.clone(),
        };
        self.pending.insert(key.clone(), pending);
        let change = Change {
            key,
            expected,
            value,
            ticket: self.ticket,
        };
        self.placement.change(change, to);
    }

    /// Removes and returns the unanswered change of the record `key` with the number `ticket`, if
    /// there is one.
    pub(super) fn answered(&mut self, key: &str, ticket: u64) -> Option<Pending> {
        let is_it = self
            .pending
            .get(key)
            .is_some_and(|pending| pending.ticket == ticket);
        is_it.then(|| self.pending.remove(key)).flatten()
    }

    /// Returns true if changes were postponed, and some of them can be sent now.
    pub(super) fn has_room_again(&mut self) -> bool {
        let has_room = self.puts_off && self.pending.len() <= CHANGES_MAX / 2;
        self.puts_off &= !has_room;
        has_room
    }

    /// Requests all records that were changed after the revision `since`. `to` receives the answer.
    /// If an earlier request is still unanswered, only notes that another request must follow.
    pub(super) fn read(&mut self, since: u64, now: Nanos, to: &Address<News>) {
        if self.reads_since.is_some_and(|since| !is_late(since, now)) {
            self.reads_again = true;
            return;
        }
        (self.reads_since, self.reads_again) = (Some(now), false);
        self.placement.read(since, to);
    }

    /// Notes that the requested records have arrived. Returns true if the records must be requested
    /// again.
    pub(super) fn has_read(&mut self) -> bool {
        self.reads_since = None;
        self.reads_again
    }
}
