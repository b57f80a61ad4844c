//! The tables of clusters: members, links, and kinds of entities.

use garrick_telemetry::{KindStatus, LinkState, LinkStatus, MemberState, MemberStatus};

use super::{Column, Row, figure, text_column};
use crate::values::{Mark, Value};

/// Columns of the table of members. On a narrow screen, the columns that show trouble are dropped
/// last. This is true for all tables of this file.
pub(super) static MEMBERS: &[Column] = &[
    text_column("MEMBER", 12, 0),
    text_column("STATE", 9, 0),
    figure("RENEWED", 8, 1),
    figure("SHARDS", 7, 1),
    figure("LEASE", 8, 2),
    figure("HELD", 6, 2),
    figure("LOST", 6, 3),
    figure("CLAIMED", 8, 5),
    figure("GIVEN", 7, 5),
    figure("EPOCH", 9, 6),
    text_column("INCARNATION", 20, 7),
    text_column("SEEN BY", 12, 4),
];

pub(super) static LINKS: &[Column] = &[
    text_column("LINK TO", 12, 0),
    text_column("STATE", 11, 0),
    figure("SENT/S", 8, 0),
    figure("TAKEN/S", 8, 1),
    figure("LOST", 7, 1),
    figure("WAITING", 8, 1),
    figure("SILENT", 8, 2),
    figure("REFUSED", 8, 3),
    figure("OPEN", 6, 4),
    figure("CREDIT", 10, 4),
    figure("CONNECTS", 9, 5),
    figure("SENT B/S", 9, 6),
    figure("TAKEN B/S", 10, 6),
    text_column("OF", 12, 5),
];

pub(super) static KINDS: &[Column] = &[
    text_column("ENTITIES", 12, 0),
    figure("RUNNING", 8, 0),
    figure("SHARDS", 7, 1),
    figure("OF ALL", 7, 1),
    figure("NO OWNER", 9, 0),
    figure("MOVING", 7, 2),
    figure("WAITING", 8, 1),
    figure("EXPIRED", 8, 3),
    figure("STRAYS", 7, 4),
    figure("CREATED", 8, 5),
    figure("IDLE", 7, 5),
    text_column("SEEN BY", 12, 6),
];

/// Returns the word for the state of a member.
pub(crate) const fn member_word(state: MemberState) -> &'static str {
    match state {
        MemberState::Joining => "joining",
        MemberState::Up => "up",
        MemberState::Suspect => "suspect",
        MemberState::Draining => "draining",
        MemberState::Removed => "removed",
        MemberState::Left => "left",
    }
}

/// Returns the word for the state of a link.
pub(crate) const fn link_word(state: LinkState) -> &'static str {
    match state {
        LinkState::Connecting => "connecting",
        LinkState::Up => "up",
        LinkState::Gap => "gap",
        LinkState::Down => "down",
        LinkState::Left => "left",
    }
}

pub(super) fn member(member: &MemberStatus) -> Row {
    let mark = match member.state {
        MemberState::Removed => Mark::Failed,
        MemberState::Left => Mark::Ended,
        _ => Mark::from(member.level),
    };
    let own = member.own.as_ref();
    Row {
        id: member.id.clone(),
        mark,
        values: vec![
            Value::text(&member.name),
            Value::text(member_word(member.state)),
            Value::time(member.silent_seconds),
            Value::Count(member.owned_shards),
            Value::time(own.and_then(|own| own.lease_seconds)),
            Value::count(own.map(|own| own.held_turns)),
            Value::count(own.map(|own| own.lost)),
            Value::count(own.map(|own| own.claimed_shards)),
            Value::count(own.map(|own| own.handed_over_shards)),
            Value::Count(member.epoch),
            Value::text(&member.incarnation),
            Value::text(&member.local),
        ],
    }
}

pub(super) fn link(link: &LinkStatus) -> Row {
    let mark = match link.state {
        LinkState::Down => Mark::Failed,
        LinkState::Left => Mark::Ended,
        _ => Mark::from(link.level),
    };
    Row {
        id: link.id.clone(),
        mark,
        values: vec![
            Value::text(&link.name),
            Value::text(link_word(link.state)),
            Value::Rate(link.sent_rate),
            Value::Rate(link.received_rate),
            Value::Count(link.lost_messages),
            Value::Count(link.waiting_frames),
            Value::time(link.silent_seconds),
            Value::Count(link.refused_messages),
            Value::Count(link.questions),
            Value::Bytes(link.credit_bytes),
            Value::Count(link.connects),
            Value::Rate(link.sent_byte_rate),
            Value::Rate(link.received_byte_rate),
            Value::text(&link.local),
        ],
    }
}

pub(super) fn kind(kind: &KindStatus) -> Row {
    Row {
        id: kind.id.clone(),
        mark: Mark::from(kind.level),
        values: vec![
            Value::text(&kind.name),
            Value::Count(kind.entities),
            Value::Count(kind.owned_shards),
            Value::Count(kind.shards),
            Value::Count(kind.unowned_shards),
            Value::Count(kind.handing_over_shards),
            Value::Count(kind.waiting_messages),
            Value::Count(kind.expired_messages),
            Value::Count(kind.stray_messages),
            Value::Count(kind.created),
            Value::Count(kind.passivated),
            Value::text(&kind.local),
        ],
    }
}
