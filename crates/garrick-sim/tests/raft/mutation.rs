//! Mistakes that are known from the paper and from practice.

/// A planted mistake, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// The algorithm of the paper.
    None,
    /// A server votes for a candidate whose log is not up-to-date (section 5.4.1).
    VotesForAnyLog,
    /// A leader commits entries of earlier terms by counting replicas (section 5.4.2, figure 8).
    CommitsOldTerms,
    /// The vote is not written to the disk.
    ForgetsVote,
    /// A follower removes all entries behind the new ones, even if they do not conflict. Then a
    /// late message can remove an entry that is newer than the message.
    AlwaysTruncates,
    /// A follower takes over the leader's commit index without regard to how much of its own log
    /// is known to match.
    CommitsUnchecked,
    /// A follower checks that there is an entry before the new ones, but does not check the term of
    /// this entry.
    IgnoresPreviousTerm,
    /// A new leader removes the entries that it does not know to be committed.
    DiscardsAsLeader,
}
