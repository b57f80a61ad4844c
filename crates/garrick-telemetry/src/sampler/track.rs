//! Past readings of one source, from which rates are derived.

use std::collections::HashMap;

use crate::window::{Meter, Nanos, Recent, Spread};

use super::messages::Kinds;

/// Past counts of one stage, channel, group of actors or sponsor. A sponsor is a set of threads
/// that run actors.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// Recent values of the total number of messages.
    pub(super) messages: Meter,
    /// Recent values of the total number of turns or steps.
    pub(super) turns: Meter,
    /// Recent values of the total busy time, in nanoseconds. For a sponsor (a set of threads that
    /// run actors), the total time for which its threads slept.
    pub(super) nanos: Meter,
    /// Recent values of the total time that a stage waited for messages, in nanoseconds.
    pub(super) starved: Meter,
    /// Recent values of the total time that a stage waited for room in a channel, in nanoseconds.
    pub(super) back_pressured: Meter,
    /// Time at which a full channel's receiver stopped taking messages. `None` if messages flow.
    pub(super) stalled: Option<Nanos>,
    /// Recent values of the filled share of a channel, or of the number of messages in the
    /// mailboxes of a group of actors.
    pub(super) fills: Recent<f64>,
    /// Recent counts of the histogram of the durations of turns.
    pub(super) turn_times: Spread,
    /// Recent counts of the histogram of the times that messages waited.
    pub(super) waits: Spread,
    /// Recent counts of turns of a group of actors, by kind of message.
    pub(super) by_kind: Kinds,
    /// Highest values of the counts that have no rate, such as the number of restarts.
    highs: [u64; 5],
    /// Sequence number of the latest sample that contains the item.
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
    /// Recent values of the total number of bytes that were written to the disk.
    pub(super) written: Meter,
    /// Recent values of the total time in which groups of turns were written and synced, in
    /// nanoseconds.
    pub(super) writing: Meter,
    pub(super) notices: Meter,
}

/// Past counts of one link.
#[derive(Debug, Default)]
pub(super) struct LinkTrack {
    /// Recent values of the total number of sent messages.
    pub(super) sent: Meter,
    pub(super) sent_bytes: Meter,
    pub(super) received: Meter,
    pub(super) received_bytes: Meter,
    /// Recent values of the total number of lost messages.
    pub(super) lost: Meter,
}

/// A kind of items of a source. Items of two kinds can have the same identifier.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tracked {
    Stage,
    Actors,
    Actor,
    Channel,
    Sponsor,
}

/// Number of kinds of items.
const KINDS: usize = Tracked::Sponsor as usize + 1;

/// Past counts of all items of one source, by kind and identifier.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    tracks: [HashMap<String, Track>; KINDS],
    /// Number of samples so far.
    looks: u64,
}

impl Track {
    /// Returns the maximum of `count` and all earlier values of this count. `index` selects the
    /// count among those that have no rate.
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

    /// Returns the past counts of the item `id` of a kind, and marks them as seen in the current
    /// sample.
    pub(super) fn of(&mut self, kind: Tracked, id: &str) -> &mut Track {
        let track = self.tracks[kind as usize].entry(id.to_owned()).or_default();
        track.seen = self.looks;
        track
    }

    /// Records the end of a sample. Drops the past counts of items that the sample does not
    /// contain.
    pub(super) fn end(&mut self) {
        let looks = self.looks;
        for tracks in &mut self.tracks {
            tracks.retain(|_, track| track.seen == looks);
        }
    }
}
