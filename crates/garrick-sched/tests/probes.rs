//! Tests of the counters of a sponsor.

mod common;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use common::{Fork, kind};
use garrick_sched::{Address, Flow, Handle, KindSample, Reply, Sponsor, Task, TaskSample, Turn};
use garrick_testkit::{ByHand, fail, silence_panics, wait};

/// A task that forwards its number to another task until the number is 0.
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

/// A task that panics at odd numbers, and recovers from the panic if the number is divisible by 3.
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

/// A task that reports that it waits, and waits for permission.
struct Gate(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Task for Gate {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        self.0.send(()).unwrap();
        wait(&self.1);
        Flow::Continue
    }
}

/// A task with a label. If the message is true, the task reports that it waits, and waits for
/// permission.
struct Station {
    label: &'static str,
    gate: Gate,
}

impl Task for Station {
    type Message = bool;

    fn receive(&mut self, waits: bool, _: &Turn<'_, bool>) -> Flow {
        if waits {
            self.gate.0.send(()).unwrap();
            wait(&self.gate.1);
        }
        Flow::Continue
    }

    fn label(&self) -> Option<String> {
        if self.label == "?" {
            fail();
        }
        Some(self.label.to_owned())
    }
}

/// Tasks (stations) on one worker, and the other ends of their channels.
struct Stations {
    handle: Handle,
    told: mpsc::Sender<()>,
    began: mpsc::Receiver<()>,
    leave: Vec<mpsc::Sender<()>>,
}

impl Stations {
    fn new(handle: Handle) -> Self {
        let (told, began) = mpsc::channel();
        Self {
            handle,
            told,
            began,
            leave: Vec::new(),
        }
    }

    fn open(&mut self, label: &'static str) -> Address<bool> {
        let (leave, may_leave) = mpsc::channel();
        self.leave.push(leave);
        let gate = Gate(self.told.clone(), may_leave);
        self.handle.spawn(Station { label, gate }).unwrap()
    }

    /// Waits until a station reports that it waits.
    fn arrive(&self) {
        wait(&self.began);
    }

    fn leave(&self, station: usize) {
        self.leave[station].send(()).unwrap();
    }
}

fn pool(workers: usize) -> Sponsor {
    Sponsor::builder()
        .workers(workers)
        .probes(true)
        .start()
        .unwrap()
}

#[test]
fn tasks_are_counted_exactly_by_kind_and_all_turns_for_some_kind() {
    for workers in [1, 2] {
        let sponsor = pool(workers);
        let handle = sponsor.handle();
        let last = handle.spawn(Hop(None)).unwrap();
        let first = handle.spawn(Hop(Some(last.clone()))).unwrap();
        (0..1000).for_each(|_| first.send(1).unwrap());
        handle.spawn(Fork).unwrap().send(9).unwrap();
        drop((first, last));
        sponsor.shutdown();

        let (hop, fork) = (
            kind(&handle, "Hop").unwrap(),
            kind(&handle, "Fork").unwrap(),
        );
        assert_eq!((hop.begun, hop.ended), (2, 2), "{workers}");
        assert_eq!((fork.begun, fork.ended), (1023, 1023), "{workers}");
        assert_eq!(hop.turns + fork.turns, 3023, "{hop:?}, {fork:?}");
        assert!(fork.busy > 0, "{fork:?}");
    }
}

#[test]
fn few_turns_are_counted_exactly() {
    let sponsor = pool(1);
    let handle = sponsor.handle();
    let last = handle.spawn(Hop(None)).unwrap();
    let first = handle.spawn(Hop(Some(last.clone()))).unwrap();
    handle.spawn(Fork).unwrap().send(3).unwrap();
    (0..100).for_each(|_| first.send(1).unwrap());
    drop((first, last));
    sponsor.shutdown();
    let turns = |name| kind(&handle, name).unwrap().turns;
    assert_eq!((turns("Hop"), turns("Fork")), (200, 15));
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
    let hop = kind(&handle, "Hop").unwrap();
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
    let fragile = kind(&handle, "Fragile").unwrap();
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
    let (left, come) = (kind(&from, "Hop").unwrap(), kind(&to, "Hop").unwrap());
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

/// A task like [`Gate`]. Its turn ends while a sample gets the name of the task.
struct Ends(Gate);

/// The system of [`Ends`], and the permission to end the turn.
static AT_NAME: Mutex<Option<(Handle, mpsc::Sender<()>)>> = Mutex::new(None);

impl Task for Ends {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        self.0.receive((), turn)
    }

    fn name() -> &'static str {
        let ending = AT_NAME.lock().unwrap().take();
        if let Some((handle, leave)) = ending {
            leave.send(()).unwrap();
            while kind(&handle, "Ends").unwrap().busy == 0 {
                std::thread::yield_now();
            }
        }
        "Ends"
    }
}

#[test]
fn a_turn_that_ends_during_a_sample_is_not_counted_twice() {
    let world = ByHand::new();
    let sponsor = Sponsor::builder().world(world.clone()).probes(true);
    let sponsor = sponsor.start().unwrap();
    let handle = sponsor.handle();
    let ((told, began), (leave, may_end)) = (mpsc::channel(), mpsc::channel());
    let ends = handle.spawn(Ends(Gate(told, may_end))).unwrap();
    ends.send(()).unwrap();
    wait(&began);
    world.advance(Duration::from_secs(3));
    *AT_NAME.lock().unwrap() = Some((handle.clone(), leave));
    let sample = handle.sample();
    let busy: u64 = sample.kinds.iter().map(|kind| kind.busy).sum();
    let seen = busy + sample.workers[0].lasts;
    assert!(seen <= 3_000_000_000, "{seen}: {sample:?}");
    sponsor.shutdown();
    assert_eq!(kind(&handle, "Ends").unwrap().busy, 3_000_000_000);
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

/// A task that answers each question with the contents of the question.
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
    for number in 1..200 {
        assert_eq!(echo.ask(|reply| (number, reply)).wait(), Ok(number));
    }
    let kinds = sponsor.handle().sample().kinds;
    let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(kinds[0].begun, 1);
    sponsor.shutdown();
}

/// A task that forwards its number to itself until the number is 0.
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

/// A task that works for the time in its message. Counts the turns that took much longer, because
/// the machine was busy.
struct Works(Arc<AtomicU64>);

impl Task for Works {
    type Message = Duration;

    fn receive(&mut self, time: Duration, _: &Turn<'_, Duration>) -> Flow {
        let began = Instant::now();
        while began.elapsed() < time {
            std::hint::spin_loop();
        }
        if began.elapsed() >= Duration::from_millis(90) {
            self.0.fetch_add(1, Relaxed);
        }
        Flow::Continue
    }
}

/// A task that counts down by messages to itself. After that, it sends a message to another task,
/// which works.
struct Delay(Address<Duration>, u32);

impl Task for Delay {
    type Message = u32;

    fn receive(&mut self, left: u32, turn: &Turn<'_, u32>) -> Flow {
        if left > 0 {
            turn.send(&turn.address(), left - 1).unwrap();
        } else {
            // All of them wait when the activation begins.
            for _ in 0..self.1 {
                turn.send(&self.0, Duration::from_millis(5)).unwrap();
            }
        }
        Flow::Continue
    }
}

#[test]
fn a_long_activation_is_counted_wherever_it_comes() {
    // Thirty messages in one activation, at once, or after so many quick ones that few are timed.
    for before in [0, 3_000, 200_000] {
        let sponsor = pool(1);
        let handle = sponsor.handle();
        let delayed = Arc::default();
        let slow = handle.spawn(Works(Arc::clone(&delayed))).unwrap();
        let ((told, began), (leave, may_end)) = (mpsc::channel(), mpsc::channel());
        let gate = handle.spawn(Gate(told, may_end)).unwrap();
        gate.send(()).unwrap();
        wait(&began);
        let quick: Vec<_> = (0..50).map(|_| handle.spawn(Spins).unwrap()).collect();
        for quick in &quick {
            quick.send(20_000).unwrap();
        }
        handle
            .spawn(Delay(slow.clone(), 30))
            .unwrap()
            .send(before)
            .unwrap();
        leave.send(()).unwrap();
        drop((slow, gate, quick));
        sponsor.shutdown();
        let found = kind(&handle, "Works").unwrap();
        let truth = 150_000_000;
        assert!(found.busy >= truth - truth / 50, "{before}: {found:?}");
        let delayed = delayed.load(Relaxed);
        assert!(
            found.slow_turns <= delayed,
            "{before}: each turn takes 5 ms, but for {delayed}: {found:?}"
        );
        let sample = handle.sample();
        let all: u64 = sample.kinds.iter().map(|kind| kind.busy).sum();
        assert!(all <= sample.at, "{all} of {}", sample.at);
    }
}

#[test]
fn turns_are_slow_and_not_activations() {
    let world = ByHand::new();
    let sponsor = Sponsor::builder().world(world.clone()).probes(true);
    let sponsor = sponsor.start().unwrap();
    let handle = sponsor.handle();
    let (told, began) = mpsc::channel();
    let (leave, may_end) = mpsc::channel();
    let gate = handle.spawn(Gate(told, may_end)).unwrap();
    // The first turn holds the worker until all messages wait, so one activation handles them.
    (0..13).for_each(|_| gate.send(()).unwrap());
    for _ in 0..12 {
        wait(&began);
        world.advance(Duration::from_millis(30));
        leave.send(()).unwrap();
    }
    wait(&began);
    world.advance(Duration::from_millis(100));
    leave.send(()).unwrap();
    drop(gate);
    sponsor.shutdown();
    let found = kind(&handle, "Gate").unwrap();
    assert_eq!(found.turns, 13);
    assert!(found.slow_turns <= 1, "{found:?}");
}

#[test]
fn mailboxes_are_counted_exactly_and_the_longest_is_listed_first() {
    silence_panics();
    let sponsor = pool(1);
    let mut stations = Stations::new(sponsor.handle());
    let labels = ["first", "long", "?", "last"];
    let [first, long, short, last] = labels.map(|label| stations.open(label));
    let quick = sponsor.handle().spawn(Hop(None)).unwrap();
    first.send(true).unwrap();
    stations.arrive();
    // The worker is in a turn. Its next census comes after it.
    let sample = sponsor.handle().sample();
    assert!(sample.tasks.is_empty(), "{:?}", sample.tasks);
    (0..12_500).for_each(|_| long.send(false).unwrap());
    (0..5).for_each(|_| short.send(false).unwrap());
    (0..3).for_each(|_| quick.send(0).unwrap());
    last.send(true).unwrap();
    stations.leave(0);
    stations.arrive();
    let sample = sponsor.handle().sample();
    let of = |name: &str| {
        let kind = sample.kinds.iter().find(|kind| kind.name.ends_with(name));
        kind.map(|kind| (kind.in_mailboxes, kind.longest_mailbox))
    };
    assert_eq!(of("Station"), Some((12_506, 12_500)));
    assert_eq!(of("Hop"), Some((3, 3)));
    let mut listed = sample.tasks.iter().filter(|task| task.waiting > 0);
    let mut next = || listed.next().map(|task| (task.task, task.waiting));
    assert_eq!(next(), Some((long.id(), 12_500)));
    assert_eq!(next(), Some((short.id(), 5)));
    assert_eq!(next(), Some((quick.id(), 3)));
    assert_eq!(next(), None);
    let labels = |task: &TaskSample| task.label.clone();
    assert_eq!(labels(&sample.tasks[0]).as_deref(), Some("long"));
    assert_eq!(
        labels(&sample.tasks[1]),
        None,
        "a label that panics is none"
    );
    stations.leave(3);
    sponsor.shutdown();
    let kinds = stations.handle.sample().kinds;
    let is_empty = |kind: &KindSample| kind.in_mailboxes == 0 && kind.longest_mailbox == 0;
    assert!(kinds.iter().all(is_empty), "{kinds:?}");
}

#[test]
fn after_a_shutdown_no_message_waits_and_no_task_is_busy() {
    let world = ByHand::new();
    let builder = Sponsor::builder().world(world.clone()).probes(true);
    let sponsor = builder.start().unwrap();
    let handle = sponsor.handle();
    let mut stations = Stations::new(handle.clone());
    let [first, long] = ["first", "long"].map(|label| stations.open(label));
    first.send(true).unwrap();
    stations.arrive();
    handle.sample();
    world.advance(Duration::from_millis(30));
    (0..1_000).for_each(|_| long.send(true).unwrap());
    stations.leave(0);
    stations.arrive();
    let sample = handle.sample();
    assert_eq!(
        kind(&handle, "Station").map(|kind| kind.in_mailboxes),
        Some(1_000)
    );
    assert!(sample.tasks.iter().any(|task| task.busy > 0), "{sample:?}");
    sponsor.begin_shutdown_now();
    stations.leave(1);
    sponsor.shutdown_now();
    let sample = handle.sample();
    let station = kind(&handle, "Station").unwrap();
    assert_eq!((station.in_mailboxes, station.longest_mailbox), (0, 0));
    assert!(sample.tasks.is_empty(), "{:?}", sample.tasks);
    assert_eq!(sample.workers[0].ready, 0);
    // The worker uses no time any more.
    world.advance(Duration::from_millis(7));
    let parked = handle.sample().workers[0].parked - sample.workers[0].parked;
    assert_eq!(parked, 7_000_000);
}

#[test]
fn the_busiest_task_is_listed_with_its_time() {
    let world = ByHand::new();
    let builder = Sponsor::builder().world(world.clone()).probes(true);
    let sponsor = builder.start().unwrap();
    let mut stations = Stations::new(sponsor.handle());
    let [slow, last] = ["slow", "last"].map(|label| stations.open(label));
    slow.send(true).unwrap();
    stations.arrive();
    sponsor.handle().sample();
    world.advance(Duration::from_millis(30));
    last.send(true).unwrap();
    stations.leave(0);
    stations.arrive();
    let tasks = sponsor.handle().sample().tasks;
    let slow_one = tasks.iter().find(|task| task.task == slow.id()).unwrap();
    assert_eq!(slow_one.label.as_deref(), Some("slow"));
    assert_eq!((slow_one.busy, slow_one.over), (30_000_000, 30_000_000));
    stations.leave(1);
    sponsor.shutdown();
}

#[test]
fn many_ready_tasks_are_estimated_and_a_long_mailbox_among_them_is_found() {
    let sponsor = pool(1);
    let handle = sponsor.handle();
    let mut stations = Stations::new(handle.clone());
    let [first, second, third] = ["", "", ""].map(|label| stations.open(label));
    let long = handle.spawn(Hop(None)).unwrap();
    let quick: Vec<_> = (0..20_000).map(|_| handle.spawn(Spins).unwrap()).collect();
    first.send(true).unwrap();
    stations.arrive();
    handle.sample();
    (0..3_000).for_each(|_| long.send(0).unwrap());
    second.send(true).unwrap();
    third.send(true).unwrap();
    for quick in &quick {
        (0..2).for_each(|_| quick.send(0).unwrap());
    }
    stations.leave(0);
    stations.arrive();
    let waiting = kind(&handle, "Spins").unwrap().in_mailboxes;
    assert!((38_000..=42_000).contains(&waiting), "{waiting} of 40,000");
    // The long mailbox has had an activation, which did not handle all of it.
    stations.leave(1);
    stations.arrive();
    let sample = handle.sample();
    let longest = &sample.tasks[0];
    assert_eq!(longest.task, long.id());
    assert!((1..3_000).contains(&longest.waiting), "{longest:?}");
    let mut kinds = sample.kinds.iter();
    let hop = kinds.find(|kind| kind.name.ends_with("Hop")).unwrap();
    assert_eq!(hop.longest_mailbox, longest.waiting);
    stations.leave(2);
    sponsor.shutdown();
}

/// A task that checks that its messages are the numbers from 1 on. The function that returns its
/// label sends many messages.
struct Talks {
    next: u64,
    to: Address<u32>,
}

impl Task for Talks {
    type Message = [u64; 3];

    fn receive(&mut self, message: [u64; 3], _: &Turn<'_, [u64; 3]>) -> Flow {
        assert_eq!(message, [self.next, 7, !self.next]);
        self.next += 1;
        Flow::Continue
    }

    fn label(&self) -> Option<String> {
        // More than the first capacity of a run queue.
        (0..300).for_each(|_| self.to.send(0).unwrap());
        Some(self.next.to_string())
    }
}

/// A task that passes each of its messages on.
struct Passes(Address<[u64; 3]>);

impl Task for Passes {
    type Message = [u64; 3];

    fn receive(&mut self, message: [u64; 3], turn: &Turn<'_, [u64; 3]>) -> Flow {
        turn.send(&self.0, message).unwrap();
        Flow::Continue
    }
}

#[test]
fn a_label_may_send_while_the_message_of_its_task_is_in_hand() {
    let sponsor = pool(1);
    let handle = sponsor.handle();
    let hop = handle.spawn(Hop(None)).unwrap();
    let talks = handle
        .spawn(Talks {
            next: 1,
            to: hop.clone(),
        })
        .unwrap();
    let (done, is_done) = mpsc::channel();
    let watch = talks.watch(move |ended| done.send(ended).unwrap());
    // A message from the own worker is in the run queue, and not in a mailbox.
    let passes = handle.spawn(Passes(talks.clone())).unwrap();
    for number in 1..200 {
        passes.send([number, 7, !number]).unwrap();
        handle.sample();
    }
    drop((passes, talks, hop));
    assert_eq!(wait(&is_done), garrick_sched::Ended::Unreachable);
    drop(watch);
    sponsor.shutdown();
    assert!(
        kind(&handle, "Hop").unwrap().turns >= 300,
        "the label was wanted"
    );
}

/// A task that leaves its worker in each turn, and then sends to itself, so that another turn
/// follows.
struct Leaves;

impl Task for Leaves {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        turn.blocking(|| ());
        turn.send(&turn.address(), ()).unwrap();
        Flow::Continue
    }
}

#[test]
fn messages_are_still_counted_if_a_turn_leaves_the_worker() {
    const MESSAGES: u64 = 1_000;
    const ROUNDS: u64 = 50;
    let pool = pool(1);
    let handle = pool.handle();
    let (says, said) = mpsc::channel();
    let (permits, permitted) = mpsc::channel();
    let gate = handle.spawn(Gate(says, permitted)).unwrap();
    handle.spawn(Leaves).unwrap().send(()).unwrap();
    for _ in 0..MESSAGES {
        gate.send(()).unwrap();
    }
    for round in 0..ROUNDS {
        wait(&said);
        let waiting = kind(&handle, "Gate").unwrap().in_mailboxes;
        // The first samples only ask for a census.
        if round > 3 {
            let least = MESSAGES - ROUNDS - 1;
            assert!((least..MESSAGES).contains(&waiting), "{round}: {waiting}");
        }
        permits.send(()).unwrap();
    }
    drop(said);
    drop(permits);
    pool.shutdown_now();
}
