//! Removal of old segments (files of a log), and deletion of journals.

use std::mem;

use super::SegmentLog;
use super::index::Place;
use super::scan::scan;
use super::segment::{opened, remove};
use crate::error::JournalError;
use crate::event::Event;
use crate::frame::{Frame, event_bytes};
use crate::group::JournalId;

/// Size in bytes at which a group of copied events is appended to the log.
const COPIED_BYTES: usize = 4 << 20;

/// Result of a compaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Number of segments that were removed.
    pub segments: usize,
    /// Number of bytes in the removed segments.
    pub bytes: u64,
    /// Number of events that were copied to the end of the log.
    pub copied: u64,
    /// Upper bound for the total size of the copied events, in bytes.
    pub copied_bytes: u64,
}

/// A part of a segment that is still needed.
enum Needed<'b> {
    Name(JournalId),
    Event(JournalId, Event<'b>),
}

impl Needed<'_> {
    fn size(&self) -> usize {
        match self {
            Self::Name(_) => event_bytes(0),
            Self::Event(_, event) => event_bytes(event.payload.len()),
        }
    }
}

impl SegmentLog {
    /// Removes the oldest segments (files of the log), as long as the oldest one contains at most
    /// `events_max` needed events. Copies the needed events to the end of the log. Never removes
    /// the last segment.
    ///
    /// Events before the older of two snapshots are not needed: see [`SegmentLog::save`]. Holds one
    /// segment in memory.
    ///
    /// # Errors
    /// Returns [`JournalError::Damaged`] if a segment to remove is damaged, and any I/O error. An
    /// error loses no event.
    pub fn compact(&mut self, events_max: u64) -> Result<Compacted, JournalError> {
        self.check_usable()?;
        let may = |log: &Self, oldest, _| log.live_in(oldest) <= events_max;
        let (compacted, error) = self.compact_while(may);
        error.map_or(Ok(compacted), Err)
    }

    /// Returns the number of needed events in a segment.
    pub(super) fn live_in(&self, segment: u32) -> u64 {
        self.index.live_in(segment)
    }

    /// Removes the oldest segments as long as `may` returns true for the oldest one. The arguments
    /// of `may` are the log, the oldest segment, and the number of bytes that were copied so far.
    /// The README describes the steps. If a segment cannot be copied, removes only the segments
    /// before it. Returns what was done, and the error, if there was one.
    pub(super) fn compact_while(
        &mut self,
        may: impl FnMut(&Self, u32, u64) -> bool,
    ) -> (Compacted, Option<JournalError>) {
        let mut compacted = Compacted::default();
        // The next segment may be without the records of these deletions.
        let error = match self.remove_left() {
            Ok(()) => {
                let (needed, copying) = self.copy_while(may, &mut compacted);
                // Nothing is written to a log that is broken.
                let removing = match needed.filter(|_| !self.is_broken()) {
                    Some(needed) => self.remove_before(needed, &mut compacted),
                    None => Ok(()),
                };
                copying.and(removing)
            }
            left => left,
        };
        (compacted, error.err())
    }

    /// Copies the needed parts of the oldest segments, as long as `may` returns true (step C1).
    /// Returns the oldest segment that is still needed, if there is one.
    fn copy_while(
        &mut self,
        mut may: impl FnMut(&Self, u32, u64) -> bool,
        compacted: &mut Compacted,
    ) -> (Option<u32>, Result<(), JournalError>) {
        // Copies may go to new segments, which are not looked at.
        let last = self.segments.last_key_value();
        let last = last.map_or(0, |(number, _)| *number);
        let mut oldest = self.segments.first_key_value().map(|(number, _)| *number);
        while let Some(number) = oldest
            && number < last
            && may(self, number, compacted.copied_bytes)
        {
            let live = self.live_in(number);
            if let Err(error) = self.copy_needed(number, &mut compacted.copied_bytes) {
                compacted.copied += live - self.live_in(number);
                return (oldest, Err(error));
            }
            compacted.copied += live;
            let next = self.segments.range(number + 1..).next();
            oldest = next.map(|(next, _)| *next);
        }
        (oldest, Ok(()))
    }

    /// Removes the segments before the segment `needed` (steps C2 and C3), if there are any.
    fn remove_before(
        &mut self,
        needed: u32,
        compacted: &mut Compacted,
    ) -> Result<(), JournalError> {
        if self.segments.range(..needed).next().is_none() {
            return Ok(());
        }
        // Step C2. If it fails, the file may be there all the same, and nothing is lost.
        self.oldest_needed = needed;
        self.add_segment()?;
        // Step C3. Those that a failure leaves are the oldest ones of the next compaction.
        while let Some((&number, segment)) = self.segments.first_key_value()
            && number < needed
        {
            remove(&*self.files, &segment.name)?;
            compacted.segments += 1;
            compacted.bytes += segment.length;
            self.index.forget(number);
            self.segments.remove(&number);
        }
        Ok(())
    }

    /// Copies the needed parts of a segment to the end of the log. Adds the number of copied bytes
    /// to `copied`.
    fn copy_needed(&mut self, number: u32, copied: &mut u64) -> Result<(), JournalError> {
        let segment = opened(&mut self.segments, &*self.files, number)?;
        let segment = segment.expect("the segment is in the log");
        let length = segment.copied_from.unwrap_or(segment.length);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        let read = segment.read_at(0, &mut bytes)?;
        let (name, first_group) = (segment.name.clone(), segment.first_group);
        let damaged = |at: usize, why| JournalError::damaged(&name, at as u64, why);
        if read < bytes.len() {
            return Err(damaged(read, "the file is shorter than the log"));
        }
        let (mut size, mut needed) = (0, Vec::new());
        let scanned = scan(&bytes, first_group, |at, frame| {
            if let Some(part) = self.needed(number, at, frame) {
                size += part.size();
                needed.push(part);
            }
            if size > COPIED_BYTES {
                self.copy(&needed, size)?;
                needed.clear();
                *copied += mem::take(&mut size) as u64;
            }
            Ok(())
        })?;
        if let Some((at, flaw)) = scanned.flaw {
            return Err(damaged(at, flaw.text()));
        }
        self.copy(&needed, size)?;
        *copied += size as u64;
        Ok(())
    }

    /// Returns the content of `frame` that is still needed, or `None` if nothing in the frame is
    /// needed.
    fn needed<'b>(&self, segment: u32, at: usize, frame: Frame<'b>) -> Option<Needed<'b>> {
        match frame {
            Frame::Name { journal, .. } => {
                let id = JournalId(journal);
                let found = self.index.get(id)?;
                (found.named_in == segment && found.newest > 0).then_some(Needed::Name(id))
            }
            Frame::Event { journal, event } => {
                let id = JournalId(journal);
                let place = Place {
                    segment,
                    at: at as u32,
                };
                let is_at = self.index.place_of(id, event.number) == Some(place);
                is_at.then_some(Needed::Event(id, event))
            }
            Frame::Commit(_) | Frame::Deleted { .. } => None,
        }
    }

    /// Appends copies of the needed parts of a segment to the log.
    fn copy(&mut self, needed: &[Needed<'_>], size: usize) -> Result<(), JournalError> {
        if needed.is_empty() {
            return Ok(());
        }
        let mut writer = self.begin(size)?;
        for part in needed {
            match *part {
                Needed::Name(id) => writer.name(id),
                Needed::Event(id, event) => writer.copy(id, event),
            }
        }
        writer.commit()
    }

    /// Removes the snapshots that an earlier attempt could not remove.
    fn remove_left(&mut self) -> Result<(), JournalError> {
        while let Some((journal, number)) = self.left.pop() {
            self.remove_snapshot(journal, number)?;
        }
        Ok(())
    }

    /// Deletes a journal, with its events and its snapshots. The name can then be given to another
    /// journal. Does nothing if the journal has already been deleted.
    ///
    /// If a snapshot cannot be removed now, a notice is added, and the next compaction or opening
    /// removes it.
    ///
    /// The events of a new journal with the same name have the numbers 1, 2, 3 and so on again, and
    /// so have the letters of its entity ([`Letter::number`](crate::Letter::number)) and its
    /// effects ([`Due::number`](crate::Due::number)). Receivers that have handled letters of the
    /// deleted entity remember the newest number, and take letters with smaller numbers for old
    /// ones. So give an entity that posts letters, or whose effects are recognized by their
    /// numbers, a name that no entity has had before.
    ///
    /// # Errors
    /// Returns any I/O error. In this case, the journal is not deleted.
    pub fn delete(&mut self, journal: JournalId) -> Result<(), JournalError> {
        self.check_usable()?;
        let Some(found) = self.index.get(journal) else {
            return Ok(());
        };
        if found.newest > 0 {
            let mut writer = self.begin(event_bytes(0))?;
            writer.delete(journal);
            writer.commit()?;
        }
        let removed = self.index.remove(journal);
        for number in removed.into_iter().flat_map(|journal| journal.snapshots) {
            if let Err(error) = self.remove_snapshot(journal, number) {
                self.notice(error);
            }
        }
        Ok(())
    }
}
