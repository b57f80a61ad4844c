//! Reading of the events of a journal.

use super::SegmentLog;
use super::cache::Cache;
use super::index::Place;
use super::segment::{Segment, opened};
use crate::error::JournalError;
use crate::event::Event;
use crate::frame::{Frame, decode, size_of};
use crate::group::JournalId;

/// Maximum number of bytes that are read at a time. A longer event is read as a whole.
const WINDOW_BYTES: u64 = 256 << 10;

/// Maximum distance between the beginnings of two events of a journal that are read together.
/// Events of other journals may be between these two events.
const GAP_BYTES: u64 = 4 << 10;

/// Number of bytes that are read for the last event if several events are read together. The length
/// of the last event is not known before it is read.
const TAIL_BYTES: u64 = 512;

/// Maximum number of bytes of a read that uses the cache. A longer read goes to the file directly.
const SPARSE_BYTES: u64 = 4 << 10;

/// A part of a segment that is in memory, because it was read in one operation.
#[derive(Default)]
struct Window {
    segment: u32,
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Returns the bytes that begin at a place, if this part contains the whole frame at the place.
    fn frame_at(&self, place: Place) -> Option<&[u8]> {
        let at = u64::from(place.at).checked_sub(self.start)?;
        let bytes = self.bytes.get(usize::try_from(at).ok()?..)?;
        let is_whole = self.segment == place.segment && size_of(bytes)? <= bytes.len();
        is_whole.then_some(bytes)
    }

    /// Reads `length` bytes of a segment, beginning at a place. Reads fewer bytes at the end of the
    /// segment.
    fn fill(
        &mut self,
        segment: &mut Segment,
        place: Place,
        length: u64,
    ) -> Result<(), JournalError> {
        self.segment = place.segment;
        self.start = place.at.into();
        let length = length.min(segment.length.saturating_sub(self.start));
        self.bytes.resize(usize::try_from(length).unwrap_or(0), 0);
        let read = segment.read_at(self.start, &mut self.bytes)?;
        self.bytes.truncate(read);
        Ok(())
    }
}

impl SegmentLog {
    /// Reads events like [`SegmentLog::read`], until `each` returns false.
    pub(super) fn read_while(
        &mut self,
        journal: JournalId,
        from: u64,
        mut each: impl FnMut(Event<'_>) -> bool,
    ) -> Result<(), JournalError> {
        let Self {
            index,
            segments,
            cache,
            files,
            ..
        } = self;
        let Some(found) = index.get(journal) else {
            return Ok(());
        };
        let oldest = found.oldest();
        let first = usize::try_from(from.saturating_sub(oldest)).unwrap_or(usize::MAX);
        let mut window = Window::default();
        for (place, at) in found
            .places
            .range(first.min(found.places.len())..)
            .zip(first..)
        {
            let segment = opened(segments, &**files, place.segment)?;
            let segment = segment.expect("a segment with events is kept");
            let together = found.places.range(at..);
            let bytes = frame_at(&mut window, cache, segment, *place, together)?;
            let damaged = |why| JournalError::damaged(&segment.name, place.at.into(), why);
            let bytes = bytes.ok_or_else(|| damaged("a record is not complete"))?;
            let (frame, _) = decode(bytes).map_err(|flaw| damaged(flaw.text()))?;
            let expected = oldest + at as u64;
            match frame {
                Frame::Event { journal: id, event }
                    if (id, event.number) == (journal.0, expected) =>
                {
                    if !each(event) {
                        return Ok(());
                    }
                }
                _ => return Err(damaged("it is another record")),
            }
        }
        Ok(())
    }
}

/// Returns the frame at a place. `together` contains this place and the places that are read next.
fn frame_at<'b, 'p>(
    window: &'b mut Window,
    cache: &'b mut Cache,
    segment: &mut Segment,
    place: Place,
    together: impl Iterator<Item = &'p Place>,
) -> Result<Option<&'b [u8]>, JournalError> {
    if window.frame_at(place).is_none() {
        let length = length_of(together);
        if length <= SPARSE_BYTES {
            // The other events of the journal are elsewhere.
            cache.load(segment, place)?;
            if let Some(bytes) = cache.frame_at(place) {
                return Ok(Some(bytes));
            }
        }
        window.fill(segment, place, length)?;
    }
    if window.frame_at(place).is_none()
        && let Some(size) = size_of(&window.bytes)
    {
        window.fill(segment, place, size as u64)?;
    }
    Ok(window.frame_at(place))
}

/// Returns the number of bytes to read at once: from the first place to [`TAIL_BYTES`] bytes after
/// the last place that is read together with it. Neighboring places are read together if they are
/// in the same segment and at most [`GAP_BYTES`] bytes apart. The result is at most
/// [`WINDOW_BYTES`].
fn length_of<'p>(places: impl Iterator<Item = &'p Place>) -> u64 {
    let mut places = places.copied();
    let Some(first) = places.next() else {
        return 0;
    };
    let mut last = first;
    for place in places {
        let is_near = place.segment == first.segment
            && place.at > last.at
            && u64::from(place.at - last.at) <= GAP_BYTES
            && u64::from(place.at - first.at) <= WINDOW_BYTES - TAIL_BYTES;
        if !is_near {
            break;
        }
        last = place;
    }
    u64::from(last.at - first.at) + TAIL_BYTES
}
