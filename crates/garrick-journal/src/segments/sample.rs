//! The counters of a log.

use std::sync::atomic::Ordering::Relaxed;

use super::SegmentLog;
use crate::log::LogSample;

/// Counters of compactions and of snapshots.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tended {
    /// Number of compactions that have removed segments.
    pub(super) compactions: u64,
    /// Number of bytes that compactions have copied to the end of the log.
    pub(super) copied: u64,
    /// Number of saved snapshots.
    pub(super) saved: u64,
}

/// Total size of all segments except the last one. These segments do not change.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ended {
    /// Numbers of the first and last segments of the log when the size was computed.
    ends: (u32, u32),
    bytes: u64,
}

impl SegmentLog {
    /// Returns the counters of this log. Takes constant time, except for the first call after
    /// segments were added or removed. This call takes time proportional to the number of segments.
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
            files: self.segments.len(),
            bytes: self.ended.bytes + length,
            compactions: self.tended.compactions,
            copied: self.tended.copied,
            saved: self.tended.saved,
            notices: self.notices.count(),
            notice: self.notices.newest().cloned(),
            is_broken: self.is_broken,
            cause: self.cause.clone(),
        }
    }
}
