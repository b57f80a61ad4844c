//! Leader election (section 5.2), and the restriction on votes (section 5.4.1).

use garrick_actor::Context;

use super::replication::Replica;
use super::{RequestVote, Role, Rpc, Server};
use crate::facts::Led;
use crate::mutation::Mutation;

impl Server {
    /// Becomes a candidate of a new term.
    pub(super) fn begin_election(&mut self, cx: &Context<'_, Rpc>) {
        self.state.term += 1;
        self.state.voted_for = Some(self.id);
        let mut votes = vec![false; self.cluster.count];
        votes[self.id] = true;
        self.role = Role::Candidate {
            votes,
            repeats: self.cluster.repeats,
        };
        self.request_votes(cx);
    }

    /// Sends the requests for votes again, because requests or answers may be lost.
    pub(super) fn repeat_requests(&mut self, cx: &Context<'_, Rpc>) {
        if let Role::Candidate { repeats, .. } = &mut self.role {
            *repeats -= 1;
        }
        self.request_votes(cx);
    }

    /// Asks the servers that have not voted for this server.
    fn request_votes(&mut self, cx: &Context<'_, Rpc>) {
        let Role::Candidate { votes, .. } = &self.role else {
            return;
        };
        for other in self.others().filter(|other| !votes[*other]) {
            let request = RequestVote {
                term: self.state.term,
                candidate: self.id,
                last_index: self.state.log.last_index(),
                last_term: self.state.log.last_term(),
            };
            self.send(other, Rpc::RequestVote(request), cx);
        }
        let timeout = self.draw_timeout();
        self.set_timer(timeout / (self.cluster.repeats + 1), cx);
    }

    /// Votes for a candidate, unless there is a reason not to.
    pub(super) fn answer_candidate(&mut self, request: &RequestVote, cx: &Context<'_, Rpc>) {
        let is_current = self.enter(request.term, cx);
        let granted = is_current && self.may_vote_for(request);
        if granted {
            self.state.voted_for = Some(request.candidate);
            self.await_leader(cx);
        }
        let vote = Rpc::Vote {
            term: self.state.term,
            from: self.id,
            granted,
        };
        self.send(request.candidate, vote, cx);
    }

    fn may_vote_for(&self, request: &RequestVote) -> bool {
        let is_free = self
            .state
            .voted_for
            .is_none_or(|voted| voted == request.candidate);
        let is_up_to_date =
            (self.state.log).is_behind_or_equal(request.last_term, request.last_index);
        is_free && (is_up_to_date || self.has(Mutation::VotesForAnyLog))
    }

    /// Counts a vote. Becomes the leader if a majority of the servers has voted for this server.
    pub(super) fn count_vote(
        &mut self,
        term: u64,
        from: usize,
        granted: bool,
        cx: &Context<'_, Rpc>,
    ) {
        if !self.enter(term, cx) || !granted {
            return;
        }
        let Role::Candidate { votes, .. } = &mut self.role else {
            return;
        };
        votes[from] = true;
        let count = votes.iter().filter(|voted| **voted).count();
        if count * 2 > self.cluster.count {
            self.lead(cx);
        }
    }

    /// Becomes the leader, and adds an entry of the new term, so that entries of earlier terms can
    /// be committed (section 8).
    fn lead(&mut self, cx: &Context<'_, Rpc>) {
        cx.note(Led {
            server: self.id,
            term: self.state.term,
            log: self.state.log.clone(),
        });
        if self.has(Mutation::DiscardsAsLeader) {
            self.state.log.truncate(self.commit);
        }
        let replica = Replica::new(self.state.log.last_index());
        self.role = Role::Leader {
            replicas: vec![replica; self.cluster.count],
        };
        self.append(None, cx);
        self.set_timer(super::HEARTBEAT, cx);
    }
}
