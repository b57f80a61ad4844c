//! Peers elect a leader for each term. A candidate that counts votes of an earlier term may become
//! a second leader.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A fact: a peer has become the leader.
#[derive(Debug)]
struct Led {
    term: u64,
    peer: usize,
}

#[derive(Clone)]
enum Ballot {
    Begin(Vec<Address<Ballot>>),
    Timeout,
    Request { term: u64, from: usize },
    Vote { term: u64 },
}

struct Peer {
    id: usize,
    peers: Vec<Address<Ballot>>,
    term: u64,
    voted_for: Option<usize>,
    votes: usize,
    is_candidate: bool,
    /// Number of elections that the peer may still begin.
    left: u32,
    counts_old_votes: bool,
}

impl Peer {
    fn wait(&self, cx: &Context<'_, Ballot>) {
        let _ = cx.send_after(Duration::from_millis(100), &cx.address(), Ballot::Timeout);
    }

    fn begin_election(&mut self, cx: &Context<'_, Ballot>) {
        self.left -= 1;
        self.term += 1;
        self.voted_for = Some(self.id);
        self.votes = 1;
        self.is_candidate = true;
        let (term, from) = (self.term, self.id);
        for (id, peer) in self.peers.iter().enumerate() {
            if id != self.id {
                let _ = cx.send(peer, Ballot::Request { term, from });
            }
        }
        self.wait(cx);
    }

    fn vote(&mut self, term: u64, from: usize, cx: &Context<'_, Ballot>) {
        if term > self.term {
            self.term = term;
            self.voted_for = None;
            self.is_candidate = false;
        }
        let may_vote = self.voted_for.is_none_or(|voted| voted == from);
        if term == self.term && may_vote {
            self.voted_for = Some(from);
            let _ = cx.send(&self.peers[from], Ballot::Vote { term });
        }
    }

    fn count(&mut self, term: u64, cx: &Context<'_, Ballot>) {
        if !self.is_candidate || !self.counts_old_votes && term != self.term {
            return;
        }
        self.votes += 1;
        if self.votes * 2 > self.peers.len() {
            self.is_candidate = false;
            cx.note(Led {
                term: self.term,
                peer: self.id,
            });
        }
    }
}

impl Actor for Peer {
    type Msg = Ballot;
    type Outcome = ();

    fn receive(&mut self, ballot: Ballot, cx: &mut Context<'_, Ballot>) {
        match ballot {
            Ballot::Begin(peers) => {
                self.peers = peers;
                self.wait(cx);
            }
            // Nobody has told this peer about the others yet.
            _ if self.peers.is_empty() => {}
            Ballot::Timeout if self.left == 0 => {}
            Ballot::Timeout => self.begin_election(cx),
            Ballot::Request { term, from } => self.vote(term, from, cx),
            Ballot::Vote { term } => self.count(term, cx),
        }
    }
}

fn election(sim: &mut Sim, counts_old_votes: bool) {
    let peers: Vec<_> = (0..3)
        .map(|id| {
            let node = sim.node(format!("n{id}"));
            node.spawn(Peer {
                id,
                peers: Vec::new(),
                term: 0,
                voted_for: None,
                votes: 0,
                is_candidate: false,
                left: 3,
                counts_old_votes,
            })
            .unwrap()
        })
        .collect();
    for peer in &peers {
        peer.send(Ballot::Begin(peers.clone())).unwrap();
    }
    sim.always("one leader a term", |facts| {
        let leaders = facts.seen::<Led>();
        let newest = leaders.clone().next_back();
        newest.is_none_or(|new| {
            leaders
                .clone()
                .all(|led| led.term != new.term || led.peer == new.peer)
        })
    });
}

#[test]
fn two_leaders_are_found() {
    assert_found("election", "one leader a term", |sim| election(sim, true));
}

#[test]
fn an_election_that_checks_terms_is_right() {
    assert_right("election that checks terms", |sim| election(sim, false));
}
