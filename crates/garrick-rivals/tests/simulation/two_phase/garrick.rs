//! Two-phase commit as actors of Garrick.

use std::time::Duration;

use garrick::prelude::*;
use garrick::sim::Sim;

/// A decision of the coordinator.
#[derive(Debug)]
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
                if self.missing == 0 {
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

pub(super) fn two_phase(sim: &mut Sim) {
    let participants = (0..3)
        .map(|id| sim.node(format!("p{id}")).spawn(Participant).unwrap())
        .collect();
    let coordinator = sim.node("c").spawn(Coordinator {
        missing: 0,
        is_decided: false,
    });
    let begin = Event::Begin(participants);
    coordinator.unwrap().send(begin).unwrap();
    sim.always("one decision", |facts| facts.seen::<Decided>().len() <= 1);
}
