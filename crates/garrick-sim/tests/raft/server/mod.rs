//! A server: its state, its messages, and what all roles have in common.
//!
//! The algorithm is described by Ongaro and Ousterhout, "In search of an understandable consensus
//! algorithm (extended version)" (2014). Its figure 2 is the specification of this folder.

mod election;
mod replication;

use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Timer};
use garrick_sim::search::Rng;

use crate::client;
use crate::directory::Directory;
use crate::disk::{Disk, Persistent};
use crate::facts::{Applied, LogIs};
use crate::log::{Command, Entry};
use crate::mutation::Mutation;

use replication::Replica;

/// Time between two heartbeats of a leader.
const HEARTBEAT: Duration = Duration::from_millis(50);

/// Shortest election timeout, in milliseconds. The longest one is twice as long.
const TIMEOUT_MS_MIN: usize = 150;

/// A message to a server.
pub(crate) enum Rpc {
    /// The election timeout of a follower or candidate, or the next heartbeat of a leader.
    Timeout,
    RequestVote(RequestVote),
    Vote {
        term: u64,
        from: usize,
        granted: bool,
    },
    AppendEntries(AppendEntries),
    /// The answer to `AppendEntries`.
    Appended(Appended),
    /// A command of a client.
    Propose(Command),
}

/// A candidate asks for a vote.
pub(crate) struct RequestVote {
    term: u64,
    candidate: usize,
    last_index: usize,
    last_term: u64,
}

/// A leader adds entries to the log of a follower. Without entries, it is a heartbeat.
pub(crate) struct AppendEntries {
    term: u64,
    leader: usize,
    /// Index of the entry before the new ones.
    previous: usize,
    previous_term: u64,
    entries: Vec<Entry>,
    /// The leader's commit index.
    commit: usize,
}

/// The answer of a follower.
pub(crate) struct Appended {
    term: u64,
    from: usize,
    /// The index up to which the follower's log matches, or the index that did not match.
    result: Result<usize, usize>,
}

/// The role of a server in the current term.
enum Role {
    Follower,
    Candidate {
        /// For each server, true if it has voted for this server.
        votes: Vec<bool>,
        /// Number of times that the candidate still repeats its requests.
        repeats: u32,
    },
    Leader {
        /// The knowledge of this server about the log of each server.
        replicas: Vec<Replica>,
    },
}

/// The knowledge of a server about the cluster.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// Number of servers.
    pub(crate) count: usize,
    pub(crate) servers: Directory,
    pub(crate) clients: Vec<Address<client::Event>>,
    /// Number of times that a candidate repeats its requests during an election timeout.
    pub(crate) repeats: u32,
    pub(crate) mutation: Mutation,
}

/// A server has started.
#[derive(Debug)]
#[expect(dead_code, reason = "formatted")]
pub(crate) struct Started(pub(crate) usize);

/// A server.
pub(crate) struct Server {
    id: usize,
    cluster: Cluster,
    disk: Disk,
    rng: Rng,
    /// The state that is written to the disk at the end of each turn.
    state: Persistent,
    role: Role,
    /// Index of the last entry that is known to be committed.
    commit: usize,
    /// Index of the last entry that was applied.
    applied: usize,
    timer: Option<Timer>,
}

impl Server {
    /// Creates a server with the state that is on its disk. Its timeouts depend on `seed`.
    pub(crate) fn new(id: usize, cluster: Cluster, disk: Disk, seed: u64) -> Self {
        let state = disk.read();
        Self {
            id,
            cluster,
            disk,
            rng: Rng::new(seed),
            state,
            role: Role::Follower,
            commit: 0,
            applied: 0,
            timer: None,
        }
    }

    /// Returns true if the server has a planted mistake.
    fn has(&self, mutation: Mutation) -> bool {
        self.cluster.mutation == mutation
    }

    fn send(&self, to: usize, rpc: Rpc, cx: &Context<'_, Rpc>) {
        self.cluster.servers.send(to, rpc, cx);
    }

    /// Returns the numbers of the other servers.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let id = self.id;
        (0..self.cluster.count).filter(move |server| *server != id)
    }

    /// Begins a new term as a follower if the term of a message is newer than the current one.
    /// Returns true if the message belongs to the term that is current afterwards.
    fn enter(&mut self, term: u64, cx: &Context<'_, Rpc>) -> bool {
        if term > self.state.term {
            self.state.term = term;
            self.state.voted_for = None;
            self.follow(cx);
        }
        term == self.state.term
    }

    /// Becomes a follower. If this server was the leader, sets its timer again. In the other roles,
    /// the timer is an election timeout already.
    fn follow(&mut self, cx: &Context<'_, Rpc>) {
        let led = matches!(self.role, Role::Leader { .. });
        self.role = Role::Follower;
        if led {
            self.await_leader(cx);
        }
    }

    /// Sets the timer to a random election timeout.
    fn await_leader(&mut self, cx: &Context<'_, Rpc>) {
        let timeout = self.draw_timeout();
        self.set_timer(timeout, cx);
    }

    fn draw_timeout(&mut self) -> Duration {
        let millis = TIMEOUT_MS_MIN + self.rng.below(TIMEOUT_MS_MIN);
        Duration::from_millis(millis as u64)
    }

    fn set_timer(&mut self, after: Duration, cx: &Context<'_, Rpc>) {
        if let Some(timer) = self.timer.take() {
            timer.cancel();
        }
        self.timer = cx.start_timer(after, &cx.address(), Rpc::Timeout).ok();
    }

    /// Writes the persistent state. The messages of a turn are sent at the end of the turn, so they
    /// never contain a state that has not been written.
    fn save(&self) {
        let mut state = self.state.clone();
        if self.has(Mutation::ForgetsVote) {
            state.voted_for = None;
        }
        self.disk.write(state);
    }

    fn note_log(&self, cx: &Context<'_, Rpc>) {
        let leads = matches!(self.role, Role::Leader { .. });
        cx.note(LogIs {
            server: self.id,
            leads: leads.then_some(self.state.term),
            log: self.state.log.clone(),
        });
    }

    /// Applies the committed entries. If this server is the leader, tells the clients.
    fn apply(&mut self, cx: &Context<'_, Rpc>) {
        while self.applied < self.commit
            && let Some(entry) = self.state.log.get(self.applied + 1)
        {
            self.applied += 1;
            cx.note(Applied {
                server: self.id,
                index: self.applied,
                entry,
            });
            if let (Role::Leader { .. }, Some(command)) = (&self.role, entry.command) {
                self.confirm(command, cx);
            }
        }
    }

    fn confirm(&self, command: Command, cx: &Context<'_, Rpc>) {
        let client = &self.cluster.clients[command.client];
        let _ = cx.send(client, client::Event::Done(command));
    }
}

impl Actor for Server {
    type Msg = Rpc;
    type Outcome = ();
    const MESSAGES: &'static [&'static str] = &[
        "Timeout",
        "RequestVote",
        "Vote",
        "AppendEntries",
        "Appended",
        "Propose",
    ];

    fn started(&mut self, cx: &mut Context<'_, Rpc>) {
        cx.note(Started(self.id));
        self.await_leader(cx);
    }

    fn receive(&mut self, rpc: Rpc, cx: &mut Context<'_, Rpc>) {
        match rpc {
            Rpc::Timeout => match &self.role {
                Role::Leader { .. } => self.send_heartbeats(cx),
                Role::Candidate { repeats: 1.., .. } => self.repeat_requests(cx),
                _ => self.begin_election(cx),
            },
            Rpc::RequestVote(request) => self.answer_candidate(&request, cx),
            Rpc::Vote {
                term,
                from,
                granted,
            } => self.count_vote(term, from, granted, cx),
            Rpc::AppendEntries(request) => self.answer_leader(&request, cx),
            Rpc::Appended(answer) => self.note_answer(&answer, cx),
            Rpc::Propose(command) => self.add_command(command, cx),
        }
        self.save();
    }

    fn message_kind(rpc: &Rpc) -> usize {
        match rpc {
            Rpc::Timeout => 0,
            Rpc::RequestVote(_) => 1,
            Rpc::Vote { .. } => 2,
            Rpc::AppendEntries(_) => 3,
            Rpc::Appended(_) => 4,
            Rpc::Propose(_) => 5,
        }
    }
}
