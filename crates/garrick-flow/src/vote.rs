//! The vote on the end of a graph.
//!
//! A thread that wants the graph to end asks its stages ([`Ballot::ask`]). Each stage then takes a
//! step, and votes with it. A stage may change its vote with each later step, as long as not all
//! have agreed. A stage that has ended agrees. When no vote is missing and no stage objects, the
//! end is agreed, for good.
//!
//! ```text
//!   running --ask--> asked --the last stage agrees, or overrule--> agreed
//!                     ^  |
//!                     '--' a stage votes
//! ```
//!
//! A vote takes a lock, but only after the end was requested, and only where a stage changes its
//! vote. Before that, a step costs one look at a flag that nobody writes.

use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of a stage in its graph.
pub(crate) type StageId = u32;

/// Vote of a stage on the end of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Vote {
    /// The stage has not voted yet.
    Missing,
    /// The stage agrees.
    Yes,
    /// The stage objects, for this reason.
    No(String),
}

/// Votes of all stages on the end of the graph.
#[derive(Debug, Default)]
pub(crate) struct Ballot {
    /// True once the end was requested. Written once, by the first thread that asks; read by every
    /// step.
    asked: AtomicBool,
    /// True once the end is agreed. Written once, by the last stage to agree or by the thread that
    /// overrules; read by every step of a source.
    agreed: AtomicBool,
    /// The votes, by the numbers of the stages.
    votes: Mutex<Vec<Vote>>,
}

impl Ballot {
    /// Makes room for the votes of this number of stages. Until then there are none, and a vote is
    /// ignored.
    pub(crate) fn open(&self, stages: usize) {
        self.lock().resize(stages, Vote::Missing);
    }

    /// Requests the end. Returns true if it is agreed, as it is where all stages have ended.
    pub(crate) fn ask(&self) -> bool {
        let votes = self.lock();
        // Release: pairs with the Acquire in `is_asked`. Votes are under the lock.
        self.asked.store(true, Release);
        self.count(&votes)
    }

    /// Takes the vote of `stage`. Returns true if that made the end agreed.
    pub(crate) fn cast(&self, stage: StageId, vote: Vote) -> bool {
        let mut votes = self.lock();
        if let Some(place) = votes.get_mut(stage as usize) {
            *place = vote;
        }
        !self.is_agreed() && self.is_asked() && self.count(&votes)
    }

    /// Agrees to the end even if a stage objects.
    pub(crate) fn overrule(&self) {
        // Release, both: pair with the Acquires in `is_asked` and `is_agreed`.
        self.asked.store(true, Release);
        self.agreed.store(true, Release);
    }

    /// Returns the vote of `stage`.
    pub(crate) fn vote(&self, stage: StageId) -> Vote {
        let votes = self.lock();
        votes.get(stage as usize).cloned().unwrap_or(Vote::Missing)
    }

    /// Returns true if the end was requested.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        // Acquire: pairs with the Release in `ask` and `overrule`.
        self.asked.load(Acquire)
    }

    /// Returns true if the end is agreed: the sources are to end.
    #[inline]
    pub(crate) fn is_agreed(&self) -> bool {
        // Acquire: pairs with the Release in `count` and `overrule`; what was done before the last
        // vote is seen.
        self.agreed.load(Acquire)
    }

    fn count(&self, votes: &[Vote]) -> bool {
        let agreed = votes.iter().all(|vote| *vote == Vote::Yes);
        if agreed {
            // Release: pairs with the Acquire in `is_agreed`.
            self.agreed.store(true, Release);
        }
        agreed
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vote>> {
        self.votes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no() -> Vote {
        Vote::No("not yet".to_owned())
    }

    #[test]
    fn the_last_one_to_agree_ends_it_once() {
        let ballot = Ballot::default();
        ballot.open(2);
        assert!(!ballot.cast(0, Vote::Yes), "nobody has asked");
        assert!(!ballot.ask());
        assert!(!ballot.cast(1, no()));
        assert!(!ballot.cast(0, no()), "who agreed may think again");
        assert!(!ballot.cast(1, Vote::Yes));
        assert!(ballot.cast(0, Vote::Yes));
        assert!(!ballot.cast(0, no()), "too late");
        assert!(ballot.is_agreed());
    }

    #[test]
    fn where_all_have_ended_it_is_agreed_at_once() {
        let ballot = Ballot::default();
        ballot.open(1);
        ballot.cast(0, Vote::Yes);
        assert!(!ballot.is_agreed());
        assert!(ballot.ask() && ballot.is_agreed());
    }

    #[test]
    fn who_is_overruled_is_not_asked_again() {
        let ballot = Ballot::default();
        ballot.open(1);
        ballot.cast(0, no());
        ballot.overrule();
        assert!(ballot.is_asked() && ballot.is_agreed());
        assert_eq!(ballot.vote(0), no());
    }
}
