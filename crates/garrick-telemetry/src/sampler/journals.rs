//! Converts the readings of journals into a part of a snapshot.

use std::collections::HashMap;

use super::build::{id_of, seconds};
use super::labels::Labels;
use super::track::JournalTrack;
use crate::reading::JournalReading;
use crate::snapshot::{JournalPhase, JournalStatus, Snapshot};
use crate::window::{At, Meter};

/// Past counts of the journals of one source, by identifier.
pub(super) type Journals = HashMap<String, JournalTrack>;

/// Adds the journals of one source to `snapshot`. Drops the past counts of journals that are gone.
pub(super) fn add(
    snapshot: &mut Snapshot,
    source: u64,
    readings: &mut Vec<JournalReading>,
    tracks: &mut Journals,
    labels: &mut Labels,
    at: At,
) {
    let mut past = std::mem::take(tracks);
    for reading in readings.drain(..) {
        let known = past.remove(&reading.id).unwrap_or_default();
        let mut track = if known.openings == reading.openings {
            known
        } else {
            JournalTrack::default()
        };
        let own = reading.id.clone();
        let mut status = status_of(reading, &mut track, at);
        status.id = id_of(source, &own);
        status.label = labels.of(&status.id, ("journal", ""), &status.name);
        snapshot.journals.push(status);
        tracks.insert(own, track);
    }
}

fn status_of(reading: JournalReading, track: &mut JournalTrack, at: At) -> JournalStatus {
    track.openings = reading.openings;
    let mut rate = |meter: fn(&mut JournalTrack) -> &mut Meter, count: u64| {
        let meter = meter(track);
        meter.push(at.pace, at.now, count);
        meter.rate()
    };
    let group_rate = rate(|track| &mut track.groups, reading.groups).unwrap_or_default();
    let turn_rate = rate(|track| &mut track.turns, reading.turns).unwrap_or_default();
    let event_rate = rate(|track| &mut track.events, reading.events).unwrap_or_default();
    let written_rate = rate(|track| &mut track.written, reading.written_bytes);
    let writing = rate(|track| &mut track.writing, reading.writing_nanos);
    let writing = writing.map(|nanos| nanos / 1e9);
    rate(|track| &mut track.notices, reading.notices);
    let of_group = |of_all: f64| (group_rate > 0.0).then(|| of_all / group_rate);
    let is_opening = reading.phase == JournalPhase::Opening;
    JournalStatus {
        name: reading.name,
        phase: reading.phase,
        opening_read_bytes: is_opening.then_some(reading.opening_read_bytes),
        opening_bytes: is_opening.then_some(reading.opening_bytes),
        failure: reading.failure,
        notice: reading.notice,
        groups: track.groups.total(),
        group_rate,
        group_seconds: writing.and_then(of_group),
        turns: track.turns.total(),
        turn_rate,
        group_turns: of_group(turn_rate),
        events: track.events.total(),
        event_rate,
        event_bytes: reading.event_bytes,
        failed_groups: reading.failed_groups,
        failing_groups: reading.failing_groups,
        waiting_turns: reading.waiting_turns,
        oldest_wait_seconds: seconds(reading.oldest_wait_nanos),
        syncs: reading.syncs,
        written_bytes: track.written.total(),
        written_rate: written_rate.unwrap_or_default(),
        writing_seconds: seconds(track.writing.total()),
        writing: writing.map(|share| share.min(1.0)),
        longest_group_seconds: seconds(reading.longest_group_nanos),
        entities: reading.entities,
        segments: reading.segments,
        size_bytes: reading.size_bytes,
        compactions: reading.compactions,
        copied_bytes: reading.copied_bytes,
        saved_states: reading.saved_states,
        notices: track.notices.total(),
        new_notices: track.notices.growth(at),
        recoveries: reading.recoveries,
        recovered_events: reading.recovered_events,
        recovery_seconds: seconds(reading.recovery_nanos),
        ..JournalStatus::default()
    }
}
