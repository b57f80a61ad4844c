//! Supervised actors of the random programs.

use std::sync::Arc;
use std::time::Duration;

use garrick_actor::supervise::{Backoff, Decision, Restart, Shutdown, Strategy, Supervisor, Tree};
use garrick_actor::{Handle, Incoming};

use crate::guests;
use crate::ledger::Life;
use crate::node::{LARGE, Msg, Node};
use crate::peer::{Peer, Sized_};
use crate::random::Random;
use crate::town::Town;
use crate::value::Value;
use garrick_testkit::fail;

fn strategy(random: &mut Random) -> Strategy {
    *random.pick(&[
        Strategy::OneForOne,
        Strategy::OneForAll,
        Strategy::RestForOne,
    ])
}

/// Returns a supervisor with random settings.
fn supervisor(random: &mut Random) -> Supervisor {
    let restarts_max = random.below(40) as usize;
    Supervisor::new("branch", strategy(random))
        .intensity(restarts_max, Duration::from_millis(1 + random.below(50)))
        .shutdown(shutdown(random))
        .restart(restart(random))
}

fn restart(random: &mut Random) -> Restart {
    *random.pick(&[
        Restart::Permanent,
        Restart::Permanent,
        Restart::Transient,
        Restart::Temporary,
    ])
}

fn shutdown(random: &mut Random) -> Shutdown {
    *random.pick(&[
        Shutdown::Now,
        Shutdown::DrainAll,
        Shutdown::Drain(Duration::from_micros(100)),
    ])
}

fn backoff(random: &mut Random) -> Backoff {
    if random.one_in(2) {
        Backoff::NONE
    } else {
        Backoff::exponential(Duration::from_micros(20), Duration::from_micros(200)).jitter(0.5)
    }
}

/// Spawns the root of a tree, with random settings. Actors that must receive every answer are never
/// children in a tree.
pub(crate) fn tree(handle: &Handle, random: &mut Random) -> Option<Tree> {
    supervisor(random).spawn(handle).ok()
}

/// Returns a decider that makes a random decision. The decider may also panic.
fn decisions(
    random: &mut Random,
) -> impl Fn(&garrick_actor::supervise::Fault) -> Decision + Send + 'static {
    let (seed, panics) = (random.next(), random.one_in(20));
    move |fault| {
        assert!(!fault.to_string().is_empty());
        if panics {
            fail();
        }
        match seed % 8 {
            0 => Decision::Resume,
            1 => Decision::Stop,
            2 => Decision::Escalate,
            _ => Decision::Restart,
        }
    }
}

fn start_child<const N: usize>(town: &Arc<Town>, tree: &Tree, random: &mut Random)
where
    garrick_actor::Address<Msg<N>>: Sized_,
{
    let (seed, captured, own) = (random.next(), Value::plain(town), town.clone());
    let number = town.number();
    let panics = random.one_in(10);
    let made = std::sync::atomic::AtomicU64::new(0);
    let place = Arc::default();
    let factory = move || {
        let _captured = &captured;
        let made = made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if panics && made % 3 == 1 && !own.is_burnt() {
            fail();
        }
        Node::<N>::new(&own, seed.wrapping_add(made), true).in_place(&place)
    };
    let elsewhere = town.handle(random.next());
    let elsewhere = elsewhere.filter(|_| random.one_in(3));
    let handle = elsewhere.as_ref().unwrap_or(tree.handle());
    let child = handle
        .actor(factory)
        .named(format!("child {}", random.below(8)))
        .supervised_by(tree)
        .restart(restart(random))
        .shutdown(shutdown(random))
        .backoff(backoff(random))
        .decide(decisions(random));
    if let Ok(address) = child.spawn() {
        town.enlist(Peer {
            number,
            what: "a child",
            is_ordered: true,
            to: address.of(),
        });
    }
}

fn start_async(town: &Arc<Town>, tree: &Tree, random: &mut Random) {
    let (own, seed, place) = (town.clone(), random.next(), Arc::default());
    let child = tree.handle().actor(move |mailbox: Incoming<Msg<6>>| {
        let mut life = Life::new(&own, &place);
        life.start();
        guests::live(own.clone(), seed, mailbox, life)
    });
    let child = child.supervised_by(tree).restart(restart(random));
    if let Ok(address) = child.backoff(backoff(random)).spawn() {
        town.enlist(Peer {
            number: town.number(),
            what: "a child",
            is_ordered: true,
            to: address.of(),
        });
    }
}

/// Changes a random tree: starts or removes a child, adds a supervisor, or stops the tree.
pub(crate) fn change(town: &Arc<Town>, random: &mut Random) {
    let Some(tree) = town.tree(random.next()) else {
        return;
    };
    match random.below(12) {
        0..3 => start_child::<0>(town, &tree, random),
        3..5 => start_child::<6>(town, &tree, random),
        5 => start_child::<LARGE>(town, &tree, random),
        6 | 7 => start_async(town, &tree, random),
        8 => {
            if let Ok(branch) = supervisor(random).spawn_under(&tree) {
                town.plant(branch);
            }
        }
        9 => drop(tree.remove(format!("child {}", random.below(8)))),
        10 if random.one_in(10) => drop(tree.stop()),
        _ => assert!(!tree.to_string().is_empty()),
    }
}
