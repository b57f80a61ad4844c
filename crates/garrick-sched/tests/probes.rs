//! The counters of a sponsor.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use garrick_sched::{Address, Flow, Handle, KindSample, Reply, Sponsor, Task, Turn};
use garrick_testkit::{ByHand, fail, silence_panics, wait};

/// Forwards the message to another task until it is 0.
struct Hop(Option<Address<u32>>);

impl Task for Hop {
    type Message = u32;

    fn receive(&mut self, left: u32, turn: &Turn<'_, u32>) -> Flow {
        if let (Some(next), 1..) = (&self.0, left) {
            turn.send(next, left - 1).unwrap();
        }
        Flow::Continue
    }
}

/// Makes two tasks of its kind, until the number is 0.
struct Fork;

impl Task for Fork {
    type Message = u32;

    fn receive(&mut self, depth: u32, turn: &Turn<'_, u32>) -> Flow {
        for _ in 0..if depth > 0 { 2 } else { 0 } {
            turn.send(&turn.spawn(Fork), depth - 1).unwrap();
        }
        Flow::Continue
    }
}

/// Panics at odd numbers, and survives those that are divisible by 3.
struct Fragile {
    last: u32,
}

impl Task for Fragile {
    type Message = u32;
    const RECOVERS: bool = true;

    fn receive(&mut self, number: u32, _: &Turn<'_, u32>) -> Flow {
        self.last = number;
        if number % 2 == 1 {
            fail();
        }
        Flow::Continue
    }

    fn recover(&mut self, _: &str, _: &Turn<'_, u32>) -> Flow {
        if self.last.is_multiple_of(3) {
            Flow::Continue
        } else {
            Flow::Stop
        }
    }
}

/// Reports that it waits, and waits for permission.
struct Gate(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Task for Gate {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        self.0.send(()).unwrap();
        wait(&self.1);
        Flow::Continue
    }
}

fn pool(workers: usize) -> Sponsor {
    Sponsor::builder()
        .workers(workers)
        .probes(true)
        .start()
        .unwrap()
}

fn kind(handle: &Handle, name: &str) -> KindSample {
    let mut kinds = handle.sample().kinds.into_iter();
    kinds.find(|kind| kind.name.ends_with(name)).unwrap()
}

#[test]
fn turns_and_tasks_are_counted_exactly_by_kind() {
    for workers in [1, 2] {
        let sponsor = pool(workers);
        let handle = sponsor.handle();
        let last = handle.spawn(Hop(None)).unwrap();
        let first = handle.spawn(Hop(Some(last.clone()))).unwrap();
        (0..1000).for_each(|_| first.send(1).unwrap());
        handle.spawn(Fork).unwrap().send(9).unwrap();
        drop((first, last));
        sponsor.shutdown();

        let hop = kind(&handle, "Hop");
        assert_eq!((hop.begun, hop.ended, hop.turns), (2, 2, 2000), "{workers}");
        let fork = kind(&handle, "Fork");
        assert_eq!(
            (fork.begun, fork.ended, fork.turns),
            (1023, 1023, 1023),
            "{workers}"
        );
        assert!(fork.busy > 0 && fork.looks > 0, "{fork:?}");
        assert!(hop.activations <= hop.turns, "{hop:?}");
    }
}

#[test]
fn one_that_is_watched_is_of_the_same_kind() {
    let sponsor = pool(1);
    let handle = sponsor.handle();
    let (told, notices) = mpsc::channel();
    let watched = handle.spawn(Hop(None)).unwrap();
    let watch = watched.watch(move |ended| told.send(ended).unwrap());
    watched.send(0).unwrap();
    handle.spawn(Hop(None)).unwrap().send(0).unwrap();
    drop(watched);
    let _ = wait(&notices);
    drop(watch);
    sponsor.shutdown();
    assert_eq!(handle.sample().kinds.len(), 1);
    let hop = kind(&handle, "Hop");
    assert_eq!((hop.begun, hop.ended, hop.turns), (2, 2, 2));
}

#[test]
fn panics_and_recoveries_are_counted() {
    silence_panics();
    let sponsor = pool(1);
    let handle = sponsor.handle();
    let fragile = handle.spawn(Fragile { last: 0 }).unwrap();
    for number in [2, 3, 9, 4, 5] {
        fragile.send(number).unwrap();
    }
    sponsor.shutdown();
    let fragile = kind(&handle, "Fragile");
    assert_eq!(
        (fragile.failures, fragile.recoveries, fragile.ended),
        (3, 2, 1)
    );
}

#[test]
fn a_task_that_moves_leaves_one_sponsor_and_begins_on_the_other() {
    let (here, there) = (pool(1), pool(1));
    let (from, to) = (here.handle(), there.handle());
    let hop = from.spawn(Hop(None)).unwrap();
    let mover = {
        let (hop, to) = (hop.clone(), to.clone());
        from.spawn(Move(hop, to)).unwrap()
    };
    mover.send(()).unwrap();
    drop((mover, hop));
    here.shutdown();
    there.shutdown();
    let (left, come) = (kind(&from, "Hop"), kind(&to, "Hop"));
    assert_eq!((left.begun, left.ended, left.turns), (1, 1, 0));
    assert_eq!((come.begun, come.ended, come.turns), (1, 1, 1));
}

struct Move(Address<u32>, Handle);

impl Task for Move {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        turn.send_on(&self.1, &self.0, 0).unwrap();
        Flow::Continue
    }
}

#[test]
fn the_one_that_runs_is_named_and_seen_twice_if_it_stays() {
    let sponsor = pool(1);
    let handle = sponsor.handle();
    let ((told, began), (leave, may_end)) = (mpsc::channel(), mpsc::channel());
    handle.spawn(Gate(told, may_end)).unwrap().send(()).unwrap();
    wait(&began);
    let [first, second] = [(); 2].map(|()| handle.sample().workers[0]);
    assert!(first.running.is_some_and(|name| name.ends_with("Gate")));
    assert_eq!(
        (first.running, first.activations),
        (second.running, second.activations)
    );
    leave.send(()).unwrap();
    sponsor.shutdown();
    assert!(handle.sample().workers[0].activations > first.activations);
}

#[test]
fn sleep_is_counted_by_the_clock_of_the_world_while_it_lasts() {
    let world = ByHand::new();
    let sponsor = Sponsor::builder().world(world.clone()).start().unwrap();
    let handle = sponsor.handle();
    while handle.sample().workers[0].parks == 0 {
        std::thread::yield_now();
    }
    world.advance(Duration::from_micros(7));
    assert_eq!(handle.sample().workers[0].parked, 7_000);
    sponsor.shutdown();
}

#[test]
fn without_probes_kinds_are_not_counted() {
    let sponsor = Sponsor::pool(1).unwrap();
    let handle = sponsor.handle();
    handle.spawn(Hop(None)).unwrap().send(0).unwrap();
    sponsor.shutdown();
    let sample = handle.sample();
    assert!(sample.kinds.is_empty());
    assert_eq!(sample.workers[0].running, None);
    assert!(sample.workers[0].turns > 0);
}

/// Answers with the question.
struct Echo;

impl Task for Echo {
    type Message = (u32, Reply<u32>);

    fn receive(&mut self, (number, reply): Self::Message, _: &Turn<'_, Self::Message>) -> Flow {
        reply.send(number);
        Flow::Continue
    }
}

#[test]
fn an_answer_to_a_thread_is_no_task() {
    let sponsor = pool(2);
    let echo = sponsor.handle().spawn(Echo).unwrap();
    for number in 0..200 {
        assert_eq!(echo.ask(|reply| (number, reply)).wait(), Ok(number));
    }
    let kinds = sponsor.handle().sample().kinds;
    let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(kinds[0].begun, 1);
    sponsor.shutdown();
}

/// Works for the time that its message states.
struct Works;

impl Task for Works {
    type Message = Duration;

    fn receive(&mut self, time: Duration, _: &Turn<'_, Duration>) -> Flow {
        let began = Instant::now();
        while began.elapsed() < time {
            std::hint::spin_loop();
        }
        Flow::Continue
    }
}

/// Forwards its message to itself until it is 0.
struct Spins;

impl Task for Spins {
    type Message = u32;

    fn receive(&mut self, left: u32, turn: &Turn<'_, u32>) -> Flow {
        if left > 0 {
            turn.send(&turn.address(), left - 1).unwrap();
        }
        Flow::Continue
    }
}

#[test]
fn a_slow_task_among_many_quick_ones_is_seen_as_busy() {
    let sponsor = pool(1);
    let handle = sponsor.handle();
    // Quick turns of one kind come between the slow ones of the other kind.
    let slow = handle.spawn(Works).unwrap();
    let quick: Vec<_> = (0..50).map(|_| handle.spawn(Spins).unwrap()).collect();
    for quick in &quick {
        quick.send(20_000).unwrap();
    }
    let turns = 30;
    (0..turns).for_each(|_| slow.send(Duration::from_millis(5)).unwrap());
    sponsor.shutdown();
    let busy = kind(&handle, "Works").busy;
    // The first slow turns may come between two turns that are timed.
    let least = (turns - 2) * 5_000_000;
    assert!(busy >= least, "{busy} of {least}");
    let both = busy + kind(&handle, "Spins").busy;
    let passed = handle.sample().at;
    assert!(both <= passed, "{both} of {passed}");
}
