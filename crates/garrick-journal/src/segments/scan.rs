//! Reading of whole segments (files of a log). Finds the complete groups (events that were written
//! together), and the first flaw after them.

use super::header::HEADER_BYTES;
use crate::error::JournalError;
use crate::frame::{Commit, Flaw, Frame, commit_at, commit_bytes, decode};

/// Result of the reading of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    /// Position at which the last complete group begins, or the end of the header if there is no
    /// complete group.
    pub(super) last: usize,
    /// Position at which the last complete group ends, or the end of the header if there is no
    /// complete group.
    pub(super) end: usize,
    /// Number of frames of the last complete group, without its commit frame (the frame that ends
    /// the group).
    count: u32,
    /// Sequence number of the group that follows the last complete group.
    pub(super) next_group: u64,
    /// The first position at which no valid frame begins, among the positions after the last
    /// complete group. Also contains the reason. `None` if the bytes end with the last complete
    /// group.
    pub(super) flaw: Option<(usize, Flaw)>,
}

impl Scanned {
    /// Returns a copy of the last complete group, encoded as the first group of the next segment.
    /// Returns an empty vector if there is no complete group.
    pub(super) fn copy(&self, bytes: &[u8]) -> Vec<u8> {
        let frames = self.last..self.end.saturating_sub(commit_bytes());
        let mut copy = bytes.get(frames).unwrap_or_default().to_vec();
        if self.end > self.last {
            let commit = Commit {
                group: self.next_group,
                start: HEADER_BYTES as u32,
                count: self.count,
                at: (HEADER_BYTES + copy.len()) as u32,
                copy_of: self.last as u32,
            };
            Frame::Commit(commit).put(&mut copy);
        }
        copy
    }
}

/// Reads the groups of a segment, whose first group has the number `first_group`. Passes the frames
/// of complete groups to `visit`, with their positions.
pub(super) fn scan<'b>(
    bytes: &'b [u8],
    first_group: u64,
    mut visit: impl FnMut(usize, Frame<'b>) -> Result<(), JournalError>,
) -> Result<Scanned, JournalError> {
    let mut scanned = Scanned {
        last: HEADER_BYTES,
        end: HEADER_BYTES,
        count: 0,
        next_group: first_group,
        flaw: None,
    };
    while scanned.end < bytes.len() {
        match group_at(bytes, scanned.end, scanned.next_group) {
            Ok(group) => {
                scanned.count = group.frames.len() as u32;
                for (at, frame) in group.frames {
                    visit(at, frame)?;
                }
                (scanned.last, scanned.end) = (scanned.end, group.end);
                scanned.next_group += 1;
            }
            Err(flaw) => {
                scanned.flaw = Some(flaw);
                break;
            }
        }
    }
    Ok(scanned)
}

/// A complete group in a segment.
struct Whole<'b> {
    /// Frames with their positions.
    frames: Vec<(usize, Frame<'b>)>,
    commit: Commit,
    end: usize,
}

/// Returns the group with the number `group` at a position. If the group is not complete, returns
/// the position of the flaw, and the reason.
fn group_at(bytes: &[u8], start: usize, group: u64) -> Result<Whole<'_>, (usize, Flaw)> {
    let (mut at, mut frames) = (start, Vec::new());
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let (frame, size) = decode(rest).map_err(|flaw| (at, flaw))?;
        if let Frame::Commit(commit) = frame {
            let found = (commit.group, commit.start, commit.count, commit.at);
            if found != (group, start as u32, frames.len() as u32, at as u32) {
                return Err((at, Flaw::Fields));
            }
            return Ok(Whole {
                frames,
                commit,
                end: at + size,
            });
        }
        frames.push((at, frame));
        at += size;
    }
}

/// Returns the position of the last group of the previous segment, if the first group of this
/// segment is a copy of that group.
pub(super) fn copy_at_start(bytes: &[u8], first_group: u64) -> Option<usize> {
    let group = group_at(bytes, HEADER_BYTES, first_group).ok()?;
    let copy_of = group.commit.copy_of as usize;
    (copy_of > 0).then_some(copy_of)
}

/// Returns true if a group with a number greater than `group` was written after the position
/// `from`. A group is written only after the sync of the group before it. So if a later group
/// exists, the group `group` was acknowledged.
pub(super) fn has_later_group(bytes: &[u8], from: usize, group: u64) -> bool {
    let mut commits = (from..bytes.len()).filter_map(|at| commit_at(bytes, at));
    commits.any(|commit| commit.group > group)
}
