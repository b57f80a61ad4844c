//! Appending of groups of events to the log.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use super::SegmentLog;
use super::header::{HEADER_BYTES, Header};
use super::index::Place;
use super::segment::{Segment, close_some};
use crate::error::{JournalError, describe};
use crate::event::Event;
use crate::frame::{Commit, Frame, commit_bytes, event_bytes};
use crate::group::{GROUP_MAX, Group, JournalId};

/// A change to the index, which is undone if the group is not appended.
enum Change {
    /// A new event was added.
    Added(JournalId),
    /// A new event with the whole state was added. Contains the places of the older events that it
    /// replaces.
    Replaced(JournalId, VecDeque<Place>),
    /// An event was copied. Contains its number and the place of the original.
    Copied(JournalId, u64, Place),
    /// The name of the journal was written again. Contains the number of the segment with the
    /// previous frame of this name.
    Named(JournalId, u32),
}

impl SegmentLog {
    /// Appends the events of a group, and makes them durable with one sync. After a crash, the log
    /// contains all of these events or none. Does nothing if the group is empty.
    ///
    /// # Errors
    /// Returns [`JournalError::Conflict`] if the number of an event does not follow the number of
    /// the newest event of the journal, and [`JournalError::TooLarge`] if the group has more than
    /// 256 MiB: the payloads, and 29 bytes for each event. Also returns any I/O error.
    ///
    /// After an error other than [`JournalError::Broken`], no event of the group is in the log, and
    /// the next group can be appended.
    pub fn append(&mut self, group: &Group) -> Result<(), JournalError> {
        self.check_usable()?;
        if group.is_empty() {
            return Ok(());
        }
        let mut writer = self.begin(group.bytes() + group.len() * event_bytes(0))?;
        for (id, event) in group.events() {
            writer.event(id, event)?;
        }
        writer.commit()
    }

    /// Begins a group of about `size` bytes. If the last segment is full, begins the group in a new
    /// segment.
    pub(super) fn begin(&mut self, size: usize) -> Result<Writer<'_>, JournalError> {
        if size > GROUP_MAX {
            return Err(JournalError::TooLarge {
                what: "a group",
                bytes: size,
                limit: GROUP_MAX,
            });
        }
        let limit = self.options.segment_bytes;
        let is_full = |segment: &Segment| {
            let end = segment.length + size as u64 + commit_bytes() as u64;
            segment.length > HEADER_BYTES as u64 && end > limit
        };
        let is_over = self
            .segments
            .last_key_value()
            .is_none_or(|(_, last)| is_full(last));
        if is_over || self.is_closed {
            self.add_segment()?;
        }
        let (number, start) = self.end();
        self.buffer.clear();
        Ok(Writer {
            log: self,
            segment: number,
            start,
            count: 0,
            changes: Vec::new(),
        })
    }

    /// Returns the sequence number of the last segment, and the length of this segment.
    fn end(&self) -> (u32, u32) {
        let last = self.segments.last_key_value();
        let (number, segment) = last.expect("a segment was added before");
        // A segment has at most 1 GiB before its last group.
        (*number, segment.length as u32)
    }

    /// Adds a segment for the next group. The previous segment is never written again.
    pub(super) fn add_segment(&mut self) -> Result<(), JournalError> {
        // Even if this fails: the file may be there, and tells where the segment before ends.
        self.is_closed = true;
        self.add_segment_with(&[])?;
        self.is_closed = false;
        Ok(())
    }

    /// Adds a segment that begins with the encoded groups `groups`.
    pub(super) fn add_segment_with(&mut self, groups: &[u8]) -> Result<(), JournalError> {
        let last = self.segments.last_key_value();
        let last = last.map(|(number, segment)| (*number, segment.length));
        let (number, previous_length) = last.unwrap_or_default();
        let header = Header {
            segment: u64::from(number) + 1,
            previous_length,
            first_group: self.next_group,
            oldest: self.oldest_needed.into(),
        };
        let segment = Segment::create(&*self.files, header, groups)?;
        self.segments.insert(number + 1, segment);
        close_some(&mut self.segments, number + 1);
        Ok(())
    }
}

/// A group that is being written. Dropping the `Writer` before [`Writer::commit`] leaves the log
/// unchanged.
pub(super) struct Writer<'l> {
    log: &'l mut SegmentLog,
    /// Number of the segment to which the group is written.
    segment: u32,
    /// Length of the segment before the group was written.
    start: u32,
    /// Number of frames in the group so far.
    count: u32,
    /// Changes that the group has made to the index so far, except for changes to the counts of
    /// kept events.
    changes: Vec<Change>,
}

impl Writer<'_> {
    fn put(&mut self, frame: Frame<'_>) -> Place {
        let at = self.start + self.log.buffer.len() as u32;
        frame.put(&mut self.log.buffer);
        self.count += 1;
        Place {
            segment: self.segment,
            at,
        }
    }

    /// Adds a frame with the name of a journal, unless the segment already contains this name.
    pub(super) fn name(&mut self, id: JournalId) {
        let segment = self.segment;
        let Some(journal) = self.log.index.get_mut(id) else {
            return;
        };
        if journal.named_in == segment {
            return;
        }
        let before = mem::replace(&mut journal.named_in, segment);
        let (name, newest) = (Arc::clone(&journal.name), journal.newest);
        self.changes.push(Change::Named(id, before));
        self.put(Frame::Name {
            journal: id.0,
            newest,
            name: &name,
        });
    }

    /// Adds a new event.
    ///
    /// # Errors
    /// Returns [`JournalError::Conflict`] if the event does not follow the newest event of its
    /// journal.
    pub(super) fn event(&mut self, id: JournalId, event: Event<'_>) -> Result<(), JournalError> {
        self.name(id);
        let place = self.put(Frame::Event {
            journal: id.0,
            event,
        });
        let journal = self.log.index.get_mut(id);
        let conflict = |journal: &str, expected| JournalError::Conflict {
            journal: journal.to_owned(),
            expected,
            found: event.number,
        };
        let journal = journal.ok_or_else(|| conflict(&format!("number {}", id.0), 0))?;
        if event.number != journal.newest + 1 {
            return Err(conflict(&journal.name, journal.newest + 1));
        }
        journal.newest += 1;
        self.changes.push(if event.is_whole {
            Change::Replaced(id, mem::take(&mut journal.places))
        } else {
            Change::Added(id)
        });
        journal.places.push_back(place);
        Ok(())
    }

    /// Adds a copy of an event that is in the log.
    pub(super) fn copy(&mut self, id: JournalId, event: Event<'_>) {
        self.name(id);
        let place = self.put(Frame::Event {
            journal: id.0,
            event,
        });
        if let Some(journal) = self.log.index.get_mut(id)
            && let Some(kept) = journal.place_mut(event.number)
        {
            let before = mem::replace(kept, place);
            self.changes.push(Change::Copied(id, event.number, before));
        }
    }

    /// Adds a frame that records the deletion of a journal.
    pub(super) fn delete(&mut self, id: JournalId) {
        self.put(Frame::Deleted { journal: id.0 });
    }

    /// Writes and syncs the group. After an error, no part of the group is in the log.
    pub(super) fn commit(mut self) -> Result<(), JournalError> {
        let (start, count) = (self.start, self.count);
        let at = start + self.log.buffer.len() as u32;
        self.put(Frame::Commit(Commit {
            group: self.log.next_group,
            start,
            count,
            at,
            copy_of: 0,
        }));
        self.log.write()?;
        self.log.next_group += 1;
        let index = &mut self.log.index;
        let is_event = |change: &&Change| !matches!(change, Change::Named(..));
        let events = self.changes.iter().filter(is_event).count();
        // Before the others: an event of this group may be replaced by a later one.
        index.count(self.segment, events as u64);
        for change in self.changes.drain(..) {
            match change {
                Change::Replaced(_, places) => {
                    for place in places {
                        index.leave(place.segment, 1);
                    }
                }
                Change::Copied(_, _, before) => index.leave(before.segment, 1),
                Change::Added(_) | Change::Named(..) => {}
            }
        }
        Ok(())
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        let index = &mut self.log.index;
        for change in self.changes.drain(..).rev() {
            let (Change::Added(id)
            | Change::Replaced(id, _)
            | Change::Copied(id, ..)
            | Change::Named(id, _)) = change;
            let Some(journal) = index.get_mut(id) else {
                continue;
            };
            match change {
                Change::Added(_) => {
                    journal.newest -= 1;
                    journal.places.pop_back();
                }
                Change::Replaced(_, places) => {
                    journal.newest -= 1;
                    journal.places = places;
                }
                Change::Copied(_, number, before) => {
                    if let Some(kept) = journal.place_mut(number) {
                        *kept = before;
                    }
                }
                Change::Named(_, before) => journal.named_in = before,
            }
        }
    }
}

impl SegmentLog {
    /// Appends the buffer to the last segment, and makes the written bytes durable. After an error,
    /// none of these bytes are in the log (rules 3 and 4 in `src/README.md`), except after
    /// [`JournalError::Broken`].
    fn write(&mut self) -> Result<(), JournalError> {
        let mut last = self
            .segments
            .last_entry()
            .expect("a segment was added before");
        let segment = last.get_mut();
        let error = match segment.write(&self.buffer) {
            Ok(()) => segment.sync_group(self.buffer.len()).err(),
            Err(error) if segment.cut().is_ok() => return Err(error),
            Err(error) => Some(error),
        };
        let Some(error) = error else {
            return Ok(());
        };
        // The next segment tells where this one ends.
        if self.add_segment().is_ok() {
            return Err(error);
        }
        self.is_broken = true;
        self.cause = Some(describe(&error).into());
        Err(JournalError::Broken)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use garrick_actor::files::Files;
    use garrick_sim::testing::Kit;

    use crate::{Event, EventKind, Group, Options};

    #[test]
    fn a_group_that_was_not_written_changes_nothing() {
        let mut kit = Kit::new();
        let files: Arc<dyn Files> = Arc::new(kit.disk());
        let options = Options::new().segment_bytes(1);
        let (mut log, _) = options.open(Arc::clone(&files)).unwrap();
        let journal = log.journal("a").unwrap();
        let (kind, payload) = (EventKind::default(), &b"one"[..]);
        let mut group = Group::new();
        for number in 1..=2 {
            group.clear();
            let event = Event {
                number,
                kind,
                payload,
                is_whole: false,
            };
            group.add(journal, event).unwrap();
            log.append(&group).unwrap();
            log.save(journal, number, kind, b"").unwrap();
        }
        // The third segment has neither the event nor the name.
        let event = Event {
            number: 3,
            ..Event::default()
        };
        log.begin(1).unwrap().event(journal, event).unwrap();
        assert_eq!(log.newest(journal), 2);
        // So the name must be copied from the second segment.
        assert_eq!(log.compact(u64::MAX).unwrap().segments, 2);
        drop(log);
        let (log, _) = options.open(files).unwrap();
        assert_eq!(log.find("a").map(|found| log.newest(found)), Some(2));
    }
}
