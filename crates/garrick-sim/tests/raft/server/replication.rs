//! Log replication (section 5.3), and the rule for commits (section 5.4.2).

use garrick_actor::Context;

use super::{AppendEntries, Appended, HEARTBEAT, Role, Rpc, Server};
use crate::facts::Committed;
use crate::log::{Command, Entry};
use crate::mutation::Mutation;

/// Maximum number of entries in a message. A small number makes more states possible.
const ENTRIES_MAX: usize = 1;

/// The knowledge of a leader about the log of a server.
#[derive(Clone, Copy)]
pub(super) struct Replica {
    /// Index of the next entry to send.
    next: usize,
    /// Index up to which the log is known to match.
    matched: usize,
}

impl Replica {
    /// Creates the knowledge of a new leader whose last entry is at `last_index`.
    pub(super) fn new(last_index: usize) -> Self {
        Self {
            next: last_index + 1,
            matched: 0,
        }
    }
}

impl Server {
    /// Adds a command to the log, if this server is the leader and the command is new.
    pub(super) fn add_command(&mut self, command: Command, cx: &Context<'_, Rpc>) {
        if !matches!(self.role, Role::Leader { .. }) {
            return;
        }
        if !self.state.log.contains(command) {
            self.append(Some(command), cx);
        } else if self.has_applied(command) {
            self.confirm(command, cx);
        }
    }

    fn has_applied(&self, command: Command) -> bool {
        let mut applied = (1..=self.applied).filter_map(|index| self.state.log.get(index));
        applied.any(|entry| entry.command == Some(command))
    }

    /// Adds an entry to the log of the leader, and sends it.
    pub(super) fn append(&mut self, command: Option<Command>, cx: &Context<'_, Rpc>) {
        let term = self.state.term;
        self.state.log.push(Entry { term, command });
        self.note_log(cx);
        for other in self.others() {
            self.send_entries(other, ENTRIES_MAX, cx);
        }
    }

    /// Sends empty messages, so that no follower begins an election.
    pub(super) fn send_heartbeats(&mut self, cx: &Context<'_, Rpc>) {
        for other in self.others() {
            self.send_entries(other, 0, cx);
        }
        self.set_timer(HEARTBEAT, cx);
    }

    /// Sends up to `count_max` entries that a server does not have yet.
    fn send_entries(&self, to: usize, count_max: usize, cx: &Context<'_, Rpc>) {
        let Role::Leader { replicas } = &self.role else {
            return;
        };
        let next = replicas[to].next;
        let log = &self.state.log;
        let request = AppendEntries {
            term: self.state.term,
            leader: self.id,
            previous: next - 1,
            previous_term: log.term_at(next - 1).unwrap_or(0),
            entries: log.from(next, count_max),
            commit: self.commit,
        };
        self.send(to, Rpc::AppendEntries(request), cx);
    }

    /// Takes over the entries of the leader, if both logs match up to the entry before these
    /// entries.
    pub(super) fn answer_leader(&mut self, request: &AppendEntries, cx: &Context<'_, Rpc>) {
        let mut result = Err(request.previous);
        if self.enter(request.term, cx) {
            // A candidate has lost the election.
            self.role = Role::Follower;
            self.await_leader(cx);
            if self.has_previous(request) {
                self.take_over(request, cx);
                result = Ok(request.previous + request.entries.len());
            }
        }
        let answer = Appended {
            term: self.state.term,
            from: self.id,
            result,
        };
        self.send(request.leader, Rpc::Appended(answer), cx);
    }

    /// Returns true if the log matches the leader's log up to the new entries.
    fn has_previous(&self, request: &AppendEntries) -> bool {
        let term = self.state.log.term_at(request.previous);
        let is_same = term == Some(request.previous_term);
        is_same || term.is_some() && self.has(Mutation::IgnoresPreviousTerm)
    }

    fn take_over(&mut self, request: &AppendEntries, cx: &Context<'_, Rpc>) {
        let before = self.state.log.clone();
        if self.has(Mutation::AlwaysTruncates) {
            self.state.log.truncate(request.previous);
        }
        self.state.log.merge(request.previous, &request.entries);
        if self.state.log != before {
            self.note_log(cx);
        }
        let last = if self.has(Mutation::CommitsUnchecked) {
            self.state.log.last_index()
        } else {
            request.previous + request.entries.len()
        };
        self.commit = self.commit.max(request.commit.min(last));
        self.apply(cx);
    }

    /// Learns from the answer of a follower, and sends what the follower needs next.
    pub(super) fn note_answer(&mut self, answer: &Appended, cx: &Context<'_, Rpc>) {
        if !self.enter(answer.term, cx) {
            return;
        }
        let last = self.state.log.last_index();
        let Role::Leader { replicas } = &mut self.role else {
            return;
        };
        let replica = &mut replicas[answer.from];
        match answer.result {
            Ok(index) => {
                replica.matched = replica.matched.max(index);
                replica.next = replica.next.max(index + 1);
            }
            // An answer to an earlier message says nothing new.
            Err(index) if index + 1 != replica.next => return,
            Err(index) => replica.next = index.max(replica.matched + 1),
        }
        if replica.next <= last {
            self.send_entries(answer.from, ENTRIES_MAX, cx);
        }
        self.commit_replicated(cx);
    }

    /// Commits the entries that a majority has, if the last one is of the current term.
    fn commit_replicated(&mut self, cx: &Context<'_, Rpc>) {
        let Role::Leader { replicas } = &mut self.role else {
            return;
        };
        replicas[self.id].matched = self.state.log.last_index();
        let mut matched: Vec<usize> = replicas.iter().map(|replica| replica.matched).collect();
        matched.sort_unstable();
        let index = matched[(matched.len() - 1) / 2];
        let is_current = self.state.log.term_at(index) == Some(self.state.term);
        if index <= self.commit || !is_current && !self.has(Mutation::CommitsOldTerms) {
            return;
        }
        for index in self.commit + 1..=index {
            let entry = self.state.log.get(index).expect("the leader has it");
            let term = self.state.term;
            cx.note(Committed { term, index, entry });
        }
        self.commit = index;
        self.apply(cx);
    }
}
