//! The vote of the stages on stopping their graph.
//!
//! A thread that wants to stop the graph asks its stages ([`Ballot::ask`]). Each stage then takes a
//! step, which is its vote. Until all stages have agreed, a stage may change its vote in each later
//! step. A stage that has ended counts as agreeing. When all stages have voted and none of them
//! vetoes, the stop is agreed, and stays agreed.
//!
//! ```text
//!   running --ask--> asked --the last stage agrees, or overrule--> agreed
//!                     ^  |
//!                     '--' a stage votes
//! ```
//!
//! A vote locks a mutex, but only after a stop was requested, and only if a stage changes its vote.
//! Until a stop is requested, each step only reads a flag. No thread writes this flag before the
//! request.

use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Id of a stage: its index in the graph.
pub(crate) type StageId = u32;

/// Vote of a stage on stopping the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Vote {
    /// The stage has not voted yet.
    Missing,
    /// The stage agrees.
    Yes,
    /// The stage vetoes, for the contained reason.
    No(String),
}

/// Votes of all stages on stopping the graph.
#[derive(Debug, Default)]
pub(crate) struct Ballot {
    /// True after a stop of the graph was requested. Written by the thread that requests the stop,
    /// and read by every step.
    asked: AtomicBool,
    /// True after all stages have agreed to the stop, or a thread has overruled the vetoes. Written
    /// by the thread that completes the agreement: by casting the last vote, by requesting the stop
    /// when all stages have ended, or by overruling the vetoes. Read by every step of a source.
    agreed: AtomicBool,
    /// The votes, indexed by the ids of the stages.
    votes: Mutex<Vec<Vote>>,
}

impl Ballot {
    /// Adds `stages` stages, none of which has voted yet. Votes before this call are ignored.
    pub(crate) fn open(&self, stages: usize) {
        self.lock().resize(stages, Vote::Missing);
    }

    /// Requests a stop of the graph. Returns true if the stop is agreed immediately, which is the
    /// case if all stages have ended.
    pub(crate) fn ask(&self) -> bool {
        let votes = self.lock();
        // Release: pairs with the Acquire in `is_asked`. Votes are under the lock.
        self.asked.store(true, Release);
        self.count(&votes)
    }

    /// Records the vote of `stage`. Returns true if this is the last vote that was needed to stop.
    pub(crate) fn cast(&self, stage: StageId, vote: Vote) -> bool {
        let mut votes = self.lock();
        if let Some(place) = votes.get_mut(stage as usize) {
            *place = vote;
        }
        !self.is_agreed() && self.is_asked() && self.count(&votes)
    }

    /// Requests a stop of the graph, and marks the stop as agreed, even if a stage vetoes.
    pub(crate) fn overrule(&self) {
        // Release, both: pair with the Acquires in `is_asked` and `is_agreed`.
        self.asked.store(true, Release);
        self.agreed.store(true, Release);
    }

    pub(crate) fn vote(&self, stage: StageId) -> Vote {
        let votes = self.lock();
        votes.get(stage as usize).cloned().unwrap_or(Vote::Missing)
    }

    /// Returns true if a stop was requested.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        // Acquire: pairs with the Release in `ask` and `overrule`.
        self.asked.load(Acquire)
    }

    /// Returns true if the stop of the graph is agreed. Then the sources must end.
    #[inline]
    pub(crate) fn is_agreed(&self) -> bool {
        // Acquire: pairs with the Release in `count` and `overrule`; everything that happened
        // before the last vote is visible.
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
