//! Converts the readings of cluster nodes into a part of a snapshot.

use std::collections::HashMap;

use super::build::{id_of, seconds};
use super::labels::Labels;
use super::track::LinkTrack;
use crate::reading::{KindReading, LinkReading, MemberReading, OwnMemberReading, Reading};
use crate::snapshot::{KindStatus, LinkStatus, MemberStatus, OwnMember, Snapshot};
use crate::window::{At, Meter};

/// Recent counter values of the links and of the kinds of entities that one source reports. The
/// keys of the maps are the identifiers of the links and kinds.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    links: HashMap<String, LinkTrack>,
    /// For each kind, recent values of the total number of created entities.
    kinds: HashMap<String, Meter>,
}

/// Adds the cluster members, the links to other nodes and the kinds of entities of one source to
/// `snapshot`. Drops the recent counter values of links and kinds that no longer exist.
pub(super) fn add(
    snapshot: &mut Snapshot,
    source: u64,
    reading: &mut Reading,
    tracks: &mut Clusters,
    labels: &mut Labels,
    at: At,
) {
    for member in reading.members.drain(..) {
        let (id, local) = (
            id_of(source, &member.id),
            local_of(labels, source, &member.local),
        );
        let mut status = status_of_member(member);
        status.label = labels.of(&id, ("member", &local), &status.name);
        (status.id, status.local) = (id, local);
        snapshot.members.push(status);
    }
    let mut past = std::mem::take(&mut tracks.links);
    for link in reading.links.drain(..) {
        let (id, local) = (
            id_of(source, &link.id),
            local_of(labels, source, &link.local),
        );
        let mut track = past.remove(&link.id).unwrap_or_default();
        let own = link.id.clone();
        let mut status = status_of_link(link, &mut track, at);
        status.label = labels.of(&id, ("link", &local), &status.name);
        (status.id, status.local) = (id, local);
        snapshot.links.push(status);
        tracks.links.insert(own, track);
    }
    let mut past = std::mem::take(&mut tracks.kinds);
    for kind in reading.kinds.drain(..) {
        let (id, local) = (
            id_of(source, &kind.id),
            local_of(labels, source, &kind.local),
        );
        let mut created = past.remove(&kind.id).unwrap_or_default();
        let own = kind.id.clone();
        let mut status = status_of_kind(kind, &mut created, at);
        status.label = labels.of(&id, ("kind", &local), &status.name);
        (status.id, status.local) = (id, local);
        snapshot.kinds.push(status);
        tracks.kinds.insert(own, created);
    }
}

/// Returns the label of the node `local`, which belongs to this process.
fn local_of(labels: &mut Labels, source: u64, local: &str) -> String {
    let id = id_of(source, &format!("local {local}"));
    labels.of(&id, ("local", ""), local)
}

/// Formats the incarnation of a node as text, because some readers of JSON do not support integers
/// of 64 bits. Returns an empty text for 0, which means that the incarnation is unknown.
fn incarnation(number: u64) -> String {
    if number == 0 {
        String::new()
    } else {
        number.to_string()
    }
}

fn status_of_member(reading: MemberReading) -> MemberStatus {
    MemberStatus {
        name: reading.name,
        state: reading.state,
        incarnation: incarnation(reading.incarnation),
        epoch: reading.epoch,
        silent_seconds: reading.silent_nanos.map(seconds),
        owned_shards: reading.shards.iter().map(|(_, count)| count).sum(),
        shards: reading.shards.into_iter().collect(),
        own: reading.own.map(own_of),
        ..MemberStatus::default()
    }
}

fn own_of(reading: OwnMemberReading) -> OwnMember {
    OwnMember {
        lease_seconds: reading.lease_nanos.map(seconds),
        held_turns: reading.held_turns,
        joined: reading.joined,
        lost: reading.lost,
        fenced: reading.fenced,
        removed: reading.removed,
        claimed_shards: reading.claimed_shards,
        handed_over_shards: reading.handed_over_shards,
        failure: reading.failure,
    }
}

fn status_of_link(reading: LinkReading, track: &mut LinkTrack, at: At) -> LinkStatus {
    let rate = |meter: &mut Meter, count: u64| {
        meter.push(at.pace, at.now, count);
        meter.rate().unwrap_or_default()
    };
    let sent_rate = rate(&mut track.sent, reading.sent_messages);
    let sent_byte_rate = rate(&mut track.sent_bytes, reading.sent_bytes);
    let received_rate = rate(&mut track.received, reading.received_messages);
    let received_byte_rate = rate(&mut track.received_bytes, reading.received_bytes);
    rate(&mut track.lost, reading.lost_messages);
    LinkStatus {
        name: reading.peer,
        state: reading.state,
        state_seconds: seconds(reading.state_nanos),
        silent_seconds: reading.silent_nanos.map(seconds),
        incarnation: incarnation(reading.incarnation),
        connects: reading.connects,
        sent_frames: reading.sent_frames,
        sent_bytes: track.sent_bytes.total(),
        sent_byte_rate,
        sent_messages: track.sent.total(),
        sent_rate,
        received_frames: reading.received_frames,
        received_bytes: track.received_bytes.total(),
        received_byte_rate,
        received_messages: track.received.total(),
        received_rate,
        lost_frames: reading.lost_frames,
        lost_messages: track.lost.total(),
        new_lost_messages: track.lost.growth(at),
        unconfirmed_messages: reading.unconfirmed_messages,
        missing_frames: reading.missing_frames,
        refused_frames: reading.refused_frames,
        refused_messages: reading.refused_messages,
        waiting_frames: reading.waiting_frames,
        waiting_bytes: reading.waiting_bytes,
        unconfirmed_bytes: reading.unconfirmed_bytes,
        credit_bytes: reading.credit_bytes,
        questions: reading.questions,
        ..LinkStatus::default()
    }
}

fn status_of_kind(reading: KindReading, created: &mut Meter, at: At) -> KindStatus {
    created.push(at.pace, at.now, reading.created);
    KindStatus {
        name: reading.name,
        is_hosted: reading.is_hosted,
        entities: reading.entities,
        created: created.total(),
        created_rate: created.rate().unwrap_or_default(),
        passivated: reading.passivated,
        shards: reading.shards,
        owned_shards: reading.owned_shards,
        unowned_shards: reading.unowned_shards,
        handing_over_shards: reading.handing_over_shards,
        moving_shards: reading.moving_shards,
        waiting_messages: reading.waiting_messages,
        stray_messages: reading.stray_messages,
        expired_messages: reading.expired_messages,
        refused_messages: reading.refused_messages,
        abandoned_entities: reading.abandoned_entities,
        ..KindStatus::default()
    }
}
