//! Members and counts of shards, which the placer of a node (the actor that decides about shards)
//! publishes for samples.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use garrick_sched::{Nanos, nanos};

use super::record::Member;
use super::roster::FENCED_LEASE;
use super::view::{Seen, View};
use crate::name::NodeName;

/// Time for which a member that was removed or has left stays in the list of members.
const GONE_FOR: Duration = Duration::from_secs(300);

/// Maximum number of nodes in the list of members that were removed or have left.
const GONE_MAX: usize = 64;

/// State of a member of a cluster, as a node sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MemberState {
    /// The node is not a member yet, or has lost its membership and tries to join again. Only a
    /// node itself knows this state.
    Joining,
    /// The node is a member.
    #[default]
    Up,
    /// The member was silent, and other members have taken over its shards of fenced kinds (whose
    /// journals refuse events of earlier owners).
    Suspect,
    /// The member is handing its shards over, because it was asked to drain.
    Draining,
    /// The node was removed from the cluster, because it was silent.
    Removed,
    /// The node has left the cluster.
    Left,
}

/// A member of a cluster, as a node sees it. [`Entities::roster`](crate::Entities::roster) returns
/// the members.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberSample {
    /// Name of the member.
    pub name: NodeName,
    /// True if the member is the node on which the list was requested.
    pub is_own: bool,
    /// Number of the node's incarnation, which grows each time the node starts.
    pub life: u64,
    /// Number that identifies the node's membership. The number grows when the node loses its
    /// membership and joins again. 0 if the node is not a member.
    pub epoch: u64,
    /// State of the member.
    pub state: MemberState,
    /// Time since the member was last seen to renew its membership.
    pub silent_for: Duration,
    /// Kinds of entities that the member runs, sorted by name. Each kind has the number of its
    /// shards that the member owns.
    pub shards: Vec<(Arc<str>, u32)>,
}

/// Counts of the shards of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ShardCounts {
    pub(crate) all: u32,
    pub(crate) own: u32,
    /// Number of shards that no node owns.
    pub(crate) unowned: u32,
    /// Number of shards that are being handed over, by any node. The field `own_moving` counts only
    /// the shards that this node is handing over.
    pub(crate) moving: u32,
    pub(crate) own_moving: u32,
}

/// A member, with the time at which it was last seen to renew its membership.
#[derive(Clone)]
pub(crate) struct Standing {
    sample: MemberSample,
    seen_at: Nanos,
    /// Time at which the member was removed or has left.
    gone_at: Option<Nanos>,
}

/// The list of members, and the numbers of shards. The placer of a node (the actor that decides
/// about shards) writes them, and the functions that return samples read them. All times are by the
/// clock of the system.
#[derive(Default)]
pub(crate) struct Standings {
    members: BTreeMap<NodeName, Standing>,
    kinds: BTreeMap<Arc<str>, ShardCounts>,
    /// Time since which this node has renewed its own membership without delay. Before this time,
    /// the node could not tell whether other members were silent.
    sure_since: Nanos,
    /// Time at which the lease of this node ends. `None` if the node is not a member.
    pub(crate) lease_until: Option<Nanos>,
    /// Number of turns whose effects wait until this node has renewed its lease.
    pub(crate) held_turns: usize,
}

/// Returns the state of another member, according to its record.
fn state_of(member: &Member) -> MemberState {
    match (member.is_suspect, member.is_draining) {
        (true, _) => MemberState::Suspect,
        (false, true) => MemberState::Draining,
        (false, false) => MemberState::Up,
    }
}

impl Standings {
    /// Sets the time since which this node has renewed its own membership without delay.
    pub(crate) fn is_sure_since(&mut self, since: Nanos) {
        self.sure_since = since;
    }

    /// Records the current members. `seen_at` returns the time at which a member was last seen to
    /// renew its membership. Members that `view` does not contain were removed or have left.
    pub(crate) fn see(
        &mut self,
        view: &View,
        seen_at: impl Fn(&NodeName) -> Option<Nanos>,
        now: Nanos,
    ) {
        for (name, standing) in &mut self.members {
            if standing.gone_at.is_none() && view.member(name).is_none() {
                standing.leaves(now);
            }
        }
        for (name, seen) in view.members() {
            let known = self.members.get_mut(name);
            let before = known.map(|known| std::mem::take(&mut known.sample.shards));
            let standing = Standing::new(
                (name, seen),
                before.unwrap_or_default(),
                seen_at(name).unwrap_or(now),
            );
            self.members.insert(name.clone(), standing);
        }
        self.forget_gone(now);
    }

    /// Forgets members that have been gone for a long time. If too many gone members are left, also
    /// forgets those that have been gone for the longest time.
    fn forget_gone(&mut self, now: Nanos) {
        let is_old = |at: Nanos| now.saturating_sub(at) >= nanos(GONE_FOR);
        self.members
            .retain(|_, standing| !standing.gone_at.is_some_and(is_old));
        let gone = self.members.values();
        let mut gone: Vec<_> = gone.filter_map(|standing| standing.gone_at).collect();
        if gone.len() > GONE_MAX {
            gone.sort_unstable();
            let oldest = gone[gone.len() - GONE_MAX];
            self.members
                .retain(|_, standing| standing.gone_at.is_none_or(|at| at >= oldest));
        }
    }

    /// Counts the shards of all kinds. `own` is the name of this node.
    pub(crate) fn count(&mut self, view: &View, own: &NodeName) {
        let mut by_owner: BTreeMap<&NodeName, BTreeMap<Arc<str>, u32>> = BTreeMap::new();
        self.kinds.clear();
        for kind in view.kinds() {
            let counts = self.kinds.entry(kind.clone()).or_default();
            counts.all = view.shards(kind).unwrap_or(0);
            for number in 0..counts.all {
                let Some((owner, seen)) = view.owner(kind, number) else {
                    counts.unowned += 1;
                    continue;
                };
                let (is_own, moves) = (owner == own, u32::from(seen.value.is_draining));
                counts.own += u32::from(is_own);
                counts.moving += moves;
                counts.own_moving += moves * u32::from(is_own);
                let of_owner = by_owner.entry(owner).or_default();
                *of_owner.entry(kind.clone()).or_default() += 1;
            }
        }
        for (name, standing) in &mut self.members {
            let mut owned = by_owner.remove(name).unwrap_or_default();
            let hosts = view.member(name).map(|seen| &seen.value.hosts);
            for kind in hosts.into_iter().flatten() {
                if !owned.contains_key(kind.as_str()) {
                    owned.insert(kind.as_str().into(), 0);
                }
            }
            standing.sample.shards = owned.into_iter().collect();
        }
    }

    /// Sets the state of this node itself. The list of members always contains this node, even if
    /// it is not a member.
    pub(crate) fn set_own(&mut self, own: MemberSample, now: Nanos) {
        let known = self.members.remove(&own.name);
        let (seen_at, shards) = match known {
            Some(known) => (known.seen_at, known.sample.shards),
            None => (now, Vec::new()),
        };
        let standing = Standing {
            seen_at,
            gone_at: None,
            sample: MemberSample { shards, ..own },
        };
        self.members.insert(standing.sample.name.clone(), standing);
    }

    /// Returns true if this node itself has left, or is leaving at once.
    pub(crate) fn has_left(&self) -> bool {
        let samples = self.members.values().map(|standing| &standing.sample);
        let mut own = samples.filter(|sample| sample.is_own);
        own.any(|sample| sample.state == MemberState::Left)
    }

    /// Returns the members, sorted by name.
    pub(crate) fn members(&self, now: Nanos) -> Vec<MemberSample> {
        let members = self.members.values().map(|standing| MemberSample {
            silent_for: self.silent_for(standing, now),
            ..standing.sample.clone()
        });
        members.collect()
    }

    fn silent_for(&self, standing: &Standing, now: Nanos) -> Duration {
        let since = standing.seen_at.max(self.sure_since);
        Duration::from_nanos(now.saturating_sub(since))
    }

    /// Returns the counts of the shards of a kind.
    pub(crate) fn shards(&self, kind: &str) -> ShardCounts {
        self.kinds.get(kind).copied().unwrap_or_default()
    }
}

impl Standing {
    fn new(
        (name, seen): (&NodeName, &Seen<Member>),
        shards: Vec<(Arc<str>, u32)>,
        seen_at: Nanos,
    ) -> Self {
        Self {
            sample: MemberSample {
                name: name.clone(),
                is_own: false,
                life: seen.value.life,
                epoch: seen.epoch(),
                state: state_of(&seen.value),
                silent_for: Duration::ZERO,
                shards,
            },
            seen_at,
            gone_at: None,
        }
    }

    /// Records that the member's record was removed. If the member was silent, other members have
    /// removed the record, and the state becomes `Removed`. Otherwise, the member itself has
    /// removed the record, and the state becomes `Left`.
    fn leaves(&mut self, now: Nanos) {
        let is_silent = now.saturating_sub(self.seen_at) >= nanos(FENCED_LEASE);
        self.sample.state = if is_silent {
            MemberState::Removed
        } else {
            MemberState::Left
        };
        self.sample.shards.clear();
        self.gone_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::{GONE_FOR, GONE_MAX, MemberState, NodeName, Standings, View, nanos};
    use crate::members::record::{Member, encode};
    use crate::placement::Record;

    const SECOND: u64 = 1_000_000_000;

    fn name(text: &str) -> NodeName {
        NodeName::new(text).unwrap()
    }

    /// Returns a view of members with the given names.
    fn view(names: &[&str]) -> View {
        let records = (1..).zip(names).map(|(revision, name)| Record {
            key: format!("member.{name}").into(),
            revision,
            value: Some(encode(Member::default())),
        });
        let records: Vec<_> = records.collect();
        let mut view = View::default();
        view.apply(&records, names.len() as u64, true, |_, _| {});
        view
    }

    fn states(standings: &Standings, now: u64) -> Vec<(String, MemberState)> {
        let members = standings.members(now).into_iter();
        (members.map(|member| (member.name.to_string(), member.state))).collect()
    }

    #[test]
    fn a_silent_member_was_removed_and_another_has_left() {
        let mut standings = Standings::default();
        standings.see(&view(&["a", "b", "c"]), |_| Some(0), 0);
        let seen = |of: &NodeName| Some(if *of == name("b") { 5 * SECOND } else { 0 });
        standings.see(&view(&["a", "b", "c"]), seen, 5 * SECOND);
        standings.see(&view(&["c"]), |_| None, 6 * SECOND);
        let expected = [
            ("a".to_owned(), MemberState::Removed),
            ("b".to_owned(), MemberState::Left),
            ("c".to_owned(), MemberState::Up),
        ];
        assert_eq!(states(&standings, 6 * SECOND), expected);
        // One comes back, and the other is forgotten.
        standings.see(&view(&["b", "c"]), |_| None, 7 * SECOND);
        assert_eq!(states(&standings, 7 * SECOND)[1].1, MemberState::Up);
        standings.see(&view(&["b", "c"]), |_| None, 6 * SECOND + nanos(GONE_FOR));
        assert_eq!(states(&standings, 0).len(), 2);
    }

    #[test]
    fn the_number_of_members_that_are_gone_is_bounded() {
        let mut standings = Standings::default();
        for number in 0..2 * GONE_MAX as u64 {
            standings.see(&view(&[&format!("n{number:04}")]), |_| None, number);
        }
        assert_eq!(standings.members(0).len(), GONE_MAX + 1);
    }
}
