//! The vote on the end of a graph.
//!
//! Who wants the graph to end asks its stages ([`Ballot::ask`]). Each stage then takes a step, and says with it
//! whether it agrees; it may say otherwise with each step that follows, as long as not all have agreed. A stage
//! that has ended agrees. When nobody is missing and nobody is against it, the end is agreed, for good.
//!
//! ```text
//!   running --ask--> asked --the last stage agrees, or overrule--> agreed
//!                     ^  |
//!                     '--' a stage votes
//! ```
//!
//! A vote is taken under a lock, but only after the end was asked for, and only where a stage changes its mind. Before
//! that, a step costs one look at a flag that nobody writes.

use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of a stage in its graph.
pub(crate) type StageId = u32;

/// What a stage says to the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Vote {
    /// Nothing yet.
    Missing,
    /// It agrees.
    Yes,
    /// It is against it, and says why.
    No(String),
}

/// What all stages say to the end.
#[derive(Debug, Default)]
pub(crate) struct Ballot {
    /// Whether the end was asked for. Written once, by whoever asks first; read by every step.
    asked: AtomicBool,
    /// Whether it is agreed. Written once, by the last one to agree or by who overrules; read by every step of a
    /// source.
    agreed: AtomicBool,
    /// The votes by the numbers of the stages.
    votes: Mutex<Vec<Vote>>,
}

impl Ballot {
    /// Makes room for the votes of so many stages. Until then there are none, and a vote is for nobody.
    pub(crate) fn open(&self, stages: usize) {
        self.lock().resize(stages, Vote::Missing);
    }

    /// Asks for the end; says whether it is agreed, which it is where all have ended.
    pub(crate) fn ask(&self) -> bool {
        let votes = self.lock();
        // Release: pairs with the Acquire in `is_asked`. Votes are under the lock.
        self.asked.store(true, Release);
        self.count(&votes)
    }

    /// Takes the vote of `stage`; says whether that has made the end agreed.
    pub(crate) fn cast(&self, stage: StageId, vote: Vote) -> bool {
        let mut votes = self.lock();
        if let Some(place) = votes.get_mut(stage as usize) {
            *place = vote;
        }
        !self.is_agreed() && self.is_asked() && self.count(&votes)
    }

    /// Ends it whoever is against it.
    pub(crate) fn overrule(&self) {
        // Release, both: pair with the Acquires in `is_asked` and `is_agreed`.
        self.asked.store(true, Release);
        self.agreed.store(true, Release);
    }

    /// What `stage` says.
    pub(crate) fn vote(&self, stage: StageId) -> Vote {
        let votes = self.lock();
        votes.get(stage as usize).cloned().unwrap_or(Vote::Missing)
    }

    /// Whether the end was asked for.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        // Acquire: pairs with the Release in `ask` and `overrule`.
        self.asked.load(Acquire)
    }

    /// Whether the end is agreed: the sources are to end.
    #[inline]
    pub(crate) fn is_agreed(&self) -> bool {
        // Acquire: pairs with the Release in `count` and `overrule`; what was done before the last vote is seen.
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
