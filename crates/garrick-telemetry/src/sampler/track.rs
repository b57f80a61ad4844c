//! Past readings of one source, from which rates are derived.

use std::collections::HashMap;

use crate::window::{Meter, Nanos, Recent};

use super::messages::Kinds;

/// Past counts of one stage, channel, group of actors or sponsor.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// Past numbers of messages.
    pub(super) messages: Meter,
    /// Past numbers of turns or steps.
    pub(super) turns: Meter,
    /// Past totals of busy time in nanoseconds. For a sponsor, the time for which its threads
    /// slept.
    pub(super) nanos: Meter,
    /// Past totals of the time for which a stage waited for messages, in nanoseconds.
    pub(super) starved: Meter,
    /// Past totals of the time for which a stage waited for room in a channel, in nanoseconds.
    pub(super) back_pressured: Meter,
    /// Time at which a full channel's receiver stopped taking messages. `None` if messages flow.
    pub(super) stalled: Option<Nanos>,
    /// Past filled shares of a channel, or past numbers of messages in the mailboxes of a group.
    pub(super) fills: Recent<f64>,
    /// Past numbers of turns of a group of actors, by kind of message.
    pub(super) by_kind: Kinds,
    /// Highest value so far of each count from which no rate is computed.
    highs: [u64; 5],
    /// Number of the last sample that contains the item.
    seen: u64,
}

/// Past counts of one journal.
#[derive(Debug, Default)]
pub(super) struct JournalTrack {
    /// Number of times that the journal had been opened when the counts began.
    pub(super) openings: u64,
    pub(super) groups: Meter,
    pub(super) turns: Meter,
    pub(super) events: Meter,
    /// Past numbers of bytes that were written to the disk.
    pub(super) written: Meter,
    /// Past totals of the time in which groups were written and synced, in nanoseconds.
    pub(super) writing: Meter,
    pub(super) notices: Meter,
}

/// Past counts of one link.
#[derive(Debug, Default)]
pub(super) struct LinkTrack {
    /// Past numbers of messages.
    pub(super) sent: Meter,
    pub(super) sent_bytes: Meter,
    pub(super) received: Meter,
    pub(super) received_bytes: Meter,
    /// Past numbers of lost messages.
    pub(super) lost: Meter,
}

/// Past counts of all items of one source, by identifier.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    tracks: HashMap<String, Track>,
    /// Number of samples so far.
    looks: u64,
}

impl Track {
    /// Returns the maximum of `count` and all earlier values of the same count. `index` selects one
    /// of the counts from which no rate is computed.
    pub(super) fn high(&mut self, index: usize, count: u64) -> u64 {
        self.highs[index] = self.highs[index].max(count);
        self.highs[index]
    }
}

impl Tracks {
    /// Records that the next sample begins.
    pub(super) fn begin(&mut self) {
        self.looks += 1;
    }

    /// Returns the past counts of the item `id`, and marks them as seen in the current sample.
    pub(super) fn of(&mut self, id: &str) -> &mut Track {
        let track = self.tracks.entry(id.to_owned()).or_default();
        track.seen = self.looks;
        track
    }

    /// Records the end of a sample. Drops the past counts of items that the sample does not
    /// contain.
    pub(super) fn end(&mut self) {
        let looks = self.looks;
        self.tracks.retain(|_, track| track.seen == looks);
    }
}
