//! Converts the reading of one source into its part of a snapshot.
//!
//! Every identifier gets the source's number as a prefix, so that identifiers of different sources
//! are never equal.

use std::mem::take;

use crate::reading::{
    ActorsReading, ChannelReading, HeldReading, Reading, SponsorReading, StageReading,
};
use crate::snapshot::{Batches, Edge, Held, Node, NodeKind, Snapshot, SponsorStatus, State};
use crate::window::{Nanos, Pace};

use super::track::{Track, Tracks};

/// Time of a sample, and the pace of the window.
#[derive(Debug, Clone, Copy)]
struct At {
    pace: Pace,
    now: Nanos,
}

/// Adds the contents of `reading` to `snapshot`. Moves the names out of the reading.
pub(super) fn add(
    snapshot: &mut Snapshot,
    source: u64,
    reading: &mut Reading,
    tracks: &mut Tracks,
    pace: Pace,
    now: Nanos,
) {
    let at = At { pace, now };
    tracks.begin();
    let (nodes, edges) = (&mut snapshot.nodes, &mut snapshot.edges);
    for stage in reading.stages.drain(..) {
        let track = tracks.of(&stage.id);
        nodes.push(node_of_stage(source, stage, track, at));
    }
    for actors in reading.actors.drain(..) {
        let track = tracks.of(&actors.id);
        nodes.push(node_of_actors(source, actors, track, at));
    }
    let mut scratch = Vec::new();
    for channel in reading.channels.drain(..) {
        let track = tracks.of(&channel.id);
        edges.push(edge_of(source, channel, track, at, &mut scratch));
    }
    for sponsor in reading.sponsors.drain(..) {
        let track = tracks.of(&sponsor.id);
        let status = status_of(source, sponsor, track, at);
        snapshot.sponsors.push(status);
    }
    tracks.end();
}

fn id_of(source: u64, id: &str) -> String {
    format!("{source}.{id}")
}

/// Records the counts for which rates are computed.
fn push(track: &mut Track, at: At, messages: u64, turns: u64, nanos: Option<u64>) {
    track.messages.push(at.pace, at.now, messages);
    track.turns.push(at.pace, at.now, turns);
    if let Some(nanos) = nanos {
        track.nanos.push(at.pace, at.now, nanos);
    }
}

fn node_of_stage(source: u64, stage: StageReading, track: &mut Track, at: At) -> Node {
    push(track, at, stage.messages, stage.turns, stage.busy_nanos);
    Node {
        id: id_of(source, &stage.id),
        kind: NodeKind::Stage,
        name: stage.name,
        place: stage.place,
        state: stage.state,
        // A stage runs one step at a time. If the clock runs slightly ahead, the share is still at
        // most 1.
        busy: share(track).map(|busy| busy.min(1.0)),
        // A stage is restarted after each panic but the last, with which it fails.
        failures: track.high(2, stage.restarts + u64::from(stage.state == State::Failed)),
        restarts: track.high(0, stage.restarts),
        slow: track.high(1, stage.slow),
        note: stage.note,
        ..rates(track)
    }
}

fn node_of_actors(source: u64, actors: ActorsReading, track: &mut Track, at: At) -> Node {
    push(track, at, actors.messages, actors.turns, actors.busy_nanos);
    Node {
        id: id_of(source, &actors.id),
        kind: NodeKind::Actors,
        name: actors.name,
        place: actors.place,
        state: State::Running,
        busy: share(track),
        alive: actors.alive,
        depth: actors.depth,
        failures: track.high(2, actors.failures),
        restarts: track.high(0, actors.restarts),
        slow: track.high(1, actors.slow),
        held_seconds: actors.held_nanos.map(seconds),
        away: actors.away,
        away_seconds: actors.away_nanos.map(seconds),
        ..rates(track)
    }
}

/// Creates a node that has only the values of the track's meters.
fn rates(track: &Track) -> Node {
    Node {
        messages: track.messages.total(),
        rate: track.messages.rate().unwrap_or_default(),
        turns: track.turns.total(),
        turn_rate: track.turns.rate().unwrap_or_default(),
        ..Node::default()
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Returns the share of the time that was used, as nanoseconds per nanosecond.
fn share(track: &Track) -> Option<f64> {
    track.nanos.rate().map(|nanos| nanos / 1e9)
}

fn edge_of(
    source: u64,
    mut channel: ChannelReading,
    track: &mut Track,
    at: At,
    scratch: &mut Vec<f64>,
) -> Edge {
    track.messages.push(at.pace, at.now, channel.taken);
    // Both ends of a channel are read while it runs, so the difference may exceed the capacity.
    let fill = channel.fill.min(channel.capacity);
    let filled = fill as f64 / channel.capacity.max(1) as f64;
    track.fills.push(at.pace, at.now, filled);
    let [fill_p80, fill_p95] = track.fills.percentiles([0.8, 0.95], scratch);
    Edge {
        id: id_of(source, &channel.id),
        from: channel.from.map(|id| id_of(source, &id)),
        to: channel.to.map(|id| id_of(source, &id)),
        name: channel.name,
        message: channel.message,
        capacity: channel.capacity,
        fill,
        fill_p80,
        fill_p95,
        rate: track.messages.rate().unwrap_or_default(),
        total: track.messages.total(),
        batches: Batches {
            counts: without_zeros(take(&mut channel.batches)),
        },
        sender_stalls: track.high(0, channel.sender_stalls),
        receiver_stalls: track.high(1, channel.receiver_stalls),
        feedback: channel.feedback,
        closed: channel.closed,
        ..Edge::default()
    }
}

fn without_zeros(mut counts: Vec<u64>) -> Vec<u64> {
    while counts.last() == Some(&0) {
        counts.pop();
    }
    counts
}

fn status_of(source: u64, sponsor: SponsorReading, track: &mut Track, at: At) -> SponsorStatus {
    push(track, at, 0, sponsor.turns, sponsor.idle_nanos);
    let workers = sponsor.workers.max(1) as f64;
    let held = sponsor.held.into_iter();
    let held = held.map(|held| held_of(source, held)).collect();
    SponsorStatus {
        id: id_of(source, &sponsor.id),
        name: sponsor.name,
        workers: sponsor.workers,
        idle: share(track).map(|idle| (idle / workers).min(1.0)),
        turns: track.turns.total(),
        turn_rate: track.turns.rate().unwrap_or_default(),
        published: track.high(0, sponsor.published),
        claimed: track.high(1, sponsor.claimed),
        parks: track.high(2, sponsor.parks),
        dead_letters: track.high(3, sponsor.dead_letters),
        held,
    }
}

fn held_of(source: u64, held: HeldReading) -> Held {
    Held {
        worker: held.worker,
        node: id_of(source, &held.actors),
        name: held.name,
        seconds: seconds(held.nanos),
    }
}
