//! Events without payloads.

use std::ops::RangeInclusive;

use garrick_journal::{Event, Group, JournalId, SegmentLog};

/// Appends events with these numbers to the journal `a`, one in each group. Returns the journal.
pub(crate) fn append_to_a(log: &mut SegmentLog, numbers: RangeInclusive<u64>) -> JournalId {
    let journal = log.journal("a").unwrap();
    for number in numbers {
        let mut group = Group::new();
        let event = Event {
            number,
            ..Event::default()
        };
        group.add(journal, event).unwrap();
        log.append(&group).unwrap();
    }
    journal
}
