//! Tests of the samples that show which kind of task occupies each worker, and for how long.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use garrick_sched::{Address, AwaySample, Flow, Handle, Nanos, Sponsor, Task, Turn, WorkerSample};
use garrick_testkit::{ByHand, ends, fail, silence_panics, wait};

/// Channels of a task that reports that its turn has begun, and waits for permission to continue.
struct Pass(Sender<()>, Receiver<()>);

impl Pass {
    fn wait(&self) {
        self.0.send(()).unwrap();
        wait(&self.1);
    }
}

/// The other ends of the channels of a [`Pass`].
struct Keeper(Receiver<()>, Sender<()>);

impl Keeper {
    fn new() -> (Self, Pass) {
        let ((told, began), (leave, may_go)) = (channel(), channel());
        (Self(began, leave), Pass(told, may_go))
    }

    /// Waits until the task with the [`Pass`] waits in its turn.
    fn sees(&self) {
        wait(&self.0);
    }

    fn lets_go(&self) {
        self.1.send(()).unwrap();
    }
}

/// A task that waits in its turn.
struct Holds;

impl Task for Holds {
    type Message = Pass;

    fn receive(&mut self, pass: Pass, _: &Turn<'_, Pass>) -> Flow {
        pass.wait();
        Flow::Continue
    }
}

/// A task that waits in a turn that blocks, while other threads may run its worker.
struct Blocks;

impl Task for Blocks {
    type Message = Pass;

    fn receive(&mut self, pass: Pass, turn: &Turn<'_, Pass>) -> Flow {
        turn.blocking(move || pass.wait());
        Flow::Continue
    }
}

/// A second kind of task that blocks.
struct BlocksToo;

impl Task for BlocksToo {
    type Message = Pass;

    fn receive(&mut self, pass: Pass, turn: &Turn<'_, Pass>) -> Flow {
        Blocks.receive(pass, turn)
    }
}

/// A task that fails, and waits while it recovers.
struct Recovers(Option<Pass>);

impl Task for Recovers {
    type Message = Pass;
    const RECOVERS: bool = true;

    fn receive(&mut self, pass: Pass, _: &Turn<'_, Pass>) -> Flow {
        self.0 = Some(pass);
        fail()
    }

    fn recover(&mut self, _: &str, _: &Turn<'_, Pass>) -> Flow {
        self.0.take().unwrap().wait();
        Flow::Continue
    }
}

/// Makes a sponsor whose clock the test sets.
fn by_hand(workers: usize) -> (Sponsor, Arc<ByHand>) {
    let world = ByHand::new();
    let sponsor = Sponsor::builder()
        .workers(workers)
        .probes(true)
        .world(world.clone())
        .start();
    (sponsor.unwrap(), world)
}

/// Starts a new task that waits.
fn hold<T: Task<Message = Pass> + Send>(handle: &Handle, task: T) -> Keeper {
    let (keeper, pass) = Keeper::new();
    handle.spawn(task).unwrap().send(pass).unwrap();
    keeper.sees();
    keeper
}

/// Returns the name of the running task's kind, and the duration of its turn.
fn turn_of(worker: &WorkerSample) -> Option<(&'static str, Nanos)> {
    let name = worker.running?;
    Some((short(name), worker.lasts))
}

fn short(name: &'static str) -> &'static str {
    name.rsplit("::").next().unwrap()
}

fn first_turn(handle: &Handle) -> Option<(&'static str, Nanos)> {
    turn_of(&handle.sample().workers[0])
}

fn away(handle: &Handle) -> Vec<(&'static str, u64, Nanos)> {
    let of = |away: AwaySample| (short(away.name), away.turns, away.longest);
    handle.sample().away.into_iter().map(of).collect()
}

fn micros(count: u64) -> Duration {
    Duration::from_micros(count)
}

#[test]
fn the_turn_under_way_is_told_with_its_time_since_it_was_seen_first() {
    ends(|| {
        let (sponsor, world) = by_hand(1);
        let handle = sponsor.handle();
        assert_eq!(first_turn(&handle), None);
        // The time without a turn is no part of a turn.
        world.advance(micros(50));
        let keeper = hold(&handle, Holds);
        for lasts in [0, 7, 14] {
            assert_eq!(first_turn(&handle), Some(("Holds", lasts * 1000)));
            world.advance(micros(7));
        }
        keeper.lets_go();
        while first_turn(&handle).is_some() {
            thread::yield_now();
        }
        let next = hold(&handle, Holds);
        assert_eq!(
            first_turn(&handle),
            Some(("Holds", 0)),
            "another turn has another time"
        );
        next.lets_go();
        sponsor.shutdown();
        let worker = handle.sample().workers[0];
        assert_eq!((worker.running, worker.lasts), (None, 0));
    });
}

#[test]
fn a_task_that_recovers_holds_its_worker_as_well() {
    silence_panics();
    ends(|| {
        let (sponsor, world) = by_hand(1);
        let handle = sponsor.handle();
        let keeper = hold(&handle, Recovers(None));
        assert_eq!(first_turn(&handle), Some(("Recovers", 0)));
        world.advance(micros(3));
        assert_eq!(first_turn(&handle), Some(("Recovers", 3000)));
        keeper.lets_go();
        sponsor.shutdown();
        assert_eq!(first_turn(&handle), None);
    });
}

#[test]
fn turns_that_are_away_are_told_by_kind_while_their_worker_runs_others() {
    ends(|| {
        let (sponsor, world) = by_hand(1);
        let handle = sponsor.handle();
        let first = hold(&handle, Blocks);
        world.advance(micros(5));
        let others = [hold(&handle, Blocks), hold(&handle, BlocksToo)];
        world.advance(micros(7));
        assert_eq!(
            away(&handle),
            [("Blocks", 2, 12_000), ("BlocksToo", 1, 7_000)]
        );
        let seated = hold(&handle, Holds);
        assert_eq!(first_turn(&handle), Some(("Holds", 0)));
        seated.lets_go();

        first.lets_go();
        // The remaining turn of the first kind is not as old.
        while away(&handle) != [("Blocks", 1, 7_000), ("BlocksToo", 1, 7_000)] {
            thread::yield_now();
        }
        others.iter().for_each(Keeper::lets_go);
        sponsor.shutdown();
        assert_eq!(away(&handle), []);
        assert_eq!(first_turn(&handle), None);
    });
}

#[test]
fn a_turn_that_blocks_where_it_may_not_leave_holds_its_worker() {
    ends(|| {
        let sponsor = Sponsor::builder()
            .workers(1)
            .probes(true)
            .blocking_threads(0)
            .start()
            .unwrap();
        let handle = sponsor.handle();
        let keeper = hold(&handle, Blocks);
        assert_eq!(first_turn(&handle).map(|(name, _)| name), Some("Blocks"));
        assert_eq!(away(&handle), []);
        keeper.lets_go();
        sponsor.shutdown();
    });
}

/// A task that makes another task on its own worker and gives the address of that task away, or
/// occupies the worker.
struct Parent;

enum Order {
    Bear(Sender<Address<Pass>>),
    Hold(Pass),
}

impl Task for Parent {
    type Message = Order;

    fn receive(&mut self, order: Order, turn: &Turn<'_, Order>) -> Flow {
        match order {
            Order::Bear(born) => born.send(turn.spawn(Holds)).unwrap(),
            Order::Hold(pass) => pass.wait(),
        }
        Flow::Continue
    }
}

// Workers lend their cells only on Linux.
#[cfg(all(target_os = "linux", not(garrick_portable)))]
#[test]
fn a_worker_that_runs_a_task_of_another_one_says_so() {
    ends(|| {
        let sponsor = Sponsor::builder().workers(2).probes(true).start().unwrap();
        let handle = sponsor.handle();
        let parent = handle.spawn(Parent).unwrap();
        let (told, born) = channel();
        parent.send(Order::Bear(told)).unwrap();
        let child = wait(&born);
        let (held, pass) = Keeper::new();
        parent.send(Order::Hold(pass)).unwrap();
        held.sees();
        // Its own worker is held, so the other worker runs it.
        let (visited, pass) = Keeper::new();
        child.send(pass).unwrap();
        visited.sees();
        let mut names: Vec<_> = handle.sample().workers.iter().map(turn_of).collect();
        names.sort_unstable();
        let names: Vec<_> = names.into_iter().flatten().map(|(name, _)| name).collect();
        assert_eq!(names, ["Holds", "Parent"]);
        visited.lets_go();
        held.lets_go();
        sponsor.shutdown();
        assert!(
            handle
                .sample()
                .workers
                .iter()
                .all(|worker| worker.running.is_none())
        );
    });
}

#[test]
fn without_probes_nobody_is_told() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let handle = sponsor.handle();
        let gone = hold(&handle, Blocks);
        let seated = hold(&handle, Holds);
        assert_eq!((first_turn(&handle), away(&handle)), (None, Vec::new()));
        seated.lets_go();
        gone.lets_go();
        sponsor.shutdown();
    });
}
