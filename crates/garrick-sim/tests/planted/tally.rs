//! A supervised actor counts votes. After a restart it begins at zero, although it has confirmed
//! votes before.

use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{Actor, Address, Context, NoReply, Reply};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A fact: a vote was confirmed.
#[derive(Debug)]
struct Confirmed;

/// A fact: the number of votes, including the latest one.
#[derive(Debug)]
struct Counted(u32);

/// An actor that keeps a number, and never fails.
struct Store(u32);

enum Change {
    Add(Reply<u32>),
}

impl Actor for Store {
    type Msg = Change;
    type Outcome = ();

    fn receive(&mut self, Change::Add(reply): Change, _: &mut Context<'_, Change>) {
        self.0 += 1;
        reply.send(self.0);
    }
}

struct Tally {
    votes: u32,
    store: Option<Address<Change>>,
}

enum Event {
    Vote,
    Stored(Result<u32, NoReply>),
}

impl Actor for Tally {
    type Msg = Event;
    type Outcome = ();

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) {
        match (event, &self.store) {
            (Event::Vote, Some(store)) => {
                cx.ask(store, Change::Add, Event::Stored);
            }
            (Event::Vote, None) => {
                self.votes += 1;
                cx.note(Confirmed);
                cx.note(Counted(self.votes));
            }
            (Event::Stored(Err(_)), _) => {}
            (Event::Stored(Ok(votes)), _) => {
                cx.note(Confirmed);
                cx.note(Counted(votes));
            }
        }
    }
}

fn tally(sim: &mut Sim, stores: bool) {
    let node = sim.node("hall");
    let store = node.spawn(Store(0)).unwrap();
    let tree = Supervisor::new("hall", Strategy::OneForOne)
        .spawn(node.handle())
        .unwrap();
    let tally = node
        .actor(move || Tally {
            votes: 0,
            store: stores.then(|| store.clone()),
        })
        .named("tally")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    for _ in 0..3 {
        tally.send(Event::Vote).unwrap();
    }
    sim.keep(tree);
    sim.allow_failures();
    sim.faults().turn_fails::<Tally>(100);
    sim.always("confirmed votes count", |facts| {
        let confirmed = facts.seen::<Confirmed>().len();
        facts
            .last::<Counted>()
            .is_none_or(|counted| counted.0 as usize >= confirmed)
    });
}

#[test]
fn votes_that_a_restart_forgets_are_found() {
    assert_found("tally", "confirmed votes count", |sim| tally(sim, false));
}

#[test]
fn a_tally_with_a_store_is_right() {
    assert_right("tally with a store", |sim| tally(sim, true));
}
