//! The journals of a log, and the places of their events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::frame::Frame;
use crate::group::JournalId;

/// Number of snapshots that are kept for each journal. If the newest snapshot cannot be read, the
/// older snapshot and the events after it are used.
pub(super) const SNAPSHOTS_KEPT: usize = 2;

/// The place of an event in the segments (the files of a log).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) segment: u32,
    /// Position of the event's frame (its encoded record) in the segment, in bytes.
    pub(super) at: u32,
}

/// Data about a journal, kept in memory: the name of the journal, and the places of its events.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) name: Arc<str>,
    /// Sequence number of the newest event, or 0 if there is none.
    pub(super) newest: u64,
    /// Places of the newest events. Older events are covered by a snapshot, or by an event with the
    /// whole state.
    pub(super) places: VecDeque<Place>,
    /// Number of the newest segment that contains the name of the journal.
    pub(super) named_in: u32,
    /// Numbers of the events after which the kept snapshots were taken, ascending.
    pub(super) snapshots: Vec<u64>,
}

impl Journal {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            newest: 0,
            places: VecDeque::new(),
            named_in: 0,
            snapshots: Vec::new(),
        }
    }

    /// Returns the sequence number of the oldest kept event, or of the next event if no event is
    /// kept.
    pub(super) fn oldest(&self) -> u64 {
        self.newest + 1 - self.places.len() as u64
    }

    /// Returns the place (segment and position in the segment) of the event with the given number.
    /// Returns `None` if the event is not kept.
    pub(super) fn place_mut(&mut self, number: u64) -> Option<&mut Place> {
        let index = number.checked_sub(self.oldest())?;
        self.places.get_mut(usize::try_from(index).ok()?)
    }

    /// Returns the sequence number of the last event that the older of the two kept snapshots
    /// covers. Returns 0 if there are fewer than two snapshots. The events up to this number are
    /// not needed.
    pub(super) fn horizon(&self) -> u64 {
        let covered = self.snapshots.len().checked_sub(SNAPSHOTS_KEPT);
        covered.map_or(0, |at| self.snapshots[at])
    }
}

/// Counts of the events in a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Number of kept events in the segment. The other events are no longer needed.
    pub(super) live: u64,
    /// Number of all events in the segment.
    pub(super) written: u64,
}

/// The journals of a log.
#[derive(Debug, Default)]
pub(super) struct Index {
    ids: HashMap<Arc<str>, JournalId>,
    journals: HashMap<JournalId, Journal>,
    /// Largest number that has ever identified a journal of the log.
    last: u64,
    /// Counts of the events in each segment.
    held: BTreeMap<u32, Held>,
}

impl Index {
    /// Returns the journal with the given name. Adds the journal if it does not exist.
    pub(super) fn id_of(&mut self, name: &str) -> JournalId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = JournalId(self.last + 1);
        self.add(id, Journal::new(name.into()));
        id
    }

    /// Returns the journal with the given name.
    pub(super) fn find(&self, name: &str) -> Option<JournalId> {
        self.ids.get(name).copied()
    }

    /// Adds a journal that was read from the files.
    pub(super) fn add(&mut self, id: JournalId, journal: Journal) {
        self.last = self.last.max(id.0);
        for place in &journal.places {
            self.held.entry(place.segment).or_default().live += 1;
        }
        self.ids.insert(Arc::clone(&journal.name), id);
        self.journals.insert(id, journal);
    }

    /// Records that the number `id` identified a journal that no longer exists. So the number is
    /// not used again.
    pub(super) fn note_given(&mut self, id: u64) {
        self.last = self.last.max(id);
    }

    pub(super) fn get(&self, id: JournalId) -> Option<&Journal> {
        self.journals.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: JournalId) -> Option<&mut Journal> {
        self.journals.get_mut(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (JournalId, &Journal)> {
        self.journals.iter().map(|(id, journal)| (*id, journal))
    }

    /// Returns the place (segment and position in the segment) of the event with the given number.
    /// Returns `None` if the event is not kept.
    pub(super) fn place_of(&self, id: JournalId, number: u64) -> Option<Place> {
        let journal = self.journals.get(&id)?;
        let index = number.checked_sub(journal.oldest())?;
        journal.places.get(usize::try_from(index).ok()?).copied()
    }

    /// Adds `events` to the number of kept events and to the number of all events in a segment.
    pub(super) fn count(&mut self, segment: u32, events: u64) {
        self.held.entry(segment).or_default().live += events;
        self.count_written(segment, events);
    }

    /// Adds `events` to the number of all events in a segment, but not to the number of kept
    /// events.
    pub(super) fn count_written(&mut self, segment: u32, events: u64) {
        self.held.entry(segment).or_default().written += events;
    }

    /// Records that a frame was copied from one place to another.
    pub(super) fn moved(&mut self, frame: Frame<'_>, from: Place, to: Place) {
        match frame {
            Frame::Event { journal, event } => {
                let id = JournalId(journal);
                self.count_written(to.segment, 1);
                if self.place_of(id, event.number) == Some(from)
                    && let Some(place) = self
                        .get_mut(id)
                        .and_then(|journal| journal.place_mut(event.number))
                {
                    *place = to;
                    self.leave(from.segment, 1);
                    self.held.entry(to.segment).or_default().live += 1;
                }
            }
            Frame::Name { journal, .. } => {
                if let Some(journal) = self.get_mut(JournalId(journal))
                    && journal.named_in == from.segment
                {
                    journal.named_in = to.segment;
                }
            }
            Frame::Commit(_) | Frame::Deleted { .. } => {}
        }
    }

    /// Removes the places of events that are not needed, because the older of the two kept
    /// snapshots covers them.
    pub(super) fn trim(&mut self, id: JournalId) {
        let Some(journal) = self.journals.get_mut(&id) else {
            return;
        };
        let mut left = BTreeMap::new();
        while journal.oldest() <= journal.horizon()
            && let Some(place) = journal.places.pop_front()
        {
            *left.entry(place.segment).or_default() += 1;
        }
        for (segment, count) in left {
            self.leave(segment, count);
        }
    }

    pub(super) fn remove(&mut self, id: JournalId) -> Option<Journal> {
        let journal = self.journals.remove(&id)?;
        self.ids.remove(&journal.name);
        for place in &journal.places {
            self.leave(place.segment, 1);
        }
        Some(journal)
    }

    /// Removes the journal with the given name if it has no event and has never had one. Its number
    /// is not used again.
    pub(super) fn remove_unused(&mut self, name: &str) {
        let id = self.find(name);
        let is_unused = |journal: &Journal| journal.newest == 0 && journal.snapshots.is_empty();
        if let Some(id) = id.filter(|id| self.get(*id).is_some_and(is_unused)) {
            self.remove(id);
        }
    }

    /// Subtracts `count` from the number of kept events in a segment.
    pub(super) fn leave(&mut self, segment: u32, count: u64) {
        if let Some(held) = self.held.get_mut(&segment) {
            held.live -= count;
        }
    }

    /// Returns the number of kept events in a segment.
    pub(super) fn live_in(&self, segment: u32) -> u64 {
        self.held_in(segment).live
    }

    /// Returns the counts of the events in a segment.
    pub(super) fn held_in(&self, segment: u32) -> Held {
        self.held.get(&segment).copied().unwrap_or_default()
    }

    /// Removes the counts of a segment that contains no kept event.
    pub(super) fn forget(&mut self, segment: u32) {
        let held = self.held.remove(&segment).unwrap_or_default();
        debug_assert!(held.live == 0, "no event is lost");
    }
}
