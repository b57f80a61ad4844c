//! The roster of a node. For each member, the roster stores when this node last saw a renewal of
//! the member's record.

use std::time::Duration;

use garrick_sched::{Nanos, nanos};
use hashbrown::HashMap;

use crate::looks::Looks;
use crate::name::NodeName;

/// If a member has not renewed its record for this time, other members remove the record.
pub(crate) const LEASE: Duration = Duration::from_secs(5);

/// Time for which a node acts as the owner of its shards. The time begins when the node sends a
/// renewal that succeeds. It is shorter than [`LEASE`], so that clocks may run at speeds that
/// differ by 10 %.
pub(crate) const OWN_LEASE: Duration = Duration::from_millis(4_500);

/// If a member has not renewed its record for this time, and the link to this member is silent,
/// too, other members take over its shards of *fenced* kinds. A kind is fenced if the journals of
/// its entities refuse changes by an earlier owner.
pub(crate) const FENCED_LEASE: Duration = Duration::from_secs(2);

/// Time for which a node acts as the owner of its shards of fenced kinds. The time begins when the
/// node sends a renewal that succeeds. If another node takes over, the journals refuse later
/// changes by this node.
pub(crate) const OWN_FENCED_LEASE: Duration = Duration::from_millis(1_800);

/// Times at which this node has observed changes of the members' records. All times are by the
/// clock of this node.
#[derive(Default)]
pub(crate) struct Roster {
    /// For each member: the latest known revision of its record, a value that changes with each
    /// renewal, and the time at which this value was first seen.
    seen: HashMap<NodeName, (u64, u64, Nanos)>,
    /// Time since which each renewal of this node's own record has succeeded without delay. If a
    /// node cannot renew its own record, it cannot tell whether other nodes can renew theirs.
    good_since: Nanos,
    /// The checks for silent members.
    looks: Looks,
}

impl Roster {
    /// Records a check for silent members. If the previous check was `within` ago or longer, this
    /// node was paused, perhaps together with the other members and the store of the records. Then
    /// it cannot tell whether other members could renew their records.
    pub(crate) fn checks(&mut self, within: Duration, now: Nanos) {
        if self.looks.after_pause(within, now) {
            self.is_unsure(now);
        }
    }

    /// Records that a renewal of this node's own membership has failed or is late.
    pub(crate) fn is_unsure(&mut self, now: Nanos) {
        self.good_since = now;
    }

    /// Records what this node has read about a member's record: its revision, and a value that
    /// changes with each renewal. `None` means that the record was removed.
    pub(crate) fn saw(&mut self, name: &NodeName, record: Option<(u64, u64)>, now: Nanos) {
        match record {
            Some((revision, sign)) => {
                let seen = (self.seen.entry(name.clone())).or_insert((revision, sign, now));
                if seen.1 != sign {
                    seen.2 = now;
                }
                (seen.0, seen.1) = (revision, sign);
            }
            None => {
                self.seen.remove(name);
            }
        }
    }

    /// Returns the time at which a member was last seen to renew its record.
    pub(crate) fn seen_at(&self, name: &NodeName) -> Option<Nanos> {
        self.seen.get(name).map(|(_, _, at)| *at)
    }

    /// Returns the time since which each renewal of this node's own record has succeeded without
    /// delay.
    pub(crate) fn good_since(&self) -> Nanos {
        self.good_since
    }

    /// Returns the members that have not renewed their records for `lease` or longer, sorted by
    /// name, with the revisions of the records.
    pub(crate) fn silent(&self, lease: Duration, now: Nanos) -> Vec<(NodeName, u64)> {
        let lease = nanos(lease);
        let is_silent = |since: Nanos| now.saturating_sub(since.max(self.good_since)) >= lease;
        let silent = self
            .seen
            .iter()
            .filter(|(_, (_, _, since))| is_silent(*since));
        let mut silent: Vec<_> =
            (silent.map(|(name, (revision, ..))| (name.clone(), *revision))).collect();
        silent.sort_unstable();
        silent
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, LEASE, NodeName, Roster, nanos};

    #[test]
    fn a_record_is_silent_if_it_did_not_change_while_own_renewals_went_through() {
        let (name, lease) = (NodeName::new("a").unwrap(), nanos(LEASE));
        let mut roster = Roster::default();
        roster.saw(&name, Some((1, 1)), 10);
        assert!(roster.silent(LEASE, 10 + lease - 1).is_empty());
        let silent = roster.silent(LEASE, 10 + lease);
        assert_eq!(silent, [(name.clone(), 1)]);
        roster.saw(&name, Some((1, 1)), 20);
        let silent = roster.silent(LEASE, 10 + lease);
        assert_eq!(silent.len(), 1, "it is the same revision");
        roster.saw(&name, Some((2, 2)), 20);
        assert!(roster.silent(LEASE, 20 + lease - 1).is_empty());
        roster.is_unsure(100);
        assert!(roster.silent(LEASE, 100 + lease - 1).is_empty());
        let silent = roster.silent(LEASE, 100 + lease);
        assert_eq!(silent, [(name.clone(), 2)]);
        roster.saw(&name, None, 200);
        assert!(roster.silent(LEASE, 200 + 2 * lease).is_empty());
    }

    #[test]
    fn a_node_that_was_paused_does_not_count_the_pause_as_silence() {
        let (name, lease) = (NodeName::new("a").unwrap(), nanos(LEASE));
        let within = Duration::from_secs(1);
        let mut roster = Roster::default();
        // The clock is not zero at the start, and the first check is no pause.
        let mut now = 7 * lease;
        roster.saw(&name, Some((1, 1)), now);
        for _ in 0..4 {
            roster.checks(within, now);
            now += nanos(within) - 1;
        }
        assert_eq!(roster.good_since(), 0);
        // All nodes sleep.
        now += 100 * lease;
        roster.checks(within, now);
        assert!(roster.silent(LEASE, now).is_empty());
        assert!(roster.silent(LEASE, now + lease - 1).is_empty());
        assert_eq!(roster.silent(LEASE, now + lease), [(name, 1)]);
    }

    #[test]
    fn a_change_by_another_member_is_no_sign_of_life() {
        let (name, lease) = (NodeName::new("a").unwrap(), nanos(LEASE));
        let mut roster = Roster::default();
        roster.saw(&name, Some((1, 1)), 10);
        roster.saw(&name, Some((2, 1)), 20);
        assert!(roster.silent(LEASE, 10 + lease - 1).is_empty());
        assert_eq!(roster.silent(LEASE, 10 + lease), [(name, 2)]);
    }
}
