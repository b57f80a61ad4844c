//! The own membership of a node.

use std::collections::VecDeque;
use std::sync::Arc;

use garrick_sched::{Nanos, nanos};

use super::lease::Lease;
use super::record::{Key, Member, encode};
use super::roster::OWN_LEASE;
use super::view::{Seen, View};
use crate::name::NodeName;
use crate::placement::{Change, Outcome};

/// Bit that is set in the numbers of changes of the own record.
const RENEWAL: u64 = 1 << 63;

/// Number of renewals whose times are remembered.
const SENT_MAX: usize = 16;

/// State of the membership.
enum Standing {
    /// Has no record, or none that is known.
    Outside,
    Member {
        epoch: u64,
        /// Last revision of the record.
        revision: u64,
        lease: Arc<Lease>,
    },
}

/// A change of the own record.
struct Sent {
    beat: u64,
    at: Nanos,
    is_creation: bool,
}

/// The own membership of a node.
///
/// A node that is no member tries to create its record. If another record is there, of an earlier
/// life for example, the creation is refused until the record was removed.
pub(crate) struct Own {
    pub(crate) name: NodeName,
    key: Arc<str>,
    life: u64,
    /// Number of the membership, which grows with each loss.
    attempt: u64,
    standing: Standing,
    beat: u64,
    /// The last changes of the record.
    sent: VecDeque<Sent>,
    /// Beat of the change without an answer.
    unanswered: Option<u64>,
    pub(crate) hosts: Vec<Arc<str>>,
    pub(crate) uses: Vec<Arc<str>>,
    pub(crate) is_draining: bool,
}

/// Result of a look at the own record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// Nothing has changed.
    Same,
    /// The node has become a member.
    Joined,
    /// The node is no member any more.
    Lost,
    /// Someone has ordered the node to hand its shards over.
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
            hosts: Vec::new(),
            uses: Vec::new(),
            is_draining: false,
        }
    }

    /// Returns the beat of a change with this number, if it is one of the own record.
    pub(crate) fn beat_of(ticket: u64) -> Option<u64> {
        (ticket & RENEWAL != 0).then_some(ticket & !RENEWAL)
    }

    /// Returns the number of the membership, if the node is a member.
    pub(crate) fn epoch(&self) -> Option<u64> {
        match &self.standing {
            Standing::Outside => None,
            Standing::Member { epoch, .. } => Some(*epoch),
        }
    }

    /// Returns the lease of the membership.
    pub(crate) fn lease(&self) -> Option<&Arc<Lease>> {
        match &self.standing {
            Standing::Outside => None,
            Standing::Member { lease, .. } => Some(lease),
        }
    }

    /// Returns true if the node is a member, and its lease is valid.
    pub(crate) fn may_act(&self, now: Nanos) -> bool {
        self.lease().is_some_and(|lease| lease.is_valid(now))
    }

    /// Returns true if the last change of the record has no answer yet.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered.is_some()
    }

    /// Returns a change that creates or renews the record.
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
            hosts: text(&self.hosts),
            uses: text(&self.uses),
        };
        self.change(revision, Some(encode(member)))
    }

    /// Returns a change that removes the record. Ends the lease.
    pub(crate) fn removal(&mut self) -> Option<Change> {
        let Standing::Member {
            revision, lease, ..
        } = &self.standing
        else {
            return None;
        };
        lease.end();
        let revision = *revision;
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

    /// Handles the answer to a change of the record. Returns true if it came in time and is no
    /// failure, and whether the node has become a member.
    pub(crate) fn answered(&mut self, beat: u64, outcome: &Outcome, now: Nanos) -> (bool, Look) {
        // Changes of earlier memberships are forgotten, and so are very old ones.
        let is_known = self.sent.iter().any(|sent| sent.beat == beat);
        if self.unanswered == Some(beat) {
            self.unanswered = None;
        }
        match outcome {
            Outcome::Changed(revision) if is_known => (true, self.renewed(beat, *revision, now)),
            Outcome::Changed(_) => (true, Look::Same),
            // If a change without an answer has taken place, or the record is gone, the next look
            // tells.
            Outcome::Refused => (true, Look::Same),
            Outcome::Invalid(_) | Outcome::Unknown(_) => (false, Look::Same),
        }
    }

    /// The change of a beat has taken place, and has made a revision.
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
        };
        self.confirm(beat, made, now);
        Look::Joined
    }

    /// The record of this membership has a revision, which the change of a beat has made.
    fn confirm(&mut self, beat: u64, made: u64, now: Nanos) {
        let sent = self.sent.iter().find(|sent| sent.beat == beat);
        // A very old change is forgotten. Its lease would have ended.
        let until = sent.map_or(0, |sent| sent.at.saturating_add(nanos(OWN_LEASE)));
        if let Standing::Member {
            revision, lease, ..
        } = &mut self.standing
        {
            *revision = made;
            lease.renew(until, now);
        }
    }

    /// Looks at the own record after a reading.
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
                if is_later {
                    self.confirm(seen.value.beat, seen.revision, now);
                }
                if is_later && seen.value.is_draining && !self.is_draining {
                    // Nobody else changes the record than someone who orders the node to drain.
                    self.is_draining = true;
                    return Look::Ordered;
                }
                Look::Same
            }
            (Standing::Member { revision, .. }, _) if view.revision() < *revision => Look::Same,
            (Standing::Member { .. }, _) => {
                self.lose();
                Look::Lost
            }
        }
    }

    /// Ends the membership.
    pub(crate) fn lose(&mut self) {
        if let Standing::Member { lease, .. } = &self.standing {
            lease.end();
        }
        self.standing = Standing::Outside;
        self.attempt += 1;
        self.sent.clear();
        self.unanswered = None;
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
