//! A node of a cluster as a source of telemetry.

use std::time::Duration;

use garrick_telemetry::{
    KindReading, LinkReading, LinkState as Link, MemberReading, MemberState as Member,
    OwnMemberReading, Reading, Source,
};

use crate::entities::{Entities, EntitiesSample};
use crate::members::{MemberSample, MemberState, MembersSample};
use crate::node::Node;
use crate::traffic::{LinkSample, LinkState};

/// Time for which telemetry still shows a link after the link has gone down or the other node has
/// left.
const GONE_FOR: Duration = Duration::from_secs(300);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Shows the links of the node. If the node uses entities and has not left, also shows the members
/// of the cluster and the kinds of entities. A link that has been down for 5 minutes is no longer
/// shown. If nothing waits for the other node, the node forgets a link that is down after 1 minute,
/// and the link is no longer shown.
impl Source for Node {
    fn read(&mut self, reading: &mut Reading) {
        let local = self.name().as_str();
        let is_shown = |link: &LinkSample| match link.state {
            LinkState::Down | LinkState::Left => link.state_for < GONE_FOR,
            LinkState::Connecting | LinkState::Up | LinkState::Gap => true,
        };
        let links = self.links().into_iter().filter(is_shown);
        reading
            .links
            .extend(links.map(|link| link_reading(local, &link)));
        let Some(entities) = Entities::of(self) else {
            return;
        };
        let own = entities.members();
        let members = entities.roster();
        let is_left = |member: &MemberSample| member.is_own && member.state == MemberState::Left;
        // A node that has left learns nothing about others any more.
        let has_left = members.iter().any(is_left);
        let shown = members.iter().filter(|member| member.is_own || !has_left);
        reading
            .members
            .extend(shown.map(|member| member_reading(local, member, &own)));
        if has_left {
            return;
        }
        let kinds = entities.sample();
        reading
            .kinds
            .extend(kinds.iter().map(|kind| kind_reading(local, kind)));
    }
}

fn link_reading(local: &str, link: &LinkSample) -> LinkReading {
    LinkReading {
        id: format!("{local} link {}", link.peer),
        local: local.to_owned(),
        peer: link.peer.to_string(),
        state: match link.state {
            LinkState::Connecting => Link::Connecting,
            LinkState::Up => Link::Up,
            LinkState::Gap => Link::Gap,
            LinkState::Down => Link::Down,
            LinkState::Left => Link::Left,
        },
        state_nanos: nanos(link.state_for),
        silent_nanos: link.silent_for.map(nanos),
        incarnation: link.life,
        connects: link.connects,
        sent_frames: link.frames_sent,
        sent_bytes: link.bytes_sent,
        sent_messages: link.messages_sent,
        received_frames: link.frames_taken,
        received_bytes: link.bytes_taken,
        received_messages: link.messages_taken,
        lost_frames: link.frames_lost,
        lost_messages: link.messages_lost,
        unconfirmed_messages: link.messages_unconfirmed,
        missing_frames: link.frames_missing,
        refused_frames: link.frames_refused,
        refused_messages: link.messages_refused,
        waiting_frames: link.frames_waiting,
        waiting_bytes: link.bytes_waiting,
        unconfirmed_bytes: link.bytes_unconfirmed,
        credit_bytes: link.window_left,
        questions: link.questions,
    }
}

fn member_reading(local: &str, member: &MemberSample, own: &MembersSample) -> MemberReading {
    let is_gone = matches!(member.state, MemberState::Removed | MemberState::Left);
    let shards = member.shards.iter();
    MemberReading {
        id: format!("{local} member {}", member.name),
        local: local.to_owned(),
        name: member.name.to_string(),
        incarnation: member.life,
        epoch: member.epoch,
        state: match member.state {
            MemberState::Joining => Member::Joining,
            MemberState::Up => Member::Up,
            MemberState::Suspect => Member::Suspect,
            MemberState::Draining => Member::Draining,
            MemberState::Removed => Member::Removed,
            MemberState::Left => Member::Left,
        },
        silent_nanos: (!is_gone).then(|| nanos(member.silent_for)),
        shards: (shards.map(|(kind, count)| (kind.to_string(), u64::from(*count)))).collect(),
        own: member.is_own.then(|| own_reading(member.state, own)),
    }
}

fn own_reading(state: MemberState, own: &MembersSample) -> OwnMemberReading {
    let lease = match state {
        MemberState::Left => None,
        // The membership was lost.
        MemberState::Joining if own.joined > 0 => Some(Duration::ZERO),
        _ => own.lease_left,
    };
    OwnMemberReading {
        lease_nanos: lease.map(nanos),
        held_turns: own.held_turns as u64,
        joined: own.joined,
        lost: own.lost,
        fenced: own.fenced,
        removed: own.removed,
        claimed_shards: own.claimed,
        handed_over_shards: own.handed_over,
        failure: own.failure.as_ref().map(ToString::to_string),
    }
}

fn kind_reading(local: &str, kind: &EntitiesSample) -> KindReading {
    KindReading {
        id: format!("{local} kind {}", kind.kind),
        local: local.to_owned(),
        name: kind.kind.to_string(),
        is_hosted: kind.is_hosted,
        entities: kind.active as u64,
        created: kind.created,
        passivated: kind.passivated,
        shards: kind.shards.into(),
        owned_shards: kind.owned.into(),
        unowned_shards: kind.unowned.into(),
        handing_over_shards: kind.handing_over.into(),
        moving_shards: kind.moving.into(),
        waiting_messages: kind.waiting as u64,
        stray_messages: kind.strays,
        expired_messages: kind.expired,
        refused_messages: kind.refused,
        abandoned_entities: kind.abandoned,
    }
}
