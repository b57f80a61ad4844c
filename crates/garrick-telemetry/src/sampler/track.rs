//! Past readings of one source, from which rates are derived.

use std::collections::HashMap;

use crate::window::{Meter, Nanos, Recent};

use super::messages::Kinds;

/// Past counts of one stage, channel, group or sponsor.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// Messages.
    pub(super) messages: Meter,
    /// Turns or steps.
    pub(super) turns: Meter,
    /// Nanoseconds of work. For a sponsor, nanoseconds for which its threads were parked.
    pub(super) nanos: Meter,
    /// Nanoseconds for which a stage waited for messages.
    pub(super) starved: Meter,
    /// Nanoseconds for which a stage waited for room in a channel.
    pub(super) back_pressured: Meter,
    /// Time since which a channel has been full while its receiver took nothing. `None` if messages
    /// flow.
    pub(super) stalled: Option<Nanos>,
    /// Filled share of a channel, or messages in the mailboxes of a group.
    pub(super) fills: Recent<f64>,
    /// Turns of a group of actors, by kind of message.
    pub(super) by_kind: Kinds,
    /// Highest values of the counts that have no rate.
    highs: [u64; 5],
    /// Number of the last sample that has a value.
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
    /// Bytes that were written to the disk.
    pub(super) written: Meter,
    /// Nanoseconds in which groups were written and synced.
    pub(super) writing: Meter,
    pub(super) notices: Meter,
}

/// Past counts of one link.
#[derive(Debug, Default)]
pub(super) struct LinkTrack {
    /// Messages.
    pub(super) sent: Meter,
    pub(super) sent_bytes: Meter,
    pub(super) received: Meter,
    pub(super) received_bytes: Meter,
    /// Lost messages.
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
    /// Returns the maximum of `count` and all earlier values of that count. `index` selects one of
    /// the counts without a rate.
    pub(super) fn high(&mut self, index: usize, count: u64) -> u64 {
        self.highs[index] = self.highs[index].max(count);
        self.highs[index]
    }
}

impl Tracks {
    /// Begins a sample.
    pub(super) fn begin(&mut self) {
        self.looks += 1;
    }

    /// Returns the past counts of `id`, and marks them as seen in this sample.
    pub(super) fn of(&mut self, id: &str) -> &mut Track {
        let track = self.tracks.entry(id.to_owned()).or_default();
        track.seen = self.looks;
        track
    }

    /// Finishes a sample. Drops the past counts of items that the sample does not contain.
    pub(super) fn end(&mut self) {
        let looks = self.looks;
        self.tracks.retain(|_, track| track.seen == looks);
    }
}
