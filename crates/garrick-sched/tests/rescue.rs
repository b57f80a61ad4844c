//! Tests that a long turn does not delay the other tasks of its worker. Workers lend their cells
//! only on Linux, where the fence before each check is cheap.
#![cfg(all(target_os = "linux", not(garrick_portable)))]

use std::collections::HashMap;
use std::hint;
use std::sync::mpsc::{Receiver, RecvError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use garrick_sched::{Address, Ended, Flow, Sponsor, Task, Turn};
use garrick_testkit::HANGS_AFTER;

/// A task that waits in its turn until it is released. It sends a number to some tasks before it
/// waits, and the next number after that.
struct Stuck(Vec<Address<u32>>);

impl Task for Stuck {
    type Message = (Sender<()>, Receiver<()>);

    fn receive(&mut self, (began, go): Self::Message, turn: &Turn<'_, Self::Message>) -> Flow {
        let says = |number| {
            for task in &self.0 {
                let _ = turn.send(task, number);
            }
        };
        says(FIRST);
        began.send(()).unwrap();
        go.recv_timeout(HANGS_AFTER)
            .expect("the others are handled meanwhile");
        says(FIRST + 1);
        self.0.clear();
        Flow::Continue
    }
}

/// The first number that a stuck task sends.
const FIRST: u32 = 1 << 30;
/// The number that stops the task.
const STOP: u32 = FIRST - 1;
/// The number that makes the turn fail.
const FAIL: u32 = FIRST - 2;
/// The number that stands for a nudge (a turn without a message) in a report.
const NUDGED: u32 = FIRST - 3;

/// A task that reports its number, and the messages that it receives.
struct Says(u32, Sender<(u32, u32)>);

impl Task for Says {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        self.1.send((self.0, number)).unwrap();
        match number {
            STOP => Flow::Stop,
            FAIL => panic!("fails as it was told"),
            _ => {
                // A task made in a visited turn begins, and receives messages.
                turn.send(&turn.spawn(Echo(self.1.clone())), number)
                    .unwrap();
                Flow::Continue
            }
        }
    }

    fn nudged(&mut self, _: &Turn<'_, u32>) -> Flow {
        self.1.send((self.0, NUDGED)).unwrap();
        Flow::Continue
    }
}

/// A task that reports like [`Says`], and panics if `Turn::has_more` reports that a message
/// follows.
struct Last(Says);

impl Task for Last {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        assert!(!turn.has_more(), "a nudge or nothing follows");
        self.0.receive(number, turn)
    }

    fn nudged(&mut self, turn: &Turn<'_, u32>) -> Flow {
        self.0.nudged(turn)
    }
}

/// A task that nudges other tasks (requests a turn without a message), and then sends a number to
/// each of them.
struct Nudges(Vec<Address<u32>>);

impl Task for Nudges {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        for task in &self.0 {
            turn.nudge(task);
            turn.send(task, number).unwrap();
        }
        Flow::Continue
    }
}

/// A task that reports only the messages that it receives, without a number of the task.
struct Echo(Sender<(u32, u32)>);

impl Task for Echo {
    type Message = u32;

    fn receive(&mut self, number: u32, _: &Turn<'_, u32>) -> Flow {
        self.0.send((u32::MAX, number)).unwrap();
        Flow::Continue
    }
}

/// A sponsor with tasks on all workers, one of which is stuck.
struct Scene {
    sponsor: Sponsor,
    tasks: Vec<Address<u32>>,
    said: Receiver<(u32, u32)>,
    go: Sender<()>,
}

impl Scene {
    /// Makes the tasks of the test. The stuck task has sent to the first `wait` tasks, so these
    /// tasks wait for the end of its turn.
    fn new(workers: usize, tasks: u32, wait: usize) -> Self {
        let sponsor = Sponsor::pool(workers).unwrap();
        let handle = sponsor.handle();
        let (says, said) = channel();
        let spawn = |number| handle.spawn(Says(number, says.clone())).unwrap();
        let tasks: Vec<_> = (0..tasks).map(spawn).collect();
        for task in &tasks {
            task.send(0).unwrap();
        }
        // A task that has not run yet is not visited.
        for _ in 0..2 * tasks.len() {
            said.recv_timeout(HANGS_AFTER).unwrap();
        }
        let go = stick(&sponsor, tasks[..wait].to_vec());
        Self {
            sponsor,
            tasks,
            said,
            go,
        }
    }

    /// Returns the next report of a task that has a number.
    fn next(&self) -> (u32, u32) {
        loop {
            let said = self
                .said
                .recv_timeout(HANGS_AFTER)
                .expect("somebody speaks");
            if said.0 != u32::MAX {
                return said;
            }
        }
    }
}

/// Makes a task that sends to the given tasks, and then is stuck in its turn until the returned
/// sender is used.
fn stick(sponsor: &Sponsor, tasks: Vec<Address<u32>>) -> Sender<()> {
    let stuck = sponsor.handle().spawn(Stuck(tasks)).unwrap();
    let ((began, has_begun), (go, goes)) = (channel(), channel());
    stuck.send((began, goes)).unwrap();
    has_begun.recv_timeout(HANGS_AFTER).unwrap();
    go
}

#[test]
fn tasks_of_a_worker_that_is_stuck_are_served_by_others() {
    for workers in [2, 4] {
        let scene = Scene::new(workers, 100, 0);
        for round in 0..10 {
            for task in &scene.tasks {
                task.send(round).unwrap();
            }
            for _ in &scene.tasks {
                assert_eq!(scene.next().1, round);
            }
        }
        scene.go.send(()).unwrap();
        scene.sponsor.shutdown();
    }
}

#[test]
fn what_each_sender_sends_comes_in_order_whoever_serves() {
    const EACH: u32 = 500;
    let scene = Scene::new(2, 8, 4);
    let senders: Vec<_> = (0..3)
        .map(|sender| {
            let tasks = scene.tasks.clone();
            thread::spawn(move || {
                for number in 0..EACH {
                    for task in &tasks {
                        task.send(sender * EACH + number).unwrap();
                    }
                }
            })
        })
        .collect();
    let mut last = HashMap::new();
    let mut hear = |(task, number): (u32, u32)| {
        let before = last.insert((task, number / EACH), number);
        assert!(
            before.is_none_or(|before| before < number),
            "{number} to {task}"
        );
    };
    for heard in 0..8 * 3 * EACH + 2 * 4 {
        if heard == 2 * EACH {
            // The owner comes back in the middle of it.
            scene.go.send(()).unwrap();
        }
        hear(scene.next());
    }
    senders
        .into_iter()
        .for_each(|sender| sender.join().unwrap());
    scene.sponsor.shutdown();
}

#[test]
fn tasks_that_are_watched_or_nudged_are_served_while_their_worker_is_stuck() {
    const TASKS: u32 = 20;
    let scene = Scene::new(2, TASKS, 0);
    let (end, ended) = channel();
    for task in &scene.tasks {
        let end = end.clone();
        drop(task.watch(move |how| drop(end.send(how))));
        task.send(1).unwrap();
    }
    for _ in 0..TASKS {
        assert_eq!(scene.next().1, 1);
    }
    let nudges = Nudges(scene.tasks.clone());
    let nudges = scene.sponsor.handle().spawn(nudges).unwrap();
    nudges.send(2).unwrap();
    let mut heard = HashMap::new();
    for _ in 0..2 * TASKS {
        let (number, what) = scene.next();
        heard.entry(number).or_insert_with(Vec::new).push(what);
    }
    assert_eq!(heard.len(), TASKS as usize);
    assert!(heard.values().all(|heard| *heard == [NUDGED, 2]));
    for task in &scene.tasks {
        task.send(STOP).unwrap();
    }
    scene.go.send(()).unwrap();
    for _ in 0..TASKS {
        assert_eq!(ended.recv_timeout(HANGS_AFTER), Ok(Ended::Stopped));
    }
    drop(end);
    scene.sponsor.shutdown();
    assert_eq!(ended.recv(), Err(RecvError), "each watcher is told once");
}

#[test]
fn tasks_that_stop_or_fail_while_their_worker_is_stuck_end_once_it_is_not() {
    let scene = Scene::new(2, 20, 0);
    let (end, ended) = channel();
    for (number, task) in scene.tasks.iter().enumerate() {
        let end = end.clone();
        drop(task.watch(move |how| drop(end.send((number, how)))));
    }
    let handle = scene.sponsor.handle();
    let mut refused = 0;
    for (number, task) in scene.tasks.iter().enumerate() {
        task.send(if number % 2 == 0 { STOP } else { FAIL })
            .unwrap();
        // A task whose worker is not stuck may have ended.
        refused += u64::from(task.send(1).is_err());
    }
    for _ in 0..20 {
        assert!(scene.next().1 >= FAIL);
    }
    scene.go.send(()).unwrap();
    for _ in 0..20 {
        let (number, how) = ended.recv_timeout(HANGS_AFTER).unwrap();
        match how {
            Ended::Stopped => assert_eq!(number % 2, 0),
            Ended::Failed(_) => assert_eq!(number % 2, 1),
            other => panic!("{number} has ended otherwise: {other:?}"),
        }
    }
    assert_eq!(handle.failures(), 10);
    scene.sponsor.shutdown();
    assert!(scene.tasks.iter().all(Address::is_stopped));
    assert_eq!(
        handle.dead_letters() + refused,
        20,
        "the numbers behind the last ones"
    );
}

#[test]
fn a_sponsor_ends_while_a_worker_is_stuck_and_visited() {
    for now in [false, true] {
        let Scene {
            sponsor,
            tasks,
            said,
            go,
        } = Scene::new(2, 50, 0);
        let talks = thread::spawn(move || {
            for number in 0..200 {
                for task in &tasks {
                    let _ = task.send(number);
                }
                if number == 100 {
                    go.send(()).unwrap();
                }
            }
        });
        let heard = (0..50)
            .filter(|_| said.recv_timeout(HANGS_AFTER).is_ok())
            .count();
        assert_eq!(heard, 50);
        if now {
            sponsor.shutdown_now();
        } else {
            talks.join().unwrap();
            sponsor.shutdown();
            continue;
        }
        talks.join().unwrap();
    }
}

/// A task that waits in its turn until it is released.
struct Waits(Sender<()>, Receiver<()>);

impl Task for Waits {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        self.0.send(()).unwrap();
        self.1
            .recv_timeout(HANGS_AFTER)
            .expect("it is told to go on");
        Flow::Continue
    }
}

/// A task that makes other tasks on its own worker, and makes each of them handle a number. Then it
/// sends messages to all of them after a message to a task that waits in its turn.
struct Crowd {
    says: Sender<(u32, u32)>,
    size: u32,
    tasks: Vec<Address<u32>>,
}

/// Makes the task report that it runs on its own worker.
enum ToCrowd {
    Gather,
    /// Makes the task send this number of messages to each of its tasks, each followed by a nudge,
    /// after a message to the task that waits.
    Wait(Address<()>, u32),
    /// Makes the task continue when the other worker is busy.
    When(Receiver<()>),
}

impl Task for Crowd {
    type Message = ToCrowd;

    fn receive(&mut self, message: ToCrowd, turn: &Turn<'_, ToCrowd>) -> Flow {
        match message {
            ToCrowd::Gather => {
                for number in 0..self.size {
                    let task = turn.spawn(Last(Says(number, self.says.clone())));
                    turn.send(&task, 0).unwrap();
                    self.tasks.push(task);
                }
            }
            ToCrowd::Wait(waits, each) => {
                turn.send(&waits, ()).unwrap();
                for number in 1..=each {
                    for task in &self.tasks {
                        turn.send(task, number).unwrap();
                        turn.nudge(task);
                    }
                }
            }
            ToCrowd::When(busy) => busy
                .recv_timeout(HANGS_AFTER)
                .expect("the other one is busy"),
        }
        Flow::Continue
    }
}

/// Sends `each` messages and as many nudges to each of some tasks. All these tasks are ready on a
/// worker when an endless turn begins there. The other worker is busy at first, but not later.
/// Returns the reports of the tasks, in order.
fn served_behind(size: u32, each: u32) -> Vec<(u32, u32)> {
    let sponsor = Sponsor::pool(2).unwrap();
    let handle = sponsor.handle();
    let ((says, said), (began, has_begun)) = (channel(), channel());
    let next = || loop {
        let (number, message) = said.recv_timeout(HANGS_AFTER).expect("they are served");
        if number != u32::MAX {
            return (number, message);
        }
    };
    let crowd = Crowd {
        says,
        size,
        tasks: Vec::new(),
    };
    let crowd = handle.spawn(crowd).unwrap();
    crowd.send(ToCrowd::Gather).ok().unwrap();
    for _ in 0..size {
        assert_eq!(next().1, 0);
    }
    // While the crowd's worker waits, the busy task comes to the other worker.
    let (is_busy, busy) = channel();
    crowd.send(ToCrowd::When(busy)).ok().unwrap();
    let (lets_go, goes) = channel();
    let other = handle.spawn(Waits(began.clone(), goes)).unwrap();
    other.send(()).unwrap();
    has_begun.recv_timeout(HANGS_AFTER).unwrap();
    let (ends, end) = channel();
    let waits = handle.spawn(Waits(began, end)).unwrap();
    crowd.send(ToCrowd::Wait(waits, each)).ok().unwrap();
    is_busy.send(()).unwrap();
    has_begun.recv_timeout(HANGS_AFTER).unwrap();
    lets_go.send(()).unwrap();
    let served = (0..2 * size * each).map(|_| next()).collect();
    ends.send(()).unwrap();
    sponsor.shutdown();
    served
}

#[test]
fn tasks_that_were_ready_when_the_turn_began_are_served() {
    for (size, each) in [(1, 1), (1, 300), (40, 1), (100, 3), (1_000, 2)] {
        let served = served_behind(size, each);
        let mut heard = HashMap::new();
        for (number, what) in served {
            heard.entry(number).or_insert_with(Vec::new).push(what);
        }
        let sent: Vec<_> = (1..=each).flat_map(|number| [number, NUDGED]).collect();
        assert_eq!(heard.len(), size as usize);
        assert!(heard.values().all(|heard| *heard == sent), "in order");
    }
}

/// A task that reports its messages, and waits in the turn of each odd message until it is
/// released.
struct Holds(Sender<u32>, Receiver<()>);

impl Task for Holds {
    type Message = u32;

    fn receive(&mut self, number: u32, _: &Turn<'_, u32>) -> Flow {
        self.0.send(number).unwrap();
        if number % 2 == 1 {
            self.1
                .recv_timeout(HANGS_AFTER)
                .expect("it is told to go on");
        }
        Flow::Continue
    }
}

/// Returns messages for a task that another worker runs during a long turn. The first message makes
/// the task wait. There are more messages than the other worker handles at a time.
fn long_visit() -> impl Iterator<Item = u32> {
    [1].into_iter().chain((1..=200).map(|number| 2 * number))
}

/// A task that makes three tasks on its own worker. It sends 3 and 5 to the last two tasks, whose
/// turns then are long. If `sends` is true, it sends the messages of [`long_visit`] to the first
/// task before that. It reports the address of the first task.
struct MakesThree {
    tasks: Option<[Holds; 3]>,
    sends: bool,
    made: Sender<Address<u32>>,
}

impl Task for MakesThree {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        let [visited, long, longer] = self.tasks.take().unwrap().map(|task| turn.spawn(task));
        if self.sends {
            for number in long_visit() {
                turn.send(&visited, number).unwrap();
            }
        }
        turn.send(&long, 3).unwrap();
        turn.send(&longer, 5).unwrap();
        self.made.send(visited).unwrap();
        Flow::Stop
    }
}

#[test]
fn a_visit_that_outlasts_the_long_turn_goes_on_behind_the_next_long_turn() {
    for sends in [true, false] {
        let sponsor = Sponsor::pool(2).unwrap();
        let handle = sponsor.handle();
        let (says, said) = channel();
        let next = || said.recv_timeout(HANGS_AFTER);
        let holds = || {
            let (ends, end) = channel();
            (Holds(says.clone(), end), ends)
        };
        // One worker is busy until the other one is in the first of two long turns.
        let (other, other_ends) = holds();
        let other = handle.spawn(other).unwrap();
        other.send(7).unwrap();
        assert_eq!(next(), Ok(7));
        let ((visited, ends), (long, long_ends), (longer, longer_ends)) =
            (holds(), holds(), holds());
        let (made, is_made) = channel();
        let maker = MakesThree {
            tasks: Some([visited, long, longer]),
            sends,
            made,
        };
        handle.spawn(maker).unwrap().send(()).unwrap();
        let visited = is_made.recv_timeout(HANGS_AFTER).unwrap();
        let mut long = [(3, long_ends), (5, longer_ends)];
        if next() == Ok(5) {
            long.reverse();
        }
        if !sends {
            for number in long_visit() {
                visited.send(number).unwrap();
            }
        }
        other_ends.send(()).unwrap();
        assert_eq!(next(), Ok(1));
        // The visit of message 1 continues while the owner comes to its next long turn.
        long[0].1.send(()).unwrap();
        assert_eq!(next(), Ok(long[1].0));
        ends.send(()).unwrap();
        for number in long_visit().skip(1) {
            assert_eq!(next(), Ok(number), "a visitor continues");
        }
        long[1].1.send(()).unwrap();
        sponsor.shutdown();
    }
}

/// A task that fails at each message. It reports the beginning of its recovery, and then waits
/// until it is released.
struct Recovers(Sender<u32>, Receiver<()>);

impl Task for Recovers {
    type Message = u32;
    const RECOVERS: bool = true;

    fn receive(&mut self, _: u32, _: &Turn<'_, u32>) -> Flow {
        panic!("fails at each message")
    }

    fn recover(&mut self, _: &str, _: &Turn<'_, u32>) -> Flow {
        self.0.send(FAIL).unwrap();
        (self.1.recv_timeout(HANGS_AFTER)).expect("others are served while it recovers");
        Flow::Continue
    }
}

/// A task that sends 2 to another task, then reports its own message, and waits until it is
/// released.
struct SendsAndHolds(Address<u32>, Holds);

impl Task for SendsAndHolds {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        turn.send(&self.0, 2).unwrap();
        self.1.receive(number, turn)
    }
}

/// A task that makes four tasks on its own worker. The last of them sends to the third one in a
/// long turn. Reports the addresses of the first two tasks.
struct MakesFour {
    tasks: Option<(Recovers, [Holds; 3])>,
    made: Sender<(Address<u32>, Address<u32>)>,
}

impl Task for MakesFour {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        let (recovers, [idle, ready, long]) = self.tasks.take().unwrap();
        let ready = turn.spawn(ready);
        let long = turn.spawn(SendsAndHolds(ready, long));
        turn.send(&long, 3).unwrap();
        let made = (turn.spawn(recovers), turn.spawn(idle));
        self.made.send(made).unwrap();
        Flow::Stop
    }
}

#[test]
fn a_cell_that_is_about_to_run_is_kept_while_a_visited_task_recovers() {
    let sponsor = Sponsor::pool(2).unwrap();
    let handle = sponsor.handle();
    let (says, said) = channel();
    let next = || said.recv_timeout(HANGS_AFTER);
    let holds = || {
        let (ends, end) = channel();
        (Holds(says.clone(), end), ends)
    };
    // One worker is busy until the other one is in a long turn.
    let (other, other_ends) = holds();
    let other = handle.spawn(other).unwrap();
    other.send(7).unwrap();
    assert_eq!(next(), Ok(7));
    let ((idle, _), (ready, _), (long, long_ends)) = (holds(), holds(), holds());
    let (recovery_ends, recovery_end) = channel();
    let (made, is_made) = channel();
    let maker = MakesFour {
        tasks: Some((Recovers(says.clone(), recovery_end), [idle, ready, long])),
        made,
    };
    handle.spawn(maker).unwrap().send(()).unwrap();
    let (recovers, idle) = is_made.recv_timeout(HANGS_AFTER).unwrap();
    assert_eq!(next(), Ok(3));
    // The only visitor has finished with the first task when it serves the second one.
    recovers.send(1).unwrap();
    idle.send(4).unwrap();
    other_ends.send(()).unwrap();
    assert_eq!(next(), Ok(4));
    // The owner is about to run the ready task, and has the visited task recover before.
    long_ends.send(()).unwrap();
    assert_eq!(next(), Ok(FAIL));
    idle.send(6).unwrap();
    assert_eq!(next(), Ok(6), "cells are lent during the recovery");
    // The end of the recovered task is committed before the ready task runs.
    drop(recovers);
    recovery_ends.send(()).unwrap();
    assert_eq!(next(), Ok(2), "the ready task runs");
    sponsor.shutdown();
}

/// A task that makes another task, which reports its messages, and sets timers for that task. Then
/// it makes the next turn of its worker wait.
struct SetsTimers {
    says: Option<Sender<(u32, u32)>>,
    waits: Option<Waits>,
    /// Delays of the timers in milliseconds, one after the other.
    after: Vec<u64>,
}

impl Task for SetsTimers {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        let says = turn.spawn(Echo(self.says.take().unwrap()));
        for (number, &after) in (1..).zip(&self.after) {
            let after = Duration::from_millis(after);
            turn.send_after(after, &says, number).unwrap();
        }
        let waits = turn.spawn(self.waits.take().unwrap());
        turn.send(&waits, ()).unwrap();
        Flow::Continue
    }
}

#[test]
fn timers_of_a_worker_that_is_stuck_are_delivered() {
    for after in [vec![0], vec![30], vec![1, 2, 40, 200], vec![5; 300]] {
        let sponsor = Sponsor::pool(2).unwrap();
        let ((says, said), (began, has_begun), (ends, end)) = (channel(), channel(), channel());
        let count = after.len() as u32;
        let sets = SetsTimers {
            says: Some(says),
            waits: Some(Waits(began, end)),
            after,
        };
        sponsor.handle().spawn(sets).unwrap().send(()).unwrap();
        has_begun.recv_timeout(HANGS_AFTER).unwrap();
        let heard = (0..count).map(|_| {
            said.recv_timeout(HANGS_AFTER)
                .expect("they are delivered")
                .1
        });
        let heard: Vec<_> = heard.collect();
        assert_eq!(heard, (1..=count).collect::<Vec<_>>(), "they come in order");
        ends.send(()).unwrap();
        sponsor.shutdown();
    }
}

/// Occupies the thread for the given time.
fn spin(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        hint::spin_loop();
    }
}

/// A task that waits for permission in its first turn and then sets a timer. In its second turn, it
/// waits again.
struct SetsLate {
    echo: Address<u32>,
    after: Duration,
    word: Receiver<()>,
    began: Sender<()>,
}

impl Task for SetsLate {
    type Message = bool;

    fn receive(&mut self, is_first: bool, turn: &Turn<'_, bool>) -> Flow {
        if !is_first {
            self.began.send(()).unwrap();
        }
        self.word
            .recv_timeout(HANGS_AFTER)
            .expect("the others are served");
        if is_first {
            turn.send_after(self.after, &self.echo, 2).unwrap();
        }
        Flow::Continue
    }
}

#[test]
fn a_timer_that_is_set_while_others_help_out_is_delivered() {
    is_delivered(Duration::ZERO, Duration::from_millis(1));
    // When the timer is set, no hand looks for stuck seats any more, and the wheel must be looked
    // at before the deadline.
    is_delivered(Duration::from_millis(40), Duration::from_millis(150));
}

/// Sets a timer in a turn that has lasted for the time `lasts`. A long turn follows.
fn is_delivered(lasts: Duration, after: Duration) {
    let sponsor = Sponsor::pool(2).unwrap();
    let handle = sponsor.handle();
    let ((says, said), (words, word), (began, has_begun)) = (channel(), channel(), channel());
    // Tasks on both workers, so that one of those workers is the stuck one.
    let echoes: Vec<_> = (0..2)
        .map(|_| handle.spawn(Echo(says.clone())).unwrap())
        .collect();
    let echo = handle.spawn(Echo(says)).unwrap();
    let sets = SetsLate {
        echo,
        after,
        word,
        began,
    };
    let sets = handle.spawn(sets).unwrap();
    // Both in one activation, if the second comes before the first is over.
    sets.send(true).unwrap();
    sets.send(false).unwrap();
    for echo in &echoes {
        echo.send(1).unwrap();
        assert_eq!(said.recv_timeout(HANGS_AFTER), Ok((u32::MAX, 1)));
    }
    spin(lasts);
    words.send(()).unwrap();
    has_begun.recv_timeout(HANGS_AFTER).unwrap();
    assert_eq!(
        said.recv_timeout(HANGS_AFTER),
        Ok((u32::MAX, 2)),
        "while the second turn waits"
    );
    words.send(()).unwrap();
    sponsor.shutdown();
}

/// Way in which a task of [`Heir`] ends.
#[derive(Clone, Copy)]
enum End {
    /// The last address of the task is dropped.
    Unreachable,
    /// A turn of the task stops the task.
    Stops,
    /// A turn of the task panics.
    Fails,
}

/// A task that tells the destructor of an [`Heir`] that its message has come.
struct Tells(Sender<()>);

impl Task for Tells {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        self.0.send(()).unwrap();
        Flow::Continue
    }
}

/// Task whose destructor waits until a task of the same worker has handled a message.
struct Heir {
    end: End,
    tells: Address<()>,
    told: Receiver<()>,
    heard: Sender<bool>,
}

impl Task for Heir {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        turn.send(&self.tells, ()).unwrap();
        match self.end {
            End::Unreachable => Flow::Continue,
            End::Stops => Flow::Stop,
            End::Fails => panic!("fails as it was told"),
        }
    }
}

impl Drop for Heir {
    fn drop(&mut self) {
        let is_told = self.told.recv_timeout(HANGS_AFTER).is_ok();
        self.heard.send(is_told).unwrap();
    }
}

/// A task that makes a [`Tells`] task and an [`Heir`] task on its own worker. At the next message,
/// it lets the `Heir` end while a message for the `Tells` waits.
struct Family {
    end: End,
    /// Duration of the turn in which the second task ends.
    lasts: Duration,
    heard: Sender<bool>,
    made: Option<(Address<()>, Address<()>)>,
}

impl Task for Family {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        if let Some((tells, heir)) = self.made.take() {
            spin(self.lasts);
            match self.end {
                // This turn drops the last address.
                End::Unreachable => turn.send(&tells, ()).unwrap(),
                End::Stops => turn.send(&heir, ()).unwrap(),
                // The turn that fails sends nothing.
                End::Fails => {
                    turn.send(&heir, ()).unwrap();
                    turn.send(&tells, ()).unwrap();
                }
            }
            return Flow::Continue;
        }
        let (tell, told) = channel();
        let tells = turn.spawn(Tells(tell));
        let heir = Heir {
            end: self.end,
            tells: tells.clone(),
            told,
            heard: self.heard.clone(),
        };
        self.made = Some((tells, turn.spawn(heir)));
        // The next turn belongs to another activation.
        turn.send(&turn.address(), ()).unwrap();
        Flow::Continue
    }
}

/// Lets `count` tasks end in the given way. Their destructors wait until a ready task of the same
/// worker has handled a message.
fn destructors_wait(end: End, count: u32, lasts: Duration) {
    let sponsor = Sponsor::builder()
        .workers(2)
        .on_failure(|_| {})
        .start()
        .unwrap();
    for _ in 0..count {
        let (heard, has_heard) = channel();
        let family = Family {
            end,
            lasts,
            heard,
            made: None,
        };
        let family = sponsor.handle().spawn(family).unwrap();
        family.send(()).unwrap();
        assert_eq!(has_heard.recv(), Ok(true));
    }
    sponsor.shutdown();
}

#[test]
fn a_destructor_of_an_unreachable_task_may_wait_for_a_ready_task() {
    destructors_wait(End::Unreachable, 20, Duration::ZERO);
}

#[test]
fn a_destructor_of_a_task_that_stops_may_wait_for_a_ready_task() {
    destructors_wait(End::Stops, 20, Duration::ZERO);
}

#[test]
fn a_destructor_of_a_task_that_fails_may_wait_for_a_ready_task() {
    destructors_wait(End::Fails, 20, Duration::ZERO);
}

#[test]
fn a_destructor_may_wait_for_a_ready_task_after_a_long_turn() {
    // For a turn that takes so long, and sends only at its end, no worker looks any more.
    destructors_wait(End::Unreachable, 3, Duration::from_millis(40));
}

/// Messages to a [`Maker`].
enum ToMaker {
    /// Makes a [`Patient`] on the worker of the maker, and sends the first message to it.
    Make(Patient, Sender<Address<u32>>),
    /// Waits until a message comes.
    Wait(Sender<()>, Receiver<()>),
}

struct Maker;

impl Task for Maker {
    type Message = ToMaker;

    fn receive(&mut self, message: ToMaker, turn: &Turn<'_, ToMaker>) -> Flow {
        match message {
            ToMaker::Make(patient, made) => {
                let patient = turn.spawn(patient);
                turn.send(&patient, 0).unwrap();
                made.send(patient).unwrap();
            }
            ToMaker::Wait(began, goes) => {
                began.send(()).unwrap();
                goes.recv_timeout(HANGS_AFTER)
                    .expect("the others are handled meanwhile");
            }
        }
        Flow::Continue
    }
}

/// Number of messages to a [`Patient`]: more than another worker handles at a time.
const MANY: u32 = 1_000;

/// A task that reports its first and last message. Its second message takes long. In the turn of
/// its third one, it makes a task on the worker that runs the turn, which waits for the last one.
struct Patient {
    says: Sender<u32>,
    waits: Option<Waits>,
    goes: Sender<()>,
}

impl Task for Patient {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        match number {
            0 => self.says.send(number).unwrap(),
            1 => spin(Duration::from_millis(50)),
            2 => {
                let waits = turn.spawn(self.waits.take().unwrap());
                turn.send(&waits, ()).unwrap();
            }
            MANY => {
                self.goes.send(()).unwrap();
                self.says.send(number).unwrap();
            }
            _ => {}
        }
        Flow::Continue
    }
}

#[test]
fn a_visit_that_is_put_back_goes_on_though_its_worker_has_a_long_turn() {
    let sponsor = Sponsor::pool(3).unwrap();
    let maker = sponsor.handle().spawn(Maker).unwrap();
    let ((says, said), (made, is_made)) = (channel(), channel());
    let ((waits, has_begun), (goes, go)) = (channel(), channel());
    let patient = Patient {
        says,
        waits: Some(Waits(waits, go)),
        goes,
    };
    maker.send(ToMaker::Make(patient, made)).ok().unwrap();
    assert_eq!(said.recv_timeout(HANGS_AFTER), Ok(0));
    let patient = is_made.recv_timeout(HANGS_AFTER).unwrap();
    let ((began, begun), (ends, end)) = (channel(), channel());
    maker.send(ToMaker::Wait(began, end)).ok().unwrap();
    begun.recv_timeout(HANGS_AFTER).unwrap();
    for number in 1..=MANY {
        patient.send(number).unwrap();
    }
    has_begun.recv_timeout(HANGS_AFTER).unwrap();
    assert_eq!(
        said.recv_timeout(HANGS_AFTER),
        Ok(MANY),
        "another worker goes on"
    );
    ends.send(()).unwrap();
    sponsor.shutdown();
}
