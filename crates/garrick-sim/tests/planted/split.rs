//! An election by votes during a partition. A candidate that waits for the votes of a majority of
//! all nodes is right. A candidate that is content with the votes that have arrived becomes a
//! second leader.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context};
use garrick_sim::Sim;

use crate::{assert_found, assert_right, find};

/// A fact: a node has become the leader.
#[derive(Debug)]
struct Leads;

enum Event {
    /// The node must become a candidate after this time.
    Plan(Duration, Vec<Address<Self>>),
    Begin(Vec<Address<Self>>),
    Ask(Address<Self>),
    Vote,
    Enough,
}

struct Member {
    has_voted: bool,
    votes: usize,
    leads: bool,
    /// Number of votes that a leader needs.
    needs: usize,
}

impl Actor for Member {
    type Msg = Event;
    type Outcome = ();

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) {
        match event {
            Event::Plan(after, others) => {
                let _ = cx.send_after(after, &cx.address(), Event::Begin(others));
            }
            Event::Begin(others) => {
                // A candidate votes for itself, unless another one has its vote.
                if !self.has_voted {
                    self.has_voted = true;
                    self.votes = 1;
                    for other in others {
                        let _ = cx.send(&other, Event::Ask(cx.address()));
                    }
                    let wait = Duration::from_millis(100);
                    let _ = cx.send_after(wait, &cx.address(), Event::Enough);
                }
            }
            Event::Ask(candidate) => {
                if !self.has_voted {
                    self.has_voted = true;
                    let _ = cx.send(&candidate, Event::Vote);
                }
            }
            Event::Vote => self.votes += 1,
            Event::Enough => {
                if self.votes >= self.needs && !self.leads {
                    self.leads = true;
                    cx.note(Leads);
                }
            }
        }
    }
}

/// Sets up three members, two of which are candidates.
fn election(sim: &mut Sim, needs: usize) {
    sim.latency(Duration::from_millis(1)..Duration::from_millis(20));
    let members: Vec<Address<Event>> = (0..3)
        .map(|number| {
            let member = Member {
                has_voted: false,
                votes: 0,
                leads: false,
                needs,
            };
            sim.node(format!("n{number}")).spawn(member).unwrap()
        })
        .collect();
    // The first candidate has all votes before the second one begins, if nothing is cut.
    for (number, after) in [(0, 0), (2, 60)] {
        let others = (0..3).filter(|other| *other != number);
        let others = others.map(|other| members[other].clone()).collect();
        let plan = Event::Plan(Duration::from_millis(after), others);
        members[number].send(plan).unwrap();
    }
    sim.always("one leader", |facts| facts.seen::<Leads>().len() <= 1);
}

fn parted(sim: &mut Sim, needs: usize) {
    election(sim, needs);
    let lasts = Duration::from_millis(50)..Duration::from_millis(200);
    sim.faults().partition(["n0", "n1"], 1, lasts);
}

#[test]
fn a_second_leader_during_a_partition_is_found() {
    assert_found("split", "one leader", |sim| parted(sim, 1));
    let failed = find("split", |sim| parted(sim, 1));
    let text = failed.trace().to_string();
    assert!(text.contains("partition: n0, n1 cut off"), "{text}");
    assert!(failed.trace().mermaid().contains("cut off"), "{text}");
}

#[test]
fn without_a_partition_there_is_one_leader() {
    assert_right("split, without a partition", |sim| election(sim, 1));
}

#[test]
fn a_majority_is_right() {
    assert_right("split, majority", |sim| parted(sim, 2));
}
