//! One random program, from its start to its final checks.

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, mpsc};
use std::task::{self, Waker};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use garrick_actor::system::{Nanos, RealWorld, ThreadSpec, World};
use garrick_actor::{Address, Ask, Handle, Next, NoReply, System, behavior};
use garrick_sched::audit;

use crate::children;
use crate::guests;
use crate::node::Cmd;
use crate::peer::To;
use crate::random::Random;
use crate::town::Town;
use crate::value::{Value, hush};

/// Settings of a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) workers: usize,
    pub(crate) fuel: i64,
}

/// Maximum duration of a single wait. The value is so large that even a busy machine never reaches
/// it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The real world, which complains if a thread of a worker ends with a panic.
struct Watched {
    real: Arc<dyn World>,
    town: Arc<Town>,
}

impl World for Watched {
    fn now(&self) -> Nanos {
        self.real.now()
    }

    fn seed(&self) -> u64 {
        self.real.seed()
    }

    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        let town = self.town.clone();
        let watched = move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
                town.ledger
                    .complain("a worker's thread has died".to_owned());
                resume_unwind(panic);
            }
        };
        self.real.spawn_thread(spec, Box::new(watched))
    }
}

fn system(plan: Plan, town: &Arc<Town>, workers: usize) -> System {
    let world = Arc::new(Watched {
        real: RealWorld::shared(),
        town: town.clone(),
    });
    let reporting = town.clone();
    let seed = plan.seed;
    System::builder()
        .workers(workers)
        .world(world)
        .on_failure(move |failure| {
            // A reporter is foreign code as well.
            let number = seed ^ failure.message.len() as u64 ^ reporting.number();
            if number.is_multiple_of(5)
                && reporting.burn()
                && let Some(peer) = reporting.peer(number)
            {
                hush(peer.send(Cmd::Act(Value::plain(&reporting), 0)));
            }
            if number.is_multiple_of(31) {
                garrick_testkit::fail();
            }
        })
        .start()
        .unwrap()
}

/// Performs random actions on a thread that runs no actors. Returns the questions that it has
/// asked.
fn outsider(town: &Arc<Town>, seed: u64) -> Vec<Ask<Value>> {
    let mut random = Random::new(seed);
    let mut asks = Vec::new();
    let mut unwoken = task::Context::from_waker(Waker::noop());
    while town.burn() {
        let Some(peer) = town.peer(random.next()) else {
            break;
        };
        let value = Value::any(town, &mut random);
        match random.below(17) {
            16 => {
                // Perhaps it is given up while it stands in line.
                let mut send = Box::pin(guests::press_in(town, &mut random, value));
                let _ = send.as_mut().poll(&mut unwoken);
                hush(send);
            }
            0..9 => hush(peer.send(Cmd::Act(value, 3))),
            9..12 => {
                // A question that comes back is dropped here.
                let ask = catch_unwind(AssertUnwindSafe(|| peer.ask(value)));
                asks.extend(ask.ok());
            }
            12 => {
                let sighting = town.ledger.watch();
                sighting.commit();
                let seen = sighting.clone();
                let watch = peer.watch(move |ended| seen.notice(&ended));
                hush(value);
                if random.one_in(3) {
                    sighting.cancel();
                    watch.cancel();
                }
            }
            13 => {
                hush(value);
                hush(catch_unwind(AssertUnwindSafe(|| {
                    town.settle_somebody(random.next());
                })));
            }
            14 => {
                hush(value);
                hush(catch_unwind(AssertUnwindSafe(|| {
                    children::change(town, &mut random);
                })));
            }
            _ => {
                let within = Duration::from_micros(random.below(300));
                match (town.handle(random.next()), &peer.to) {
                    (Some(handle), To::Small(to)) => {
                        let ask = catch_unwind(AssertUnwindSafe(|| {
                            handle.ask_within(within, to, |reply| Cmd::Ask(value, reply).into())
                        }));
                        hush(ask.map(garrick_actor::ask::AskWithin::wait));
                    }
                    _ => hush(value),
                }
            }
        }
    }
    asks
}

/// Runs a system on the current thread until the round is over.
fn run_local(town: &Town, ready: &mpsc::Sender<(Handle, Address<()>)>) {
    let local = System::builder().on_failure(|_| ()).local().unwrap();
    let bell = local.spawn(behavior(|(): (), _| Next::Continue));
    ready.send((local.handle(), bell)).unwrap();
    local.run_until(|| town.is_over());
}

/// Waits until all actors that count their answers have received all of them, and until no send
/// waits for room.
fn settle_down(town: &Arc<Town>) {
    let began = Instant::now();
    loop {
        let peers = town.peers();
        let asks: Vec<_> = peers
            .iter()
            .map(|peer| ((peer.number, peer.what), peer.census()))
            .collect();
        drop(peers);
        let mut waiting = None;
        for (number, ask) in asks {
            match ask.wait_timeout(PATIENCE) {
                Ok((asked, answered)) if asked == answered => {}
                Ok(census) => waiting = Some((number, census)),
                Err(NoReply::TimedOut) => {
                    return town
                        .ledger
                        .complain(format!("node {number:?} does not answer"));
                }
                Err(_) => {}
            }
        }
        let Some((number, (asked, answered))) = waiting else {
            let sends_end = wait_until(|| town.ledger.waiting() == 0);
            if !sends_end {
                let what = "a send waits for room that is there".to_owned();
                town.ledger.complain(what);
            }
            return;
        };
        if began.elapsed() > PATIENCE {
            let what =
                format!("node {number:?} has asked {asked:?}, and was answered {answered:?}");
            return town.ledger.complain(what);
        }
        thread::yield_now();
    }
}

/// Waits until every ask has completed, and complains about each ask that takes too long.
fn drain(town: &Town, asks: Vec<Ask<Value>>) {
    for ask in asks {
        let answer = ask.wait_timeout(PATIENCE);
        if matches!(answer, Err(NoReply::TimedOut)) {
            town.ledger.complain("a thread's ask has no end".to_owned());
        }
        hush(answer);
    }
}

fn wait_until(mut done: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !done() {
        if began.elapsed() > PATIENCE {
            return false;
        }
        thread::yield_now();
    }
    true
}

/// Runs a round and returns a list of everything that went wrong.
pub(crate) fn run(plan: Plan) -> Vec<String> {
    let before = audit();
    let town = Town::new(plan.fuel);
    let mut random = Random::new(plan.seed);
    let system_of = |workers| system(plan, &town, workers);
    let (main, victim) = (system_of(plan.workers), system_of(1 + plan.workers / 2));
    let (ready, local) = mpsc::channel();
    let own = town.clone();
    let local_thread = thread::spawn(move || run_local(&own, &ready));
    let (local, bell) = local.recv().unwrap();
    let handles = vec![main.handle(), victim.handle(), main.handle(), local];
    let trees = (0..3)
        .filter_map(|at| children::tree(&handles[at % 2], &mut random))
        .collect();
    town.open(handles.clone(), Some(victim), trees);
    for number in 0..12 {
        // The first ones may have ended a system already: then the next one is dropped here.
        hush(catch_unwind(AssertUnwindSafe(|| {
            town.settle_somebody(random.next() ^ number);
        })));
    }
    let asks = thread::scope(|scope| {
        let outsiders: Vec<_> = (0..2)
            .map(|_| {
                let (town, seed) = (&town, random.next());
                thread::Builder::new()
                    .name("outsider".to_owned())
                    .spawn_scoped(scope, move || outsider(town, seed))
                    .unwrap()
            })
            .collect();
        let asks = outsiders
            .into_iter()
            .flat_map(|outsider| outsider.join().unwrap());
        asks.collect::<Vec<_>>()
    });
    town.extinguish();
    let is_abrupt = random.one_in(4);
    if !is_abrupt {
        settle_down(&town);
    }
    end(&town, main, &mut random);
    town.set_over();
    let _ = bell.send(());
    if local_thread.join().is_err() {
        town.ledger
            .complain("the local system has panicked".to_owned());
    }
    // Whoever held a question has ended by now.
    drain(&town, asks);
    drop((bell, handles));
    town.close();
    close_the_books(town, || audit() == before)
}

/// Ends the systems of a round. In half of the rounds, stops all trees first.
fn end(town: &Town, main: System, random: &mut Random) {
    if random.one_in(2) {
        let asks: Vec<_> = town
            .trees()
            .iter()
            .map(garrick_actor::supervise::Tree::stop)
            .collect();
        for ask in asks {
            if ask.wait_timeout(PATIENCE) == Err(NoReply::TimedOut) {
                town.ledger.complain("a tree does not stop".to_owned());
            }
        }
    }
    drop(town.take_system(0));
    match random.below(3) {
        0 => main.shutdown(),
        1 => main.shutdown_now(),
        _ => drop(main),
    }
}

/// Waits until everything has been dropped. Returns a list of everything that went wrong in the
/// round.
fn close_the_books(town: Arc<Town>, is_as_before: impl Fn() -> bool) -> Vec<String> {
    wait_until(|| town.ledger.alive() == 0 && Arc::strong_count(&town) == 1);
    let mut wrong = town.ledger.close();
    let keepers = Arc::strong_count(&town) - 1;
    if keepers > 0 {
        wrong.push(format!("{keepers} still know the town"));
    }
    drop(town);
    if !wait_until(is_as_before) {
        wrong.push("blocks of the scheduler are left".to_owned());
    }
    wrong
}
