//! Frames: the parts of a segment.
//!
//! ```text
//! length u32 | checksum u32 | kind u8 | fields            (numbers are little-endian)
//!                           '------ length bytes ----'
//! ```
//!
//! The checksum is the CRC-32C of the bytes that follow it.

use std::str;

use crate::event::{Event, EventKind};

/// Size in bytes of the head of a frame: the length and the checksum, which precede the frame's
/// kind.
const HEAD_BYTES: usize = 8;

const EVENT: u8 = 1;
const NAME: u8 = 2;
const COMMIT: u8 = 3;
const DELETED: u8 = 4;
const WHOLE: u8 = 5;

/// Size in bytes of the kind and the fields of an event frame, without the payload.
const EVENT_BYTES: usize = 1 + 8 + 8 + 2 + 2;
/// Size in bytes of the kind and the fields of a commit frame.
const COMMIT_BYTES: usize = 1 + 8 + 4 * 4;

/// A frame: one entry in a file of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// An event of a journal.
    Event { journal: u64, event: Event<'a> },
    /// The name of a journal, and the number of its newest event so far.
    Name {
        journal: u64,
        newest: u64,
        name: &'a str,
    },
    /// The end of a group of events that were appended together.
    Commit(Commit),
    /// A journal was deleted with all its events.
    Deleted { journal: u64 },
}

/// The frame at the end of a group of events that were appended together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Sequence number of the group in the log.
    pub(crate) group: u64,
    /// Position of the group's first frame in the segment.
    pub(crate) start: u32,
    /// Number of frames that precede this frame in the group.
    pub(crate) count: u32,
    /// Position of this frame. The position distinguishes the frame from a copy of the same bytes
    /// in a payload.
    pub(crate) at: u32,
    /// If the group is a copy of the last group of the previous segment, the position of the
    /// original. Otherwise 0.
    pub(crate) copy_of: u32,
}

impl Frame<'_> {
    /// Appends the encoding of the frame to `to`.
    pub(crate) fn put(&self, to: &mut Vec<u8>) {
        let from = to.len();
        to.extend_from_slice(&[0; HEAD_BYTES]);
        match *self {
            Self::Event { journal, event } => {
                to.push(if event.is_whole { WHOLE } else { EVENT });
                to.extend_from_slice(&journal.to_le_bytes());
                to.extend_from_slice(&event.number.to_le_bytes());
                to.extend_from_slice(&event.kind.tag.to_le_bytes());
                to.extend_from_slice(&event.kind.version.to_le_bytes());
                to.extend_from_slice(event.payload);
            }
            Self::Name {
                journal,
                newest,
                name,
            } => {
                to.push(NAME);
                to.extend_from_slice(&journal.to_le_bytes());
                to.extend_from_slice(&newest.to_le_bytes());
                to.extend_from_slice(name.as_bytes());
            }
            Self::Commit(commit) => {
                to.push(COMMIT);
                to.extend_from_slice(&commit.group.to_le_bytes());
                for field in [commit.start, commit.count, commit.at, commit.copy_of] {
                    to.extend_from_slice(&field.to_le_bytes());
                }
            }
            Self::Deleted { journal } => {
                to.push(DELETED);
                to.extend_from_slice(&journal.to_le_bytes());
            }
        }
        let body = from + HEAD_BYTES;
        let length = (to.len() - body) as u32;
        let checksum = crc32c::crc32c(&to[body..]);
        to[from..from + 4].copy_from_slice(&length.to_le_bytes());
        to[from + 4..body].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// Returns the size of an event frame whose payload has `payload` bytes.
pub(crate) const fn event_bytes(payload: usize) -> usize {
    HEAD_BYTES + EVENT_BYTES + payload
}

/// Returns the size of a commit frame.
pub(crate) const fn commit_bytes() -> usize {
    HEAD_BYTES + COMMIT_BYTES
}

/// Returns the size of the frame at the beginning of `bytes`, as the length field of the frame
/// states it. Returns `None` if `bytes` ends within the length field.
pub(crate) fn size_of(bytes: &[u8]) -> Option<usize> {
    let length = bytes
        .first_chunk()
        .map(|length| u32::from_le_bytes(*length))?;
    Some(HEAD_BYTES + length as usize)
}

/// Reason why bytes are not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The bytes end before the end of the frame.
    Short,
    Checksum,
    /// The checksum is right, but the fields are invalid.
    Fields,
}

impl Flaw {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Short => "a record is not complete",
            Self::Checksum => "the checksum of a record is wrong",
            Self::Fields => "a record has unknown fields: another version may have written it",
        }
    }
}

/// The unread bytes of a frame's fields.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Flaw> {
        let (field, rest) = self.0.split_first_chunk().ok_or(Flaw::Fields)?;
        self.0 = rest;
        Ok(*field)
    }

    fn u16(&mut self) -> Result<u16, Flaw> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Flaw> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Flaw> {
        self.take().map(u64::from_le_bytes)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// Returns the frame at the beginning of `bytes`, and its size.
pub(crate) fn decode(bytes: &[u8]) -> Result<(Frame<'_>, usize), Flaw> {
    let size = size_of(bytes).ok_or(Flaw::Short)?;
    let frame = bytes.get(..size).ok_or(Flaw::Short)?;
    let (head, body) = frame.split_at(HEAD_BYTES);
    let checksum = head.last_chunk().map(|sum| u32::from_le_bytes(*sum));
    if checksum != Some(crc32c::crc32c(body)) {
        return Err(Flaw::Checksum);
    }
    let mut fields = Fields(body);
    let [kind] = fields.take()?;
    let frame = match kind {
        EVENT | WHOLE => Frame::Event {
            journal: fields.u64()?,
            event: Event {
                number: fields.u64()?,
                kind: EventKind {
                    tag: fields.u16()?,
                    version: fields.u16()?,
                },
                is_whole: kind == WHOLE,
                payload: fields.rest(),
            },
        },
        NAME => Frame::Name {
            journal: fields.u64()?,
            newest: fields.u64()?,
            name: str::from_utf8(fields.rest()).map_err(|_| Flaw::Fields)?,
        },
        COMMIT => Frame::Commit(Commit {
            group: fields.u64()?,
            start: fields.u32()?,
            count: fields.u32()?,
            at: fields.u32()?,
            copy_of: fields.u32()?,
        }),
        DELETED => Frame::Deleted {
            journal: fields.u64()?,
        },
        _ => return Err(Flaw::Fields),
    };
    if fields.0.is_empty() {
        Ok((frame, size))
    } else {
        Err(Flaw::Fields)
    }
}

/// Returns the commit frame (the end of a group) at `position` in the bytes of a segment, if there
/// is one.
pub(crate) fn commit_at(bytes: &[u8], position: usize) -> Option<Commit> {
    let bytes = bytes.get(position..)?;
    if bytes.first_chunk() != Some(&(COMMIT_BYTES as u32).to_le_bytes()) {
        return None;
    }
    match decode(bytes) {
        Ok((Frame::Commit(commit), _)) if commit.at as usize == position => Some(commit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Commit, Flaw, Frame, commit_at, commit_bytes, decode, event_bytes};
    use crate::event::{Event, EventKind};

    const KIND: EventKind = EventKind { tag: 7, version: 1 };

    const COMMIT: Commit = Commit {
        group: 5,
        start: 64,
        count: 2,
        at: 0,
        copy_of: 0,
    };

    fn bytes_of(frame: Frame<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame.put(&mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn an_event_is_read_as_it_was_written(
            journal: u64,
            number: u64,
            is_whole: bool,
            payload: Vec<u8>,
            behind: Vec<u8>,
        ) {
            let event = Event { number, kind: KIND, is_whole, payload: &payload };
            let event = Frame::Event { journal, event };
            let mut bytes = bytes_of(event);
            let size = bytes.len();
            prop_assert_eq!(size, event_bytes(payload.len()));
            bytes.extend(behind);
            prop_assert_eq!(decode(&bytes), Ok((event, size)));
        }

        #[test]
        fn a_flipped_bit_is_noticed(payload: Vec<u8>, at: usize, bit in 0..8_u32) {
            let event = Event { number: 2, kind: KIND, is_whole: false, payload: &payload };
            let mut bytes = bytes_of(Frame::Event { journal: 1, event });
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            prop_assert!(decode(&bytes).is_err());
        }

        #[test]
        fn any_bytes_can_be_decoded(bytes: Vec<u8>) {
            let _ = decode(&bytes);
            let _ = commit_at(&bytes, 0);
        }
    }

    #[test]
    fn other_frames_are_read_as_they_were_written() {
        let name = Frame::Name {
            journal: 1,
            newest: 9,
            name: "account/42",
        };
        for frame in [Frame::Commit(COMMIT), name, Frame::Deleted { journal: 3 }] {
            let bytes = bytes_of(frame);
            assert_eq!(decode(&bytes), Ok((frame, bytes.len())));
            assert_eq!(decode(&bytes[..bytes.len() - 1]), Err(Flaw::Short));
        }
    }

    #[test]
    fn a_copy_of_a_commit_at_another_position_is_none() {
        let mut bytes = bytes_of(Frame::Commit(COMMIT));
        assert_eq!(bytes.len(), commit_bytes());
        assert_eq!(commit_at(&bytes, 0), Some(COMMIT));
        bytes.extend(bytes.clone());
        assert_eq!(commit_at(&bytes, commit_bytes()), None);
    }
}
