//! Builds the index entry of a journal from what was read about the journal.

use std::sync::Arc;

use super::index::{Journal, Place};
use super::segment::name_of;
use crate::error::JournalError;
use crate::event::Event;

/// The data that has been collected about a journal while a log is read.
#[derive(Default)]
pub(super) struct Read {
    pub(super) name: Option<Arc<str>>,
    pub(super) named_in: u32,
    /// Sequence number of the newest event, according to the last frame (record of a log file) that
    /// contains the name of the journal.
    pub(super) newest: u64,
    /// Sequence number of the newest event with the whole state, or 0 if there is none.
    pub(super) whole: u64,
    /// Numbers and places of the events, in the order of the log.
    pub(super) events: Vec<(u64, Place)>,
}

impl Read {
    pub(super) fn add(&mut self, event: Event<'_>, place: Place) {
        if event.is_whole && event.number > self.whole {
            self.whole = event.number;
            self.events.retain(|(number, _)| *number > event.number);
        }
        if event.number >= self.whole {
            self.events.push((event.number, place));
        }
    }
}

/// Builds the index entry of a journal from the collected data `read`. Omits the events that are no
/// longer needed. `snapshots` has the numbers of the kept snapshots, ascending.
pub(super) fn journal_of(
    id: u64,
    read: Read,
    snapshots: Vec<u64>,
) -> Result<Journal, JournalError> {
    let Read {
        name,
        named_in,
        newest,
        whole,
        mut events,
    } = read;
    let Some(name) = name else {
        let why = format!("the name of the journal number {id} is missing");
        let (file, at) = events.first().map_or((name_of(named_in), 0), |(_, place)| {
            (name_of(place.segment), place.at)
        });
        return Err(JournalError::damaged(&file, at.into(), why));
    };
    let mut journal = Journal::new(name);
    journal.named_in = named_in;
    journal.snapshots = snapshots;
    // Of an event with copies, the newest one stays.
    events.reverse();
    events.sort_by_key(|(number, _)| *number);
    events.dedup_by_key(|(number, _)| *number);
    let horizon = first_horizon(&journal, whole, &events);
    events.retain(|(number, _)| *number > horizon);
    for ((number, _), expected) in events.iter().zip(horizon + 1..) {
        if *number != expected {
            return Err(missing(&journal.name, expected, named_in));
        }
    }
    journal.newest = horizon + events.len() as u64;
    if journal.newest < newest {
        return Err(missing(&journal.name, journal.newest + 1, named_in));
    }
    journal.places = events.into_iter().map(|(_, place)| place).collect();
    Ok(journal)
}

/// Returns the number of the last event that is not needed in a journal. `whole` is the number of
/// the newest event with the whole state, or 0. `events` has each event once, ascending.
///
/// The kept snapshots alone do not determine the result. For example, events may have been removed
/// because there were two snapshots, and one of these was found to be damaged later, so that it is
/// no longer used. If an event that the oldest kept snapshot covers is missing, no event that this
/// snapshot covers is needed. If all of these events are there, they can be read instead of a
/// damaged snapshot. An event after the oldest snapshot must never be missing.
fn first_horizon(journal: &Journal, whole: u64, events: &[(u64, Place)]) -> u64 {
    let horizon = journal.horizon().max(whole.saturating_sub(1));
    let covered = journal.snapshots.first().copied().unwrap_or(0);
    let place_of = |number| events.partition_point(|(other, _)| *other <= number);
    let held = place_of(covered).saturating_sub(place_of(horizon));
    // A removed event may have left a copy, so it is not enough to look at the first event.
    if (held as u64) < covered.saturating_sub(horizon) {
        covered
    } else {
        horizon
    }
}

/// Returns the error for a missing event of a journal. The name of the journal is in the segment
/// `segment`.
pub(super) fn missing(journal: &str, number: u64, segment: u32) -> JournalError {
    let why = format!("the event {number} of the journal {journal:?} is missing");
    JournalError::damaged(&name_of(segment), 0, why)
}
