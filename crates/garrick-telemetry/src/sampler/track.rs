//! What has been seen of one source, to make rates of its counts.

use std::collections::HashMap;

use crate::window::{Meter, Recent};

/// The past of the counts of one stage, channel, group or sponsor.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// Messages.
    pub(super) messages: Meter,
    /// Turns or steps.
    pub(super) turns: Meter,
    /// Nanoseconds of work, or of rest for a sponsor.
    pub(super) nanos: Meter,
    /// How full a channel was.
    pub(super) fills: Recent<f32>,
    /// The highest of the counts that have no rate.
    highs: [u64; 3],
    /// The look at which it was last there.
    seen: u64,
}

/// The past of what one source reads, by id.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    tracks: HashMap<String, Track>,
    /// Looks so far.
    looks: u64,
}

impl Track {
    /// The count number `index` among those without a rate, made to never fall.
    pub(super) fn high(&mut self, index: usize, count: u64) -> u64 {
        self.highs[index] = self.highs[index].max(count);
        self.highs[index]
    }
}

impl Tracks {
    /// Begins a look.
    pub(super) fn begin(&mut self) {
        self.looks += 1;
    }

    /// The past of `id`, which is there.
    pub(super) fn of(&mut self, id: &str) -> &mut Track {
        let track = self.tracks.entry(id.to_owned()).or_default();
        track.seen = self.looks;
        track
    }

    /// Ends a look: the past of what was not there is dropped.
    pub(super) fn end(&mut self) {
        let looks = self.looks;
        self.tracks.retain(|_, track| track.seen == looks);
    }
}
