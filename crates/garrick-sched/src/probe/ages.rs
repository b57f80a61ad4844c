//! The ages of the messages in long mailboxes.
//!
//! The messages of a mailbox are numbered. Each census (a count of the messages in the mailboxes of
//! a worker) notes the end of each long mailbox: the number that the next message gets. If a later
//! census finds a message with a smaller number in the mailbox, then this message has waited at
//! least since the earlier census.
//!
//! The numbers begin again at 0 after a mailbox was empty. Then the number of the oldest message is
//! smaller than before. This change is noticed, because a task with a long mailbox is recorded at
//! the end of each activation that leaves messages.

use super::top::Listed;
use crate::cell::{Table, TaskId};
use crate::world::Nanos;

/// Maximum number of earlier censuses (counts of waiting messages) that are remembered for one
/// mailbox.
const NOTES: usize = 16;

/// Record of one mailbox, from which the age of its oldest message is computed.
struct Entry {
    task: TaskId,
    table: &'static Table,
    /// Sequence number of the message that was the oldest when the mailbox was last recorded.
    first: usize,
    /// For some earlier censuses (counts of waiting messages): the time of the census, and the
    /// sequence number that a message would have got if it had arrived at this time. The oldest
    /// census comes first.
    notes: Vec<(Nanos, usize)>,
}

impl Entry {
    /// Records `first`, the sequence number of the oldest message. Removes the records of those
    /// censuses (counts of waiting messages) that do not help to find the age of a waiting message.
    fn sees(&mut self, first: usize) {
        if first < self.first {
            self.notes.clear();
        }
        self.first = first;
        self.notes.retain(|&(_, end)| end > first);
    }

    /// Removes the census (count of waiting messages) whose neighbors are closest together in time,
    /// so that the remaining censuses stay evenly distributed in time.
    fn thin_out(&mut self) {
        // The clock of a world may go back.
        let time = |index: usize| self.notes[index].0;
        let gap = |&index: &usize| time(index + 1).saturating_sub(time(index - 1));
        let inner = 1..self.notes.len() - 1;
        if let Some(index) = inner.min_by_key(gap) {
            self.notes.remove(index);
        }
    }
}

/// The ages of the messages in the mailboxes that the latest census (count of waiting messages) has
/// listed.
#[derive(Default)]
pub(super) struct Ages {
    entries: Vec<Entry>,
    now: Nanos,
}

impl Ages {
    fn entry(&mut self, task: TaskId, table: &Table) -> Option<&mut Entry> {
        let mut entries = self.entries.iter_mut();
        entries.find(|entry| entry.task == task && entry.table.is_of_kind(table))
    }

    /// Begins a census (a count of waiting messages) at the time `now`.
    pub(super) fn begin(&mut self, now: Nanos) {
        self.now = now;
    }

    /// Records that an activation of a task has left messages in its mailbox. `first` is the
    /// sequence number of the oldest of these messages.
    pub(super) fn left(&mut self, task: TaskId, table: &Table, first: usize) {
        if let Some(entry) = self.entry(task, table) {
            entry.sees(first);
        }
    }

    /// Returns a lower bound, in nanoseconds, of the time for which the oldest message of a mailbox
    /// has waited. `first` is the sequence number of this message. Returns 0 if no earlier census
    /// (count of waiting messages) has listed the mailbox.
    pub(super) fn age_of(&mut self, task: TaskId, table: &Table, first: usize) -> Nanos {
        let now = self.now;
        let Some(entry) = self.entry(task, table) else {
            return 0;
        };
        entry.sees(first);
        let oldest = entry.notes.first();
        oldest.map_or(0, |&(time, _)| now.saturating_sub(time))
    }

    /// Records `end`, the end of a mailbox at the time of this census: the sequence number that the
    /// mailbox's next message gets. `first` is the sequence number of the oldest message in the
    /// mailbox.
    pub(super) fn note(&mut self, task: TaskId, table: &'static Table, first: usize, end: usize) {
        let now = self.now;
        if self.entry(task, table).is_none() {
            self.entries.push(Entry {
                task,
                table,
                first,
                notes: Vec::new(),
            });
        }
        let Some(entry) = self.entry(task, table) else {
            return;
        };
        if entry.notes.len() >= NOTES {
            entry.thin_out();
        }
        entry.notes.push((now, end));
    }

    /// Forgets all mailboxes that are not in `listed`.
    pub(super) fn keep(&mut self, listed: &[Listed]) {
        self.entries.retain(|entry| {
            let mut listed = listed.iter();
            listed.any(|listed| listed.is_of(entry.task, entry.table))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::tables::nothing_to_drop;

    static TABLE: Table = Table::of_messages::<u8>(nothing_to_drop);
    const TASK: TaskId = TaskId(1);

    /// Does a census (a search of all mailboxes) in which the mailbox of `TASK` contains the
    /// messages with the numbers `first..end`. Returns the age of the oldest message in the
    /// mailbox.
    fn census(ages: &mut Ages, now: Nanos, first: usize, end: usize) -> Nanos {
        ages.begin(now);
        let age = ages.age_of(TASK, &TABLE, first);
        ages.note(TASK, &TABLE, first, end);
        age
    }

    #[test]
    fn a_message_is_at_least_as_old_as_the_first_census_that_has_counted_it() {
        let mut ages = Ages::default();
        assert_eq!(census(&mut ages, 1_000, 0, 10), 0);
        assert_eq!(census(&mut ages, 2_000, 5, 30), 1_000, "number 5 was there");
        assert_eq!(
            census(&mut ages, 3_000, 10, 40),
            1_000,
            "number 10 came later"
        );
        assert_eq!(census(&mut ages, 9_000, 39, 40), 6_000);
        assert_eq!(census(&mut ages, 9_500, 40, 41), 0);
    }

    #[test]
    fn numbers_that_begin_again_are_new_messages() {
        let mut ages = Ages::default();
        census(&mut ages, 1_000, 300, 900);
        ages.left(TASK, &TABLE, 700);
        assert_eq!(census(&mut ages, 2_000, 256, 2_000), 0);
        assert_eq!(census(&mut ages, 3_000, 1_000, 2_000), 1_000);
    }

    #[test]
    fn an_age_is_never_too_large_however_many_censuses_there_were() {
        let mut ages = Ages::default();
        // A message a nanosecond, and one of two is handled.
        for now in 1..1_000 {
            let (first, end) = (now as usize / 2, now as usize);
            let age = census(&mut ages, now, first, end);
            let waits = now - first as Nanos;
            assert!(age <= waits, "{age} of {waits}");
            assert!(ages.entries[0].notes.len() <= NOTES);
            assert!(now < 100 || age > waits / 2, "{age} of {waits}");
        }
    }

    #[test]
    fn only_listed_mailboxes_are_remembered() {
        let mut ages = Ages::default();
        census(&mut ages, 1_000, 0, 10);
        ages.keep(&[]);
        assert_eq!(census(&mut ages, 2_000, 5, 10), 0);
    }
}
