//! Converts the reading of one source into its part of a snapshot.
//!
//! Every identifier gets the source's number as a prefix, so that identifiers of different sources
//! are never equal.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::mem::take;

use crate::bottleneck::FULL_MIN;
use crate::reading::{
    ActorReading, ActorsReading, ChannelReading, HeldReading, Reading, SponsorReading, StageReading,
};
use crate::snapshot::{
    ActorStatus, Batches, Edge, Held, Histogram, Node, NodeKind, Snapshot, SponsorStatus, State,
};
use crate::window::{At, Meter, Spread};

use super::labels::{Labels, Scope};
use super::track::{Track, Tracked, Tracks};

/// Maximum number of actors that a snapshot lists for each of three reasons: a long mailbox, an old
/// message, or much busy time.
const ACTORS_MAX: usize = 20;

/// Scope of the labels of sponsors (sets of threads that run actors).
pub(super) const SPONSORS: Scope<'static> = ("sponsor", "");

/// Adds the contents of `reading` to `snapshot`. Moves the names out of the reading, so that they
/// need not be copied.
pub(super) fn add(
    snapshot: &mut Snapshot,
    source: u64,
    reading: &mut Reading,
    tracks: &mut Tracks,
    labels: &mut Labels,
    at: At,
) {
    let first = (
        snapshot.nodes.len(),
        snapshot.edges.len(),
        snapshot.sponsors.len(),
    );
    tracks.begin();
    let (nodes, edges) = (&mut snapshot.nodes, &mut snapshot.edges);
    for stage in reading.stages.drain(..) {
        let track = tracks.of(Tracked::Stage, &stage.id);
        nodes.push(node_of_stage(source, stage, track, at));
    }
    for actors in reading.actors.drain(..) {
        let track = tracks.of(Tracked::Actors, &actors.id);
        nodes.push(node_of_actors(source, actors, track, at));
    }
    for actor in reading.outstanding.drain(..) {
        let track = tracks.of(Tracked::Actor, &actor.id);
        snapshot.actors.push(actor_of(source, actor, track, at));
    }
    let mut scratch = Vec::new();
    for channel in reading.channels.drain(..) {
        let track = tracks.of(Tracked::Channel, &channel.id);
        edges.push(edge_of(source, channel, track, at, &mut scratch));
    }
    for sponsor in reading.sponsors.drain(..) {
        let track = tracks.of(Tracked::Sponsor, &sponsor.id);
        let status = status_of(source, sponsor, track, at);
        snapshot.sponsors.push(status);
    }
    tracks.end();
    give_labels(snapshot, first, labels);
}

/// Sets the labels of the new nodes, channels and sponsors (sets of threads that run actors).
/// `first` contains the index of the first new node, channel and sponsor.
fn give_labels(snapshot: &mut Snapshot, first: (usize, usize, usize), labels: &mut Labels) {
    for node in &mut snapshot.nodes[first.0..] {
        node.label = labels.of(&node.id, ("node", &node.place), &node.name);
    }
    let nodes = snapshot.nodes[first.0..].iter();
    let nodes: HashMap<&str, &str> = nodes.map(|node| (&*node.id, &*node.label)).collect();
    for edge in &mut snapshot.edges[first.1..] {
        let name = match &edge.name {
            Some(name) => name.clone(),
            None => name_of(&nodes, edge),
        };
        edge.label = labels.of(&edge.id, ("channel", ""), &name);
    }
    for sponsor in &mut snapshot.sponsors[first.2..] {
        sponsor.label = labels.of(&sponsor.id, SPONSORS, &sponsor.name);
    }
}

/// Returns a name for a channel without a name: the labels of the nodes at its ends, such as
/// `reader-writer`. If an end is unknown, returns the type of the messages. `nodes` has the labels
/// of the nodes by their identifiers.
fn name_of(nodes: &HashMap<&str, &str>, edge: &Edge) -> String {
    let label = |id: &Option<String>| nodes.get(id.as_deref()?);
    match (label(&edge.from), label(&edge.to)) {
        (Some(from), Some(to)) => format!("{from}-{to}"),
        _ => edge.message.clone(),
    }
}

/// Sorts the actors by the lengths of their mailboxes, the longest first, and keeps only the actors
/// with the longest mailboxes, the most busy time or the oldest messages.
pub(super) fn rank(actors: &mut Vec<ActorStatus>) {
    let busy = |actor: &ActorStatus| actor.busy.unwrap_or_default();
    let oldest = |actor: &ActorStatus| actor.oldest_seconds.unwrap_or_default();
    let least_busy = amount_below(actors, busy);
    let least_old = amount_below(actors, oldest);
    actors.sort_by_key(|actor| Reverse(actor.waiting));
    let mut rank = 0..;
    actors.retain(|actor| {
        let is_long = rank.next() < Some(ACTORS_MAX) && actor.waiting > 1;
        is_long || busy(actor) > least_busy || oldest(actor) > least_old
    });
}

/// Sorts the actors by an amount, the largest first, and returns the amount of the actor that
/// follows the first [`ACTORS_MAX`] actors.
fn amount_below(actors: &mut [ActorStatus], amount: impl Fn(&ActorStatus) -> f64) -> f64 {
    actors.sort_by(|a, b| amount(b).total_cmp(&amount(a)));
    actors.get(ACTORS_MAX).map_or(0.0, amount)
}

pub(super) fn id_of(source: u64, id: &str) -> String {
    format!("{source}.{id}")
}

/// Records the counts that a source has reported, from which the rates are computed.
fn push(track: &mut Track, at: At, messages: u64, turns: u64, nanos: Option<u64>) {
    track.messages.push(at.pace, at.now, messages);
    track.turns.push(at.pace, at.now, turns);
    if let Some(nanos) = nanos {
        track.nanos.push(at.pace, at.now, nanos);
    }
}

/// Records a total time in nanoseconds. Returns the growth of this total within the window, as a
/// share of the window. The share is at most 1. Returns `None` if the total or the growth is
/// unknown.
fn push_share(meter: &mut Meter, at: At, nanos: Option<u64>) -> Option<f64> {
    meter.push(at.pace, at.now, nanos?);
    meter.rate().map(|nanos| (nanos / 1e9).min(1.0))
}

fn node_of_stage(source: u64, stage: StageReading, track: &mut Track, at: At) -> Node {
    push(track, at, stage.messages, stage.turns, stage.busy_nanos);
    Node {
        starved: push_share(&mut track.starved, at, stage.starved_nanos),
        back_pressured: push_share(&mut track.back_pressured, at, stage.back_pressured_nanos),
        starved_seconds: total_seconds(&track.starved, stage.starved_nanos),
        back_pressured_seconds: total_seconds(&track.back_pressured, stage.back_pressured_nanos),
        id: id_of(source, &stage.id),
        kind: NodeKind::Stage,
        name: stage.name,
        place: stage.place,
        state: stage.state,
        // A stage runs one step at a time. If the clock runs slightly ahead, the share is still at
        // most 1.
        busy: share(track).map(|busy| busy.min(1.0)),
        // Each panic of a stage causes a restart, except for the last panic of a failed stage.
        failures: track.high(2, stage.restarts + u64::from(stage.state == State::Failed)),
        restarts: track.high(0, stage.restarts),
        slow: track.high(1, stage.slow),
        note: stage.note,
        busy_seconds: total_seconds(&track.nanos, stage.busy_nanos),
        ..rates(track)
    }
}

/// Returns the histogram with the percentiles of the values in the window.
fn estimated(histogram: Option<Histogram>, recent: &mut Spread, at: At) -> Option<Histogram> {
    let mut histogram = histogram?;
    histogram.estimate(recent, at);
    Some(histogram)
}

fn node_of_actors(source: u64, actors: ActorsReading, track: &mut Track, at: At) -> Node {
    push(track, at, actors.messages, actors.turns, actors.busy_nanos);
    if let Some(waiting) = actors.waiting {
        track.fills.push(at.pace, at.now, waiting as f64);
    }
    Node {
        id: id_of(source, &actors.id),
        kind: NodeKind::Actors,
        name: actors.name,
        place: actors.place,
        state: State::Running,
        busy: share(track),
        alive: actors.alive,
        waiting: actors.waiting,
        longest: actors.longest,
        growth: track.fills.slope(at.pace),
        turn_seconds: estimated(actors.turn_seconds, &mut track.turn_times, at),
        wait_seconds: estimated(actors.wait_seconds, &mut track.waits, at),
        messages_by_kind: track.by_kind.push(at, &actors.messages_by_kind),
        failures: track.high(2, actors.failures),
        restarts: track.high(0, actors.restarts),
        slow: track.high(1, actors.slow),
        held_seconds: actors.held_nanos.map(seconds),
        away: actors.away,
        away_seconds: actors.away_nanos.map(seconds),
        busy_seconds: total_seconds(&track.nanos, actors.busy_nanos),
        ..rates(track)
    }
}

fn actor_of(source: u64, actor: ActorReading, track: &mut Track, at: At) -> ActorStatus {
    track.nanos.push(at.pace, at.now, actor.busy_nanos);
    ActorStatus {
        id: id_of(source, &actor.id),
        node: id_of(source, &actor.actors),
        name: actor.name,
        waiting: actor.waiting,
        oldest_seconds: (actor.oldest_nanos > 0).then(|| seconds(actor.oldest_nanos)),
        // An actor runs one turn at a time.
        busy: share(track).map(|busy| busy.min(1.0)),
    }
}

/// Creates a node of a snapshot. The node contains only the totals and rates in `track`.
fn rates(track: &Track) -> Node {
    Node {
        messages: track.messages.total(),
        rate: track.messages.rate().unwrap_or_default(),
        turns: track.turns.total(),
        turn_rate: track.turns.rate().unwrap_or_default(),
        ..Node::default()
    }
}

pub(super) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Returns the growth of the busy time in `track` within the window, in seconds per second.
fn share(track: &Track) -> Option<f64> {
    track.nanos.rate().map(|nanos| nanos / 1e9)
}

/// Returns a total time in seconds, or `None` if the source does not know it now.
fn total_seconds(meter: &Meter, nanos: Option<u64>) -> Option<f64> {
    nanos.map(|_| seconds(meter.total()))
}

fn edge_of(
    source: u64,
    mut channel: ChannelReading,
    track: &mut Track,
    at: At,
    scratch: &mut Vec<f64>,
) -> Edge {
    let (taken, pause) = (track.messages.total(), track.messages.pause(at));
    track.messages.push(at.pace, at.now, channel.taken);
    let takes = track.messages.total() > taken;
    // Both ends are read while the channel is in use, so the difference may exceed the capacity.
    let fill = channel.fill.min(channel.capacity);
    let filled = fill as f64 / channel.capacity.max(1) as f64;
    track.fills.push(at.pace, at.now, filled);
    track.stalled = if takes || channel.closed || filled < FULL_MIN {
        None
    } else {
        // While no sample was taken, the whole process may have been stopped.
        let since = track.stalled.map(|since| since + pause);
        since.or(Some(at.now))
    };
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
        stalled_seconds: track.stalled.map_or(0.0, |since| seconds(at.now - since)),
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
        rescues: track.high(4, sponsor.rescues),
        ready: sponsor.ready,
        wait_seconds: estimated(sponsor.wait_seconds, &mut track.waits, at),
        held,
        idle_seconds: total_seconds(&track.nanos, sponsor.idle_nanos),
        ..SponsorStatus::default()
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
