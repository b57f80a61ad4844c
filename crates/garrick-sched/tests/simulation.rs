//! Tests of simulated sponsors: orders, names, failures and ends.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use garrick_sched::{
    Address, Choice, Ended, Fate, Flow, NoReply, Pending, Reply, Sent, Simulation, Sponsor,
    StartError, Task, Turn,
};
use garrick_testkit::ByHand;

/// A simulation together with its clock.
struct Simulated {
    simulation: Simulation,
    clock: Arc<ByHand>,
}

impl Simulated {
    fn new() -> Self {
        Self {
            simulation: Simulation::new().expect("no simulation runs on this thread"),
            clock: ByHand::new(),
        }
    }

    fn open(&mut self) -> usize {
        let builder = Sponsor::builder().world(self.clock.clone());
        self.simulation.open(builder).expect("there is room")
    }

    /// Takes the first possible choice again and again, until there is none.
    fn run(&mut self) {
        self.simulation.settle();
        while !self.simulation.choices().is_empty() {
            self.simulation.step(0, Fate::Happens);
        }
    }

    fn advance(&mut self, by: u64) {
        self.clock.advance(Duration::from_nanos(by));
    }
}

type Log = Rc<RefCell<Vec<u32>>>;

/// A task that appends each message to a log.
struct Logs(Log);

impl Task for Logs {
    type Message = u32;

    fn receive(&mut self, message: u32, _: &Turn<'_, u32>) -> Flow {
        self.0.borrow_mut().push(message);
        Flow::Continue
    }
}

/// A task that sends each of its messages on to another task, twice.
struct Doubles(Address<u32>);

impl Task for Doubles {
    type Message = u32;

    fn receive(&mut self, message: u32, turn: &Turn<'_, u32>) -> Flow {
        let _ = turn.send(&self.0, message);
        let _ = turn.send(&self.0, message + 1);
        Flow::Continue
    }
}

/// Runs three senders, which send two messages each, in all possible orders. Returns the log of
/// each order.
fn orders_of(senders: u32) -> BTreeSet<Vec<u32>> {
    let mut found = BTreeSet::new();
    let mut prefixes = vec![Vec::new()];
    while let Some(prefix) = prefixes.pop() {
        let mut simulated = Simulated::new();
        let node = simulated.open();
        let log = Log::default();
        let logs = simulated.simulation.spawn(node, Logs(log.clone()));
        for sender in 0..senders {
            let doubles = simulated.simulation.spawn(node, Doubles(logs.clone()));
            doubles.send(10 * sender).unwrap();
        }
        let simulation = &mut simulated.simulation;
        simulation.settle();
        let mut taken = Vec::new();
        while !simulation.choices().is_empty() {
            let at = prefix.get(taken.len()).copied().unwrap_or(0);
            if taken.len() >= prefix.len() {
                for other in 1..simulation.choices().len() {
                    prefixes.push([&taken[..], &[other]].concat());
                }
            }
            taken.push(at);
            simulation.step(at, Fate::Happens);
        }
        found.insert(log.take());
    }
    found
}

#[test]
fn messages_of_a_pair_stay_in_order_and_all_other_orders_occur() {
    let found = orders_of(2);
    // Two sequences of two messages can be merged in six ways.
    assert_eq!(found.len(), 6, "{found:?}");
    for log in found {
        let of = |first: u32| {
            log.iter()
                .copied()
                .filter(|n| n / 10 == first)
                .collect::<Vec<_>>()
        };
        assert_eq!((of(0), of(1)), (vec![0, 1], vec![10, 11]));
    }
}

#[test]
fn many_messages_in_one_envelope_are_delivered_one_by_one() {
    struct Bursts(Address<u32>);
    impl Task for Bursts {
        type Message = ();
        fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
            for n in 0..1000 {
                turn.send(&self.0, n).unwrap();
            }
            Flow::Stop
        }
    }
    let mut simulated = Simulated::new();
    let node = simulated.open();
    let log = Log::default();
    let logs = simulated.simulation.spawn(node, Logs(log.clone()));
    simulated
        .simulation
        .spawn(node, Bursts(logs))
        .send(())
        .unwrap();
    simulated.simulation.settle();
    simulated.simulation.step(0, Fate::Happens);
    for n in 0..1000 {
        assert_eq!(log.borrow().len(), n);
        assert_eq!(simulated.simulation.choices().len(), 1);
        simulated.simulation.step(0, Fate::Happens);
    }
    assert_eq!(log.take(), (0..1000).collect::<Vec<_>>());
    assert!(simulated.simulation.choices().is_empty());
}

#[test]
fn a_turn_that_fails_has_sent_nothing() {
    let mut simulated = Simulated::new();
    let node = simulated.open();
    let log = Log::default();
    let logs = simulated.simulation.spawn(node, Logs(log.clone()));
    let doubles = simulated.simulation.spawn(node, Doubles(logs));
    let ends = Rc::new(RefCell::new(Vec::new()));
    let (told, how) = std::sync::mpsc::channel();
    doubles.watch(move |ended| told.send(ended).unwrap());
    doubles.send(1).unwrap();
    simulated.simulation.settle();
    let stepped = simulated.simulation.step(0, Fate::Fails);
    assert!(stepped.undone);
    simulated.run();
    assert!(log.borrow().is_empty(), "{log:?}");
    ends.borrow_mut().extend(how.try_iter());
    assert!(matches!(&ends.borrow()[..], [Ended::Failed(_)]), "{ends:?}");
    assert!(doubles.is_stopped());
}

#[test]
fn a_turn_without_effects_can_fail_too() {
    let mut simulated = Simulated::new();
    let node = simulated.open();
    let log = Log::default();
    let logs = simulated.simulation.spawn(node, Logs(log.clone()));
    logs.send(1).unwrap();
    simulated.simulation.settle();
    assert!(simulated.simulation.step(0, Fate::Fails).undone);
    assert!(logs.is_stopped());
    assert_eq!(log.take(), [1], "fields keep what a failed turn has done");
}

/// A task that appends each message to a log. The test decides whether its turns commit.
struct Decided {
    log: Address<u32>,
    turns: Sender<Pending>,
}

impl Task for Decided {
    type Message = u32;
    const COMMITS_LATER: bool = true;

    fn receive(&mut self, message: u32, turn: &Turn<'_, u32>) -> Flow {
        turn.send(&self.log, message).unwrap();
        let turns = self.turns.clone();
        turn.commit_later(move |pending| turns.send(pending).unwrap());
        Flow::Continue
    }
}

#[test]
fn a_task_whose_turn_waits_again_gets_no_message() {
    let mut simulated = Simulated::new();
    let node = simulated.open();
    let (log, (turns, turn)) = (Log::default(), channel());
    let to = simulated.simulation.spawn(node, Logs(log.clone()));
    let task = (simulated.simulation).spawn(node, Decided { log: to, turns });
    for message in 1..=2 {
        task.send(message).unwrap();
    }
    simulated.run();
    let (waits, waiting) = channel();
    let first = turn.try_recv().unwrap();
    first.when_due(move |due| waits.send(due.wait()).unwrap());
    simulated.run();
    assert!(turn.try_recv().is_err(), "the first turn is not decided");
    waiting.try_recv().unwrap().commit();
    simulated.run();
    assert_eq!(*log.borrow(), [1]);
    turn.try_recv().unwrap().when_due(|due| due.commit());
    simulated.run();
    assert_eq!(*log.borrow(), [1, 2]);
}

#[test]
fn a_lost_message_is_dropped() {
    let mut simulated = Simulated::new();
    let node = simulated.open();
    let log = Log::default();
    let logs = simulated.simulation.spawn(node, Logs(log.clone()));
    for n in 0..3 {
        logs.send(n).unwrap();
    }
    simulated.simulation.settle();
    simulated.simulation.step(0, Fate::Happens);
    simulated.simulation.step(0, Fate::Lost);
    simulated.run();
    assert_eq!(log.take(), [0, 2]);
    assert_eq!(simulated.simulation.handle(node).dead_letters(), 1);
}

/// A task that sends a message to a log when it starts, and creates a child.
struct Starts(Log);

impl Task for Starts {
    type Message = u32;
    const STARTS: bool = true;

    fn start(&mut self, _: &Turn<'_, u32>) -> Flow {
        self.0.borrow_mut().push(0);
        Flow::Continue
    }

    fn receive(&mut self, message: u32, _: &Turn<'_, u32>) -> Flow {
        self.0.borrow_mut().push(message);
        Flow::Continue
    }
}

#[test]
fn a_task_starts_before_it_handles_messages() {
    let mut simulated = Simulated::new();
    let node = simulated.open();
    let log = Log::default();
    let starts = simulated.simulation.spawn(node, Starts(log.clone()));
    starts.send(1).unwrap();
    simulated.simulation.settle();
    assert!(matches!(
        simulated.simulation.choices(),
        [Choice::Start { .. }]
    ));
    simulated.simulation.step(0, Fate::Happens);
    assert_eq!(*log.borrow(), [0]);
    assert!(matches!(
        simulated.simulation.choices(),
        [Choice::Deliver { .. }]
    ));
    simulated.run();
    assert_eq!(log.take(), [0, 1]);
}

#[test]
fn a_start_can_fail() {
    let mut simulated = Simulated::new();
    let node = simulated.open();
    let starts = simulated.simulation.spawn(node, Starts(Log::default()));
    starts.send(1).unwrap();
    simulated.simulation.settle();
    assert!(simulated.simulation.step(0, Fate::Fails).undone);
    assert!(simulated.simulation.choices().is_empty());
    assert_eq!(simulated.simulation.handle(node).dead_letters(), 1);
}

/// A task that logs its number. If the number is less than 3, the task sends the next number to
/// itself by a timer.
struct Alarm {
    log: Log,
}

impl Task for Alarm {
    type Message = u32;

    fn receive(&mut self, message: u32, turn: &Turn<'_, u32>) -> Flow {
        self.log.borrow_mut().push(message);
        if message < 3 {
            let me = turn.address();
            turn.send_after(Duration::from_nanos(1000), &me, message + 1)
                .unwrap();
        }
        Flow::Continue
    }
}

#[test]
fn a_timer_fires_at_its_deadline() {
    let mut simulated = Simulated::new();
    let node = simulated.open();
    let log = Log::default();
    let alarm = simulated.simulation.spawn(node, Alarm { log: log.clone() });
    alarm.send(0).unwrap();
    simulated.run();
    for n in 1..=3 {
        let due = simulated.simulation.next_deadline(node);
        assert_eq!(due, Some(1000 * n));
        simulated.advance(999);
        assert!(!simulated.simulation.fire(node));
        simulated.advance(1);
        assert!(simulated.simulation.fire(node));
        simulated.run();
    }
    assert_eq!(log.take(), [0, 1, 2, 3]);
    assert!(!simulated.simulation.has_timers(node));
}

#[test]
fn a_crash_takes_tasks_and_messages_with_it() {
    let mut simulated = Simulated::new();
    let (one, other) = (simulated.open(), simulated.open());
    let log = Log::default();
    let there = simulated.simulation.spawn(other, Logs(log.clone()));
    let doubles = simulated.simulation.spawn(one, Doubles(there.clone()));
    doubles.send(5).unwrap();
    there.send(1).unwrap();
    simulated.simulation.settle();
    let at = simulated.simulation.choices().iter().position(|choice| {
        matches!(choice, Choice::Deliver { .. })
            && simulated
                .simulation
                .circumstances(0)
                .is_some_and(|circumstances| circumstances.to == one)
    });
    assert!(at.is_some());
    simulated.simulation.step(0, Fate::Happens);
    simulated.simulation.crash(one, Sent::Vanishes);
    assert!(!simulated.simulation.is_open(one));
    assert!(doubles.is_stopped());
    simulated.run();
    assert_eq!(log.take(), [1], "what the crashed node has sent is gone");
}

/// Takes the first choice that delivers a message to the node `to`, with the given fate. Returns
/// false if there is no such choice.
fn deliver(simulation: &mut Simulation, to: usize, fate: Fate) -> bool {
    let is_there = |at: &usize| {
        let about = simulation.circumstances(*at);
        about.is_some_and(|about| about.to == to && about.is_message)
    };
    let found = (0..simulation.choices().len()).find(is_there);
    found.map(|at| simulation.step(at, fate)).is_some()
}

#[test]
fn what_a_crashed_node_has_sent_may_arrive_or_be_lost_from_some_message_on() {
    for arrive in 0..=4 {
        let mut simulated = Simulated::new();
        let (one, other) = (simulated.open(), simulated.open());
        let log = Log::default();
        let there = simulated.simulation.spawn(other, Logs(log.clone()));
        let doubles = simulated.simulation.spawn(one, Doubles(there));
        doubles.send(0).unwrap();
        doubles.send(2).unwrap();
        let simulation = &mut simulated.simulation;
        simulation.settle();
        while deliver(simulation, one, Fate::Happens) {}
        simulation.crash(one, Sent::Stays);
        let orphan = simulation.circumstances(0).unwrap();
        assert!(orphan.is_orphan && orphan.from == Some(one) && orphan.to == other);
        assert_eq!(simulation.nodes_of(0), Some((one, other)));
        for _ in 0..arrive {
            assert!(deliver(simulation, other, Fate::Happens));
        }
        assert_eq!(deliver(simulation, other, Fate::Lost), arrive < 4);
        assert!(simulation.choices().is_empty(), "the rest is lost as well");
        assert!(log.take().into_iter().eq(0..arrive));
    }
}

#[test]
fn a_copy_comes_after_its_original_and_is_not_copied() {
    let mut simulated = Simulated::new();
    let node = simulated.open();
    let log = Log::default();
    let logs = simulated.simulation.spawn(node, Logs(log.clone()));
    logs.send(1).unwrap();
    logs.send(2).unwrap();
    let simulation = &mut simulated.simulation;
    simulation.settle();
    assert!(!simulation.circumstances(0).unwrap().can_double);
    simulation.step(0, Fate::Doubled);
    assert_eq!(simulation.choices().len(), 1, "the type was not named yet");
    simulation.copy::<u32>();
    simulation.step(0, Fate::Doubled);
    let Choice::Deliver { from, .. } = simulation.choices()[0] else {
        panic!("the copy is in the air: {simulation:?}");
    };
    assert_eq!(from, garrick_sched::TaskName::OUTSIDE.of_copies());
    assert!(!simulation.circumstances(0).unwrap().can_double);
    simulation.step(0, Fate::Doubled);
    assert!(simulation.choices().is_empty());
    assert_eq!(log.take(), [1, 2, 2]);
}

#[test]
fn messages_with_destructors_and_clones_that_panic_are_copied_safely() {
    /// A message that counts how many values of its type exist. Cloning it panics if its number is
    /// odd.
    struct Counted(Arc<()>, u32, [u64; 40]);
    impl Clone for Counted {
        fn clone(&self) -> Self {
            assert!(self.1.is_multiple_of(2), "an odd number");
            Self(self.0.clone(), self.1, self.2)
        }
    }
    struct Counts(Log);
    impl Task for Counts {
        type Message = Counted;
        fn receive(&mut self, message: Counted, _: &Turn<'_, Counted>) -> Flow {
            self.0.borrow_mut().push(message.1);
            if message.1 == 4 {
                return Flow::Stop;
            }
            Flow::Continue
        }
    }
    let mut simulated = Simulated::new();
    simulated.simulation.copy::<Counted>();
    let node = simulated.open();
    let (log, values) = (Log::default(), Arc::new(()));
    let counts = simulated.simulation.spawn(node, Counts(log.clone()));
    for number in [1, 2, 3, 4] {
        counts
            .send(Counted(values.clone(), number, [0; 40]))
            .unwrap_or_else(|_| panic!("sent"));
    }
    let simulation = &mut simulated.simulation;
    simulation.settle();
    while !simulation.choices().is_empty() {
        simulation.step(0, Fate::Doubled);
    }
    // The task ends at the last original, and its copy is dropped.
    assert_eq!(log.take(), [1, 2, 3, 4]);
    drop(counts);
    drop(simulated);
    assert_eq!(Arc::strong_count(&values), 1);
}

#[test]
fn names_do_not_depend_on_the_order() {
    /// A task that creates another task, which appends messages to a log.
    struct Parent(Address<u32>, u32);
    impl Task for Parent {
        type Message = ();
        fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
            struct Child(Address<u32>);
            impl Task for Child {
                type Message = u32;
                fn receive(&mut self, n: u32, turn: &Turn<'_, u32>) -> Flow {
                    let _ = turn.send(&self.0, n);
                    Flow::Continue
                }
            }
            let child = turn.spawn(Child(self.0.clone()));
            turn.send(&child, self.1).unwrap();
            Flow::Continue
        }
    }
    let names_of = |reversed: bool| {
        let mut simulated = Simulated::new();
        let node = simulated.open();
        let logs = simulated.simulation.spawn(node, Logs(Log::default()));
        let parents = [1, 2].map(|n| simulated.simulation.spawn(node, Parent(logs.clone(), n)));
        for parent in &parents {
            parent.send(()).unwrap();
        }
        let simulation = &mut simulated.simulation;
        simulation.settle();
        simulation.step(usize::from(reversed), Fate::Happens);
        simulation.step(0, Fate::Happens);
        let mut births: Vec<_> = simulation.births().drain(..).collect();
        assert_eq!(births.len(), 5);
        births.sort_by_key(|birth| birth.task);
        births
            .into_iter()
            .map(|birth| (birth.task, birth.parent))
            .collect::<Vec<_>>()
    };
    assert_eq!(names_of(false), names_of(true));
}

#[test]
fn a_task_moves_between_nodes() {
    struct Moves;
    impl Task for Moves {
        type Message = (Address<u32>, u32);
        fn receive(
            &mut self,
            (to, n): (Address<u32>, u32),
            turn: &Turn<'_, (Address<u32>, u32)>,
        ) -> Flow {
            let _ = turn.send(&to, n + u32::from(turn.sponsor().name() == "there"));
            Flow::Continue
        }
    }
    /// A task that moves a task to another sponsor.
    struct Mover(
        garrick_sched::Handle,
        Address<(Address<u32>, u32)>,
        Address<u32>,
    );
    impl Task for Mover {
        type Message = ();
        fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
            turn.send_on(&self.0, &self.1, (self.2.clone(), 10))
                .unwrap();
            Flow::Continue
        }
    }
    let mut simulated = Simulated::new();
    let here = simulated.open();
    let builder = Sponsor::builder()
        .name("there")
        .world(simulated.clock.clone());
    let there = simulated.simulation.open(builder).unwrap();
    let log = Log::default();
    let logs = simulated.simulation.spawn(here, Logs(log.clone()));
    let moves = simulated.simulation.handle(here).spawn(Moves).unwrap();
    let to = simulated.simulation.handle(there);
    let mover = simulated
        .simulation
        .spawn(here, Mover(to, moves.clone(), logs.clone()));
    moves.send((logs.clone(), 0)).unwrap();
    simulated.run();
    mover.send(()).unwrap();
    simulated.run();
    moves.send((logs, 20)).unwrap();
    simulated.run();
    assert_eq!(log.take(), [0, 11, 21]);
}

#[test]
fn what_cannot_be_simulated_is_an_error() {
    struct Answers;
    impl Task for Answers {
        type Message = Reply<u32>;
        fn receive(&mut self, reply: Reply<u32>, _: &Turn<'_, Reply<u32>>) -> Flow {
            reply.send(1);
            Flow::Continue
        }
    }
    let mut simulated = Simulated::new();
    let node = simulated.open();
    assert!(Simulation::new().is_none());
    assert!(matches!(Sponsor::pool(1), Err(StartError::InSimulation)));
    let answers = simulated.simulation.spawn(node, Answers);
    assert_eq!(answers.ask(|reply| reply).wait(), Err(NoReply::OnWorker));
    let ask = answers.ask(|reply| reply);
    simulated.run();
    assert_eq!(ask.wait_timeout(Duration::ZERO), Ok(1));
    drop(simulated);
    drop(Sponsor::pool(1).expect("the simulation is over"));
}
