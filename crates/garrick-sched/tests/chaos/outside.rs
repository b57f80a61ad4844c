//! Threads that are not workers: plain threads, and a thread that runs its own tasks.

use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use garrick_sched::{Here, NoReply, Sponsor};

use crate::asking;
use crate::frame::ON_PURPOSE;
use crate::ledger;
use crate::mind::Mind;
use crate::node::Node;
use crate::round::Round;
use crate::shapes::{Cargo, Held, Kilo, Letter, Nothing, Peer, Wide};
use crate::sponsors::Earth;

/// Largest number of steps that a thread performs.
const STEPS: usize = 60;

/// Calls `f`, and continues after an intended panic, which destructors of dropped values may cause.
fn calmly(f: impl FnOnce()) {
    let Err(panic) = panic::catch_unwind(AssertUnwindSafe(f)) else {
        return;
    };
    let said = panic.downcast_ref::<String>();
    if !said.is_some_and(|said| said.starts_with(ON_PURPOSE)) {
        ledger::wrong("a panic came out to a plain thread".to_owned());
    }
}

/// Performs the random steps of a plain thread.
pub(crate) fn stranger(round: &Round, number: u64) {
    let mut mind = Mind::new(round.seed ^ number);
    for _ in 0..STEPS {
        let known = round.somebody(&mut mind.dice);
        known.into_iter().for_each(|peer| mind.meet(peer));
        calmly(|| match mind.dice.below(8) {
            0..=4 => mind.act(round),
            5 => mind.wait(round),
            6 => {
                let place = Held::new(round.room.take_blocking());
                if let Some(peer) = mind.somebody() {
                    peer.send(Letter::plain(Cargo {
                        place: Some(place),
                        ..Cargo::default()
                    }));
                }
            }
            _ => check_stopped(&mut mind),
        });
    }
    calmly(|| drop(mind));
}

/// Checks that a stopped task accepts no messages.
fn check_stopped(mind: &mut Mind) {
    let Some(peer) = mind.somebody() else { return };
    if peer.is_stopped() && !peer.is_door && peer.send(Letter::bare()) {
        ledger::wrong("one that has stopped took a message".to_owned());
    }
}

/// Performs the random steps of a thread that also runs tasks.
pub(crate) fn hermit(round: &Arc<Round>) {
    let world = Earth::new(0, round.threads.clone());
    let builder = Sponsor::builder().world(world).probes(true);
    let Ok(here) = builder.on_failure(round.reporter()).here() else {
        return;
    };
    round.welcome(here.handle());
    let mut mind = Mind::new(round.seed ^ 0x4e4e);
    for _ in 0..2 {
        calmly(|| settle(round, &here, &mut mind));
    }
    for _ in 0..STEPS {
        let known = round.somebody(&mut mind.dice);
        known.into_iter().for_each(|peer| mind.meet(peer));
        calmly(|| live(round, &here, &mut mind));
    }
    if mind.dice.one_in(2) {
        calmly(|| drop(mind));
        calmly(|| drop(here));
    } else {
        calmly(|| drop(here));
        calmly(|| drop(mind));
    }
}

/// Makes tasks that stay on this thread.
fn settle(round: &Round, here: &Here, mind: &mut Mind) {
    let one = Node::<Letter, 3>::new(round.seed);
    let id = one.id();
    let one = Peer::task(here.spawn(one), id);
    let two = Node::<Wide, 2>::new(round.seed);
    let id = two.id();
    let two = Peer::task(here.spawn(two), id);
    let three = Node::<Kilo, 0>::new(round.seed);
    let id = three.id();
    let three = Peer::task(here.spawn(three), id);
    let four = Node::<Nothing, 1>::new(round.seed);
    let id = four.id();
    let four = Peer::task(here.spawn(four), id);
    for peer in [one, two, three, four] {
        mind.send(round, &peer);
        round.meet(&peer, &mut mind.dice);
        mind.meet(peer);
    }
}

fn live(round: &Round, here: &Here, mind: &mut Mind) {
    match mind.dice.below(8) {
        0..=2 => mind.act(round),
        3 => here.run(),
        4 => settle(round, here, mind),
        5 => {
            let Some(peer) = mind.somebody() else { return };
            let Some((question, ask)) = peer.ask(Cargo::default()) else {
                return;
            };
            if mind.dice.one_in(3) {
                let timeout = Duration::from_micros(100);
                let allowed = [NoReply::TimedOut, NoReply::OnWorker];
                asking::check(question, &ask.wait_timeout(timeout), &allowed);
            } else {
                asking::check(question, &here.block_on(ask), &[]);
            }
        }
        6 => {
            let place = Held::new(here.block_on(round.room.take()));
            drop(place);
        }
        _ => here.block_on(async {
            for _ in 0..4 {
                mind.act(round);
                pause().await;
            }
        }),
    }
}

/// Makes the tasks of this thread run once.
async fn pause() {
    let mut before = true;
    poll_fn(|context| {
        if std::mem::take(&mut before) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}
