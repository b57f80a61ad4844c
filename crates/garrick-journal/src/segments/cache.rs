//! A cache of the most recently read parts of segments.
//!
//! If events are appended to several journals at the same time, the events are next to each other
//! in a segment. When the actors of these journals start one after another, each part of the
//! segment is read only once for all these actors.

use hashbrown::HashMap;

use super::index::Place;
use super::segment::Segment;
use crate::error::JournalError;
use crate::frame::size_of;

/// Number of bytes that are read from a segment at a time.
const PART_BYTES: u64 = 16 << 10;

/// Maximum number of parts of segments in the cache. A full cache contains 4 MiB.
const PARTS_MAX: usize = 256;

/// A cached part of a segment.
struct Part {
    bytes: Vec<u8>,
    /// Sequence number of the last use of the part. Each use of any part gets the next number.
    used: u64,
}

/// Cached parts of segments. The key is the number of the segment and the number of the part.
#[derive(Default)]
pub(super) struct Cache {
    parts: HashMap<(u32, u32), Part>,
    uses: u64,
}

impl Cache {
    /// Returns the cached bytes at `place` (a position in a segment), if they begin with a whole
    /// frame. Otherwise returns `None`.
    pub(super) fn frame_at(&self, place: Place) -> Option<&[u8]> {
        let part = self.parts.get(&key_of(place))?;
        let bytes = part
            .bytes
            .get((u64::from(place.at) % PART_BYTES) as usize..)?;
        size_of(bytes).filter(|size| *size <= bytes.len())?;
        Some(bytes)
    }

    /// Reads the part of the segment that contains `place`. After that, [`Cache::frame_at`] returns
    /// the frame at `place`, unless the frame extends into the next part.
    pub(super) fn load(&mut self, segment: &mut Segment, place: Place) -> Result<(), JournalError> {
        let (key, is_known) = (key_of(place), self.frame_at(place).is_some());
        self.uses += 1;
        let used = self.uses;
        if let Some(part) = self.parts.get_mut(&key) {
            part.used = used;
            // A short part was the end of its segment when it was read.
            if is_known || part.bytes.len() as u64 == PART_BYTES {
                return Ok(());
            }
        }
        let start = u64::from(key.1) * PART_BYTES;
        let length = PART_BYTES.min(segment.length.saturating_sub(start));
        let mut bytes = self.take_oldest(key);
        bytes.resize(usize::try_from(length).unwrap_or(0), 0);
        let read = segment.read_at(start, &mut bytes)?;
        bytes.truncate(read);
        self.parts.insert(key, Part { bytes, used });
        Ok(())
    }

    /// Makes room for the part `key`, and returns a buffer for its bytes. If the cache already
    /// contains this part, removes the old bytes. Otherwise, if the cache is full, removes the part
    /// that was used least recently.
    fn take_oldest(&mut self, key: (u32, u32)) -> Vec<u8> {
        let mut key = key;
        if self.parts.len() >= PARTS_MAX && !self.parts.contains_key(&key) {
            let oldest = self.parts.iter().min_by_key(|(_, part)| part.used);
            key = oldest.map_or(key, |(key, _)| *key);
        }
        self.parts
            .remove(&key)
            .map(|part| part.bytes)
            .unwrap_or_default()
    }
}

/// Returns the segment and the number of the part that contains a place.
fn key_of(place: Place) -> (u32, u32) {
    (place.segment, (u64::from(place.at) / PART_BYTES) as u32)
}
