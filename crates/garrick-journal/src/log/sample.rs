//! The numbers of a log.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Log;

/// Numbers of a log since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogSample {
    /// Number of bytes that were written to the disk: groups, copies, new segments and snapshots.
    /// Bytes of a write that has failed count as well.
    pub written: u64,
    /// Number of syncs of files and of the folder.
    pub syncs: u64,
    /// Number of segments now.
    pub segments: usize,
    /// Size of all segments now, in bytes.
    pub bytes: u64,
    /// Number of notices so far: see [`Log::take_notices`].
    pub notices: u64,
    /// True if the log must be opened again.
    pub is_broken: bool,
}

/// Size of the segments before the last one, which do not change.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ended {
    /// Numbers of the first and of the last segment.
    ends: (u32, u32),
    bytes: u64,
}

impl Log {
    /// Returns the numbers of this log. Takes a time that does not depend on the size of the log,
    /// except after a change of the segments.
    pub fn sample(&mut self) -> LogSample {
        let last = self.segments.last_key_value();
        let (last, length) = last.map_or((0, 0), |(last, segment)| (*last, segment.length));
        let first = self.segments.first_key_value();
        let ends = (first.map_or(0, |(first, _)| *first), last);
        if self.ended.ends != ends {
            let bytes = self.bytes() - length;
            self.ended = Ended { ends, bytes };
        }
        LogSample {
            // Relaxed: the numbers order nothing.
            written: self.counts.written.load(Relaxed),
            syncs: self.counts.syncs.load(Relaxed),
            segments: self.segments.len(),
            bytes: self.ended.bytes + length,
            notices: self.notices.count(),
            is_broken: self.is_broken,
        }
    }

    /// Returns the text of the error that has broken the log.
    pub(crate) fn cause(&self) -> Option<&Arc<str>> {
        self.cause.as_ref()
    }

    /// Returns the text of the newest notice.
    pub(crate) fn newest_notice(&self) -> Option<&Arc<str>> {
        self.notices.newest()
    }
}
