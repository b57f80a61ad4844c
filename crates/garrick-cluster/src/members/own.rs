//! The membership of this node in the cluster.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use garrick_sched::{Nanos, nanos};

use super::lease::Lease;
use super::record::{Key, Member, Versions, encode};
use super::roster::{OWN_FENCED_LEASE, OWN_LEASE};
use super::view::{Seen, View};
use crate::name::NodeName;
use crate::placement::{Change, Outcome};

/// Bit in the number (ticket) of a change. The bit is set if this node changes its own record.
const RENEWAL: u64 = 1 << 63;

/// Maximum number of creations and renewals of the node's own record that are remembered.
const SENT_MAX: usize = 16;

/// State of this node's membership.
enum Standing {
    /// The node is not a member, or does not know yet that it is.
    Outside,
    Member {
        epoch: u64,
        /// Last known revision of this node's own record.
        revision: u64,
        lease: Arc<Lease>,
        /// The lease for shards of fenced kinds (whose journals refuse events of earlier owners).
        /// The lease ends when another member increases this node's fence.
        fenced: Arc<Lease>,
    },
}

/// A creation or renewal of this node's own record that was sent to the store of the cluster's
/// records.
struct Sent {
    beat: u64,
    at: Nanos,
    is_creation: bool,
}

/// The membership of this node.
///
/// A node that is not a member tries to create its record. If another record exists, for example
/// from an earlier incarnation, the creation is refused until that record is removed.
pub(crate) struct Own {
    pub(crate) name: NodeName,
    key: Arc<str>,
    life: u64,
    /// Sequence number of the membership in this incarnation. The number grows each time the
    /// membership is lost.
    attempt: u64,
    standing: Standing,
    beat: u64,
    /// The latest creations and renewals of this node's own record, oldest first. Contains at most
    /// [`SENT_MAX`] entries.
    sent: VecDeque<Sent>,
    /// Renewal number (beat) of the unanswered renewal or creation of this node's own record, if
    /// there is one.
    unanswered: Option<u64>,
    /// The latest request to remove this node's own record: its renewal number (beat), and the
    /// revision that the record must still have. `None` if no removal was requested.
    removal: Option<(u64, u64)>,
    leaves: bool,
    /// Kinds that the node runs, with their versions.
    pub(crate) hosts: Vec<(Arc<str>, Versions)>,
    pub(crate) uses: Vec<Arc<str>>,
    /// Kinds that the node runs and whose journals refuse events of earlier owners.
    pub(crate) fenced: Vec<Arc<str>>,
    /// Fence of this node: a number in the records of its shards of fenced kinds. If another member
    /// increases the fence, this node loses these shards.
    fence: u64,
    pub(crate) is_draining: bool,
}

/// Change of this node's membership. The node learns of the change when it reads its own record, or
/// when it gets the answer to a change of this record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// Nothing has changed.
    Same,
    /// The node has become a member.
    Joined,
    /// The node is no longer a member.
    Lost,
    /// The node has lost its shards of fenced kinds (whose journals refuse events of earlier
    /// owners).
    Fenced,
    /// An operator has ordered the node to hand its shards over.
    Ordered,
}

impl Own {
    pub(crate) fn new(name: NodeName, life: u64) -> Self {
        Self {
            key: Key::Member(name.clone()).text(),
            name,
            life,
            attempt: 1,
            standing: Standing::Outside,
            beat: 0,
            sent: VecDeque::new(),
            unanswered: None,
            removal: None,
            leaves: false,
            hosts: Vec::new(),
            uses: Vec::new(),
            fenced: Vec::new(),
            fence: 1,
            is_draining: false,
        }
    }

    /// Parses the number `ticket` of a change. Returns the renewal number (beat) in it. Returns
    /// `None` if the change is not a change of this node's own record.
    pub(crate) fn beat_of(ticket: u64) -> Option<u64> {
        (ticket & RENEWAL != 0).then_some(ticket & !RENEWAL)
    }

    /// Returns the epoch (the number) of this node's membership. Returns `None` if the node is not
    /// a member.
    pub(crate) fn epoch(&self) -> Option<u64> {
        match &self.standing {
            Standing::Outside => None,
            Standing::Member { epoch, .. } => Some(*epoch),
        }
    }

    /// Returns the lease of this node's membership. Returns `None` if this node is not a member.
    pub(crate) fn lease(&self) -> Option<&Arc<Lease>> {
        match &self.standing {
            Standing::Outside => None,
            Standing::Member { lease, .. } => Some(lease),
        }
    }

    /// Returns the lease that applies to shards of a kind of entities. Returns `None` if this node
    /// is not a member.
    pub(crate) fn lease_of(&self, kind: &str) -> Option<&Arc<Lease>> {
        match &self.standing {
            Standing::Outside => None,
            Standing::Member { fenced, .. } if self.fence_of(kind) > 0 => Some(fenced),
            Standing::Member { lease, .. } => Some(lease),
        }
    }

    /// Returns this node's fence for shards of a kind of entities, or 0 if the kind is not fenced.
    /// A fence is a number that other members increase to take over shards.
    pub(crate) fn fence_of(&self, kind: &str) -> u64 {
        let is_fenced = self.fenced.iter().any(|fenced| **fenced == *kind);
        if is_fenced { self.fence } else { 0 }
    }

    /// Returns the number of turns that have ended and take effect only when the lease is renewed.
    pub(crate) fn held_turns(&self) -> usize {
        match &self.standing {
            Standing::Outside => 0,
            Standing::Member { lease, fenced, .. } => lease.held_turns() + fenced.held_turns(),
        }
    }

    /// Returns the incarnation of this node: a number that differs each time the node starts.
    pub(crate) fn life(&self) -> u64 {
        self.life
    }

    /// Returns true if the node is a member and its lease is valid.
    pub(crate) fn may_act(&self, now: Nanos) -> bool {
        self.lease().is_some_and(|lease| lease.is_valid(now))
    }

    /// Returns true if the latest creation or renewal of this node's own record has no answer yet.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered.is_some()
    }

    /// Returns true if the latest creation or renewal of this node's own record has been unanswered
    /// for `time` or longer.
    pub(crate) fn is_late(&self, time: Duration, now: Nanos) -> bool {
        let sent = self
            .sent
            .iter()
            .find(|sent| Some(sent.beat) == self.unanswered);
        let is_late = |sent: &Sent| now.saturating_sub(sent.at) >= nanos(time);
        self.is_unanswered() && sent.is_none_or(is_late)
    }

    /// Returns a change that creates or renews this node's own record.
    pub(crate) fn renewal(&mut self, now: Nanos) -> Change {
        self.beat += 1;
        if self.sent.len() == SENT_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent {
            beat: self.beat,
            at: now,
            is_creation: matches!(self.standing, Standing::Outside),
        });
        self.unanswered = Some(self.beat);
        let (epoch, revision) = match self.standing {
            Standing::Outside => (0, 0),
            Standing::Member {
                epoch, revision, ..
            } => (epoch, revision),
        };
        let text = |kinds: &[Arc<str>]| kinds.iter().map(|kind| kind.to_string()).collect();
        let member = Member {
            life: self.life,
            attempt: self.attempt,
            epoch,
            beat: self.beat,
            is_draining: self.is_draining,
            hosts: (self.hosts.iter().map(|(kind, _)| kind.to_string())).collect(),
            uses: text(&self.uses),
            fence: self.fence,
            is_suspect: false,
            fenced: text(&self.fenced),
            versions: self.hosts.iter().map(|(_, versions)| *versions).collect(),
        };
        self.change(revision, Some(encode(member)))
    }

    /// Ends the leases, because this node is leaving. After this call, the only possible change of
    /// the node's own record is its removal.
    pub(crate) fn leave(&mut self) {
        self.leaves = true;
        self.end_leases();
    }

    fn end_leases(&self) {
        if let Standing::Member { lease, fenced, .. } = &self.standing {
            lease.end();
            fenced.end();
        }
    }

    /// Returns true if this node's own record exists, or if it may exist because its creation has
    /// no answer yet.
    pub(crate) fn may_have_record(&self) -> bool {
        self.epoch().is_some() || self.unanswered.is_some()
    }

    /// Returns a change that removes this node's own record. Returns `None` if the node is not a
    /// member, or if this removal is already under way and `again` is false.
    pub(crate) fn removal(&mut self, again: bool) -> Option<Change> {
        let Standing::Member { revision, .. } = self.standing else {
            return None;
        };
        if !again && (self.removal).is_some_and(|(_, expected)| expected == revision) {
            return None;
        }
        self.beat += 1;
        self.removal = Some((self.beat, revision));
        Some(self.change(revision, None))
    }

    fn change(&self, expected: u64, value: Option<bytes::Bytes>) -> Change {
        Change {
            key: self.key.clone(),
            expected,
            value,
            ticket: self.beat | RENEWAL,
        }
    }

    /// Handles the answer to a change of this node's own record. The first returned value is true
    /// if the record was changed or the change was refused, and false if the change has failed. The
    /// second returned value is the effect on the membership.
    pub(crate) fn answered(&mut self, beat: u64, outcome: &Outcome, now: Nanos) -> (bool, Look) {
        // Changes of earlier memberships are forgotten, and so are very old ones.
        let is_known = self.sent.iter().any(|sent| sent.beat == beat);
        if self.unanswered == Some(beat) {
            self.unanswered = None;
        }
        match outcome {
            Outcome::Changed(_) if self.removal.is_some_and(|(removal, _)| removal == beat) => {
                self.lose();
                (true, Look::Lost)
            }
            Outcome::Changed(revision) if is_known => (true, self.renewed(beat, *revision, now)),
            Outcome::Changed(_) => (true, Look::Same),
            // If a change without an answer has taken place, or the record is gone, the next look
            // tells.
            Outcome::Refused => (true, Look::Same),
            Outcome::Invalid(_) | Outcome::Unknown(_) => (false, Look::Same),
        }
    }

    /// Handles the success of a creation or renewal of this node's own record. `beat` is the
    /// renewal number of the change, and `made` is the revision that the record now has.
    fn renewed(&mut self, beat: u64, made: u64, now: Nanos) -> Look {
        if let Standing::Member { revision, .. } = &self.standing {
            let sent = self.sent.iter().find(|sent| sent.beat == beat);
            // A later creation has begun another membership: the next look tells that this one has
            // ended.
            if made > *revision && sent.is_some_and(|sent| !sent.is_creation) {
                self.confirm(beat, made, now);
            }
            return Look::Same;
        }
        self.standing = Standing::Member {
            epoch: made,
            revision: made,
            lease: Arc::new(Lease::new()),
            fenced: Arc::new(Lease::new()),
        };
        self.confirm(beat, made, now);
        if self.leaves {
            self.leave();
        }
        Look::Joined
    }

    /// Records the new revision `made` of this node's own record, and extends the leases. `beat` is
    /// the renewal number of the successful change.
    fn confirm(&mut self, beat: u64, made: u64, now: Nanos) {
        let sent = self.sent.iter().find(|sent| sent.beat == beat);
        // A very old change is forgotten. Its lease would have ended.
        let until = |time| sent.map_or(0, |sent| sent.at.saturating_add(nanos(time)));
        if let Standing::Member {
            revision,
            lease,
            fenced,
            ..
        } = &mut self.standing
        {
            *revision = made;
            lease.renew(until(OWN_LEASE), now);
            fenced.renew(until(OWN_FENCED_LEASE), now);
        }
    }

    /// Handles the increase of this node's fence by another member: this node no longer owns any
    /// shards of fenced kinds (whose journals refuse events of earlier owners).
    fn fence(&mut self, fence: u64) {
        self.fence = fence;
        if let Standing::Member { fenced, .. } = &mut self.standing {
            fenced.end();
            *fenced = Arc::new(Lease::new());
        }
    }

    /// Updates the membership from this node's own record, after the records were read. Returns the
    /// change of the membership.
    pub(crate) fn look(&mut self, view: &View, now: Nanos) -> Look {
        let is_own = |seen: &Seen<Member>| {
            seen.value.life == self.life && seen.value.attempt == self.attempt
        };
        let found = view.member(&self.name).filter(|seen| is_own(seen));
        match (&self.standing, found) {
            (Standing::Outside, None) => Look::Same,
            (Standing::Outside, Some(seen)) if seen.value.epoch == 0 => {
                self.renewed(seen.value.beat, seen.revision, now)
            }
            // It was removed, and a late answer shows it: the node waits until it sees that.
            (Standing::Outside, Some(_)) => Look::Same,
            (
                Standing::Member {
                    epoch, revision, ..
                },
                Some(seen),
            ) if seen.epoch() == *epoch => {
                let is_later = seen.revision > *revision;
                let is_fenced = seen.value.fence > self.fence;
                if is_fenced {
                    // Before the renewal: turns that were held are undone.
                    self.fence(seen.value.fence);
                }
                if is_later {
                    self.confirm(seen.value.beat, seen.revision, now);
                }
                // Only an order to drain changes this field in the record of another node.
                let is_ordered = is_later && seen.value.is_draining && !self.is_draining;
                self.is_draining |= is_ordered;
                match (is_fenced, is_ordered) {
                    (true, _) => Look::Fenced,
                    (false, true) => Look::Ordered,
                    (false, false) => Look::Same,
                }
            }
            (Standing::Member { revision, .. }, _) if view.revision() < *revision => Look::Same,
            (Standing::Member { .. }, _) => {
                self.lose();
                Look::Lost
            }
        }
    }

    /// Ends the membership of this node and its leases.
    pub(crate) fn lose(&mut self) {
        self.end_leases();
        self.standing = Standing::Outside;
        self.attempt += 1;
        self.fence = 1;
        self.sent.clear();
        self.unanswered = None;
        self.removal = None;
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Look, NodeName, Outcome, Own, View};
    use crate::members::{DrainOrder, Overview};
    use crate::placement::Record;

    fn view(change: &Change, revision: u64) -> View {
        let record = Record {
            key: change.key.clone(),
            revision,
            value: change.value.clone(),
        };
        let mut view = View::default();
        view.apply(&[record], revision, true, |_, _| {});
        view
    }

    #[test]
    fn a_late_answer_to_a_creation_does_not_continue_a_membership_that_has_ended() {
        let mut own = Own::new(NodeName::new("a").unwrap(), 1);
        let (first, second) = (own.renewal(0), own.renewal(1));
        let beats = [first, second.clone()].map(|change| Own::beat_of(change.ticket).unwrap());
        // The record of revision 10 was removed, and created again with revision 12.
        let answer = own.answered(beats[0], &Outcome::Changed(10), 2);
        assert_eq!(answer, (true, Look::Joined));
        let answer = own.answered(beats[1], &Outcome::Changed(12), 2);
        assert_eq!(answer, (true, Look::Same));
        assert_eq!(own.look(&view(&second, 12), 2), Look::Lost);
        assert_eq!(own.epoch(), None);
    }

    #[test]
    fn an_order_in_the_record_is_followed_once() {
        let mut own = Own::new(NodeName::new("a").unwrap(), 1);
        let creation = own.renewal(0);
        let beat = Own::beat_of(creation.ticket).unwrap();
        own.answered(beat, &Outcome::Changed(10), 1);
        let record = Record {
            key: creation.key.clone(),
            revision: 10,
            value: creation.value.clone(),
        };
        let DrainOrder::Change(order) = Overview::drain(&[record], "a") else {
            panic!("the node is a member")
        };
        assert_eq!(order.expected, 10);
        // The renewal that was under way is refused.
        let renewal = own.renewal(1_000);
        let beat = Own::beat_of(renewal.ticket).unwrap();
        own.answered(beat, &Outcome::Refused, 1_001);
        let ordered = view(&order, 11);
        assert_eq!(own.look(&ordered, 1_002), Look::Ordered);
        assert!(own.is_draining);
        assert_eq!(own.epoch(), Some(10), "the membership goes on");
        assert_eq!(own.look(&ordered, 1_003), Look::Same);
        assert_eq!(own.renewal(1_004).expected, 11);
    }

    #[test]
    fn a_renewal_that_was_forgotten_is_found_in_the_record() {
        let mut own = Own::new(NodeName::new("a").unwrap(), 1);
        let creation = own.renewal(0);
        let beat = Own::beat_of(creation.ticket).unwrap();
        own.answered(beat, &Outcome::Changed(10), 1);
        let stored = own.renewal(2);
        for beat in 0..30 {
            assert_eq!(own.renewal(3 + beat).expected, 10);
        }
        assert_eq!(own.look(&view(&stored, 11), 40), Look::Same);
        assert_eq!(own.renewal(41).expected, 11);
    }
}
