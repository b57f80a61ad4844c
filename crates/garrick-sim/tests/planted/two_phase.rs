//! Two-phase commit. A coordinator that gives up after a timeout, but counts votes that arrive
//! later, decides twice.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A fact: a decision of the coordinator.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Decided {
    Commit,
    Abort,
}

enum Event {
    Begin(Vec<Address<Prepare>>),
    Ready,
    Timeout,
}

struct Prepare(Address<Event>);

struct Coordinator {
    missing: usize,
    is_decided: bool,
    counts_late_votes: bool,
}

impl Coordinator {
    fn decide(&mut self, decision: Decided, cx: &Context<'_, Event>) {
        self.is_decided = true;
        cx.note(decision);
    }
}

impl Actor for Coordinator {
    type Msg = Event;
    type Outcome = ();

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) {
        match event {
            Event::Begin(participants) => {
                self.missing = participants.len();
                for participant in participants {
                    let _ = cx.send(&participant, Prepare(cx.address()));
                }
                let _ = cx.send_after(Duration::from_millis(50), &cx.address(), Event::Timeout);
            }
            Event::Ready => {
                self.missing -= 1;
                if self.missing == 0 && (!self.is_decided || self.counts_late_votes) {
                    self.decide(Decided::Commit, cx);
                }
            }
            Event::Timeout if self.is_decided => {}
            Event::Timeout => self.decide(Decided::Abort, cx),
        }
    }
}

struct Participant;

impl Actor for Participant {
    type Msg = Prepare;
    type Outcome = ();

    fn receive(&mut self, Prepare(coordinator): Prepare, cx: &mut Context<'_, Prepare>) {
        let _ = cx.send(&coordinator, Event::Ready);
    }
}

fn two_phase(sim: &mut Sim, counts_late_votes: bool) {
    let participants = (0..3)
        .map(|id| sim.node(format!("p{id}")).spawn(Participant).unwrap())
        .collect();
    let coordinator = sim.node("c").spawn(Coordinator {
        missing: 0,
        is_decided: false,
        counts_late_votes,
    });
    coordinator
        .unwrap()
        .send(Event::Begin(participants))
        .unwrap();
    sim.always("one decision", |facts| facts.seen::<Decided>().len() <= 1);
    sim.eventually("a decision", Duration::from_secs(1), |facts| {
        facts.seen::<Decided>().len() > 0
    });
}

#[test]
fn a_late_vote_is_found() {
    assert_found("two-phase commit", "one decision", |sim| {
        two_phase(sim, true);
    });
}

#[test]
fn a_coordinator_that_ignores_late_votes_is_right() {
    assert_right("two-phase commit that ignores late votes", |sim| {
        two_phase(sim, false);
    });
}
