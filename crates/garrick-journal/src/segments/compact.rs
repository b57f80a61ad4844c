//! Old segments are removed, and journals are deleted.

use std::mem;

use super::SegmentLog;
use super::index::Place;
use super::scan::scan;
use super::segment::opened;
use crate::error::JournalError;
use crate::event::Event;
use crate::frame::{Frame, event_bytes};
use crate::group::JournalId;

/// Number of bytes from which on a group of copies is appended.
const COPIED_BYTES: usize = 4 << 20;

/// Result of a compaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Number of segments that were removed.
    pub segments: usize,
    /// Number of bytes in these segments.
    pub bytes: u64,
    /// Number of events that were copied to the end of the log.
    pub copied: u64,
    /// Number of bytes of these copies, at most.
    pub copied_bytes: u64,
}

/// A part of a segment that is needed.
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
    /// Removes the oldest segments as long as each has at most `events_max` events that are needed.
    /// Copies these events to the end of the log. The last segment stays.
    ///
    /// Events before the older of two snapshots are not needed: see [`SegmentLog::save`]. Holds one
    /// segment in memory.
    ///
    /// # Errors
    /// Returns [`JournalError::Damaged`] if a segment to remove is damaged, and any error of the
    /// disk. Nothing is lost then.
    pub fn compact(&mut self, events_max: u64) -> Result<Compacted, JournalError> {
        self.check_usable()?;
        let mut compacted = Compacted::default();
        // Copies may go to new segments, which are not looked at.
        let last = self
            .segments
            .last_key_value()
            .map_or(0, |(number, _)| *number);
        while let Some((&oldest, segment)) = self.segments.first_key_value()
            && oldest < last
            && self.index.live_in(oldest) <= events_max
        {
            let bytes = segment.length;
            let copied = self.index.live_in(oldest);
            compacted.copied_bytes += self.copy_needed(oldest)?;
            self.remove_segment(oldest)?;
            compacted.copied += copied;
            compacted.segments += 1;
            compacted.bytes += bytes;
        }
        Ok(compacted)
    }

    /// Copies what is needed of a segment to the end of the log. Returns the number of bytes.
    fn copy_needed(&mut self, number: u32) -> Result<u64, JournalError> {
        let segment = opened(&mut self.segments, &*self.files, number)?;
        let segment = segment.expect("the segment is in the log");
        let mut bytes = vec![0; usize::try_from(segment.length).unwrap_or(usize::MAX)];
        let read = segment.read_at(0, &mut bytes)?;
        let (name, first_group) = (segment.name.clone(), segment.first_group);
        let damaged = |at: usize, why| JournalError::damaged(&name, at as u64, why);
        if read < bytes.len() {
            return Err(damaged(read, "the file is shorter than the log"));
        }
        let (mut size, mut copied, mut needed) = (0, 0, Vec::new());
        let scanned = scan(&bytes, first_group, |at, frame| {
            if let Some(part) = self.needed(number, at, frame) {
                size += part.size();
                needed.push(part);
            }
            if size > COPIED_BYTES {
                self.copy(&needed, size)?;
                needed.clear();
                copied += mem::take(&mut size) as u64;
            }
            Ok(())
        })?;
        if let Some((at, flaw)) = scanned.flaw {
            return Err(damaged(at, flaw.text()));
        }
        self.copy(&needed, size)?;
        Ok(copied + size as u64)
    }

    /// Returns a part of a segment, if it is needed.
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

    /// Appends copies.
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

    /// Removes the oldest segment, of which nothing is needed.
    fn remove_segment(&mut self, number: u32) -> Result<(), JournalError> {
        let Some(segment) = self.segments.get(&number) else {
            return Ok(());
        };
        let name = segment.name.clone();
        let failed = |doing| {
            let name = &name;
            move |error| JournalError::disk(doing, name, error)
        };
        // One at a time: if a crash brought back only the older one of two, one between would be
        // missing. So an earlier removal must be durable.
        if self.owes_sync {
            self.sync_removals(&name)?;
        }
        self.files.remove(&name).map_err(failed("remove"))?;
        self.owes_sync = true;
        self.index.forget(number);
        self.segments.remove(&number);
        self.sync_removals(&name)
    }

    /// Makes the removal of files durable.
    fn sync_removals(&mut self, name: &str) -> Result<(), JournalError> {
        self.files
            .sync_names()
            .map_err(|error| JournalError::disk("sync the removal of", name, error))?;
        self.owes_sync = false;
        Ok(())
    }

    /// Deletes a journal, with its events and its snapshots. Its name can be given to another
    /// journal. Does nothing if the journal was deleted before.
    ///
    /// A snapshot that cannot be removed now is a notice, and is removed when the log is opened.
    ///
    /// # Errors
    /// Returns any error of the disk. The journal is not deleted then.
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
        if let Some(removed) = self.index.remove(journal)
            && let Err(error) = self.remove_snapshots(journal, &removed.snapshots)
        {
            self.notice(error);
        }
        Ok(())
    }
}
