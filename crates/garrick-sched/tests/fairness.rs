//! Tests that no task starves, neither because another task always has something to do, nor because
//! another task blocks.

mod common;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::does;
use garrick_sched::{Address, Flow, Sponsor, Task, Turn};
use garrick_testkit::{ByHand, ends, wait};

/// A task that sends to itself until it is stopped. The task reports once that it runs.
struct Perpetual {
    runs: Option<Sender<()>>,
    go_on: Arc<AtomicBool>,
}

impl Task for Perpetual {
    type Message = ();
    const STARTS: bool = true;

    fn start(&mut self, turn: &Turn<'_, ()>) -> Flow {
        turn.send(&turn.address(), ()).unwrap();
        Flow::Continue
    }

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        if let Some(runs) = self.runs.take() {
            runs.send(()).unwrap();
        }
        if self.go_on.load(SeqCst) {
            turn.send(&turn.address(), ()).unwrap();
        }
        Flow::Continue
    }
}

/// A task that passes its message to another task, until it is stopped.
struct Talks {
    to: Option<Address<Address<()>>>,
    is_over: Arc<AtomicBool>,
}

impl Task for Talks {
    type Message = Address<()>;

    fn receive(&mut self, stranger: Address<()>, turn: &Turn<'_, Address<()>>) -> Flow {
        let Some(to) = self.to.as_ref() else {
            // The first message: makes the partner, on this worker, and sends to the stranger.
            let partner = Talks {
                to: Some(turn.address()),
                is_over: self.is_over.clone(),
            };
            let partner = turn.spawn(partner);
            turn.send(&stranger, ()).unwrap();
            turn.send(&partner, stranger).unwrap();
            self.to = Some(partner);
            return Flow::Continue;
        };
        if self.is_over.load(SeqCst) {
            self.to = None;
            return Flow::Stop;
        }
        turn.send(to, stranger).unwrap();
        Flow::Continue
    }
}

#[test]
fn a_task_of_another_worker_runs_while_two_tasks_talk() {
    // From a state in which all workers sleep, and while they look for work.
    for _ in 0..200 {
        ends(|| {
            let sponsor = Sponsor::pool(2).unwrap();
            let handle = sponsor.handle();
            let is_over = Arc::new(AtomicBool::new(false));
            let (runs, ran) = channel();
            let ends = is_over.clone();
            let stranger = does(move |(), _| {
                ends.store(true, SeqCst);
                runs.send(()).unwrap();
                Flow::Continue
            });
            let stranger = handle.spawn(stranger).unwrap();
            let talks = handle.spawn(Talks { to: None, is_over }).unwrap();
            talks.send(stranger).unwrap();
            wait(&ran);
            drop(talks);
            sponsor.shutdown();
        });
    }
}

/// Makes `count` tasks that never become idle on one worker, and waits until each of them has run.
fn all_perpetuals_run(workers: usize, count: usize) {
    ends(move || {
        let sponsor = Sponsor::pool(workers).unwrap();
        let go_on = Arc::new(AtomicBool::new(true));
        let (runs, ran) = channel();
        let ask = go_on.clone();
        let root = sponsor.handle().spawn(does(move |(), turn| {
            for _ in 0..count {
                drop(turn.spawn(Perpetual {
                    runs: Some(runs.clone()),
                    go_on: ask.clone(),
                }));
            }
            Flow::Continue
        }));
        root.unwrap().send(()).unwrap();
        (0..count).for_each(|_| wait(&ran));
        go_on.store(false, SeqCst);
        sponsor.shutdown();
    });
}

#[test]
fn tasks_that_always_have_something_to_do_on_one_worker() {
    all_perpetuals_run(1, 100);
}

#[test]
fn tasks_that_always_have_something_to_do_on_two_workers() {
    all_perpetuals_run(2, 100);
}

/// Runs two tasks with full mailboxes on one worker. Each message takes the given time, by a clock
/// that the test sets. For each activation, returns the task and the number of messages that it
/// handled.
fn shares_of(takes: [Duration; 2], messages: usize) -> Vec<(usize, usize)> {
    let world = ByHand::new();
    let here = Sponsor::builder().world(world.clone()).here().unwrap();
    let heard = Rc::new(RefCell::new(Vec::new()));
    let tasks = [0, 1].map(|number: usize| {
        let (heard, world) = (heard.clone(), world.clone());
        here.spawn(does(move |(), _| {
            heard.borrow_mut().push(number);
            world.advance(takes[number]);
            Flow::Continue
        }))
    });
    for task in &tasks {
        (0..messages).for_each(|_| task.send(()).unwrap());
    }
    here.run();
    let heard = heard.borrow();
    let shares = heard.chunk_by(|one, next| one == next);
    shares.map(|share| (share[0], share.len())).collect()
}

#[test]
fn full_mailboxes_are_handled_by_turns_256_messages_at_a_time() {
    let shares = shares_of([Duration::ZERO; 2], 1_024);
    let lengths: Vec<_> = shares.iter().map(|(_, share)| *share).collect();
    assert_eq!(lengths, [256; 8]);
}

#[test]
fn messages_that_take_long_are_fewer_at_a_time() {
    // The first activations measure how long the messages take.
    let shares = shares_of([Duration::from_micros(20); 2], 2_048);
    let later = &shares[4..shares.len() - 2];
    assert!(later.len() > 500, "{shares:?}");
    assert!(later.iter().all(|(_, share)| *share <= 5), "{shares:?}");
}

#[test]
fn who_works_long_for_each_message_does_not_get_more_time_for_it() {
    let takes = [Duration::from_micros(1), Duration::from_micros(200)];
    let shares = shares_of(takes, 4_096);
    // As long as both have something to do, and after the first measurement.
    let both = shares.iter().position(|(_, share)| *share > 256);
    let later = &shares[4..both.unwrap_or(shares.len() - 2)];
    let longest = later
        .iter()
        .map(|(number, share)| takes[*number] * *share as u32);
    assert!(
        longest.max() <= Some(Duration::from_micros(400)),
        "{shares:?}"
    );
}

#[test]
fn a_stranger_is_heard_by_busy_workers() {
    ends(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let go_on = Arc::new(AtomicBool::new(true));
        let (runs, ran) = channel();
        for _ in 0..2 {
            let busy = Perpetual {
                runs: Some(runs.clone()),
                go_on: go_on.clone(),
            };
            drop(sponsor.handle().spawn(busy).unwrap());
        }
        (0..2).for_each(|_| wait(&ran));
        let (heard, hears) = channel();
        for n in 0..10 {
            let heard = heard.clone();
            let task = sponsor.handle().spawn(does(move |(), _| {
                heard.send(n).unwrap();
                Flow::Continue
            }));
            task.unwrap().send(()).unwrap();
        }
        let mut numbers: Vec<_> = (0..10).map(|_| wait(&hears)).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..10).collect::<Vec<_>>());
        go_on.store(false, SeqCst);
        sponsor.shutdown();
    });
}

/// A task that creates tasks of the next generation, up to a limit.
struct Generation {
    go_on: Arc<AtomicBool>,
}

impl Task for Generation {
    type Message = ();
    const STARTS: bool = true;

    fn start(&mut self, turn: &Turn<'_, ()>) -> Flow {
        if self.go_on.load(SeqCst) {
            drop(turn.spawn(Self {
                go_on: self.go_on.clone(),
            }));
            if turn.now().is_multiple_of(2) {
                return Flow::Continue;
            }
        }
        Flow::Stop
    }

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        Flow::Continue
    }
}

#[test]
fn a_flood_of_newborns_leaves_room_for_the_old() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let go_on = Arc::new(AtomicBool::new(true));
        let (told, tells) = channel();
        let old = sponsor
            .handle()
            .spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
                if n == 0 {
                    told.send(()).unwrap();
                } else {
                    turn.send(&turn.address(), n - 1).unwrap();
                }
                Flow::Continue
            }));
        for _ in 0..20 {
            drop(
                sponsor
                    .handle()
                    .spawn(Generation {
                        go_on: go_on.clone(),
                    })
                    .unwrap(),
            );
        }
        old.unwrap().send(1_000).unwrap();
        wait(&tells);
        go_on.store(false, SeqCst);
        sponsor.shutdown();
    });
}

/// Makes tasks. The task with the number `blocker` blocks its worker until all other tasks are
/// done.
fn blocking(
    turn: &Turn<'_, ()>,
    count: usize,
    blocker: usize,
    over: &Sender<()>,
) -> Vec<Address<()>> {
    let (done, is_done) = channel();
    let (left, is_done) = (
        Arc::new(AtomicUsize::new(count - 1)),
        Arc::new(Mutex::new(is_done)),
    );
    let tasks = (0..count).map(|index| {
        let (done, over) = (done.clone(), over.clone());
        let (left, is_done) = (left.clone(), is_done.clone());
        turn.spawn(does(move |(), _: &Turn<'_, ()>| {
            if index == blocker {
                let _ = is_done.lock().unwrap().recv();
                over.send(()).unwrap();
            } else if left.fetch_sub(1, SeqCst) == 1 {
                done.send(()).unwrap();
            }
            Flow::Continue
        }))
    });
    tasks.collect()
}

/// Sends to all given tasks from one task, so that they become ready on its worker at the same
/// time. The other worker is idle and never had anything to do. (A worker that is busy when the
/// blocking turn begins is given no tasks. The tasks that the blocked worker has kept wait for the
/// end of this turn.)
fn a_blocker_holds_nobody_up(count: usize, blocker: usize) {
    ends(move || {
        let sponsor = Sponsor::pool(2).unwrap();
        let (over, is_over) = channel();
        let root = sponsor.handle().spawn(does(move |(), turn: &Turn<'_, ()>| {
            let tasks = blocking(turn, count, blocker, &over);
            tasks.iter().for_each(|task| turn.send(task, ()).unwrap());
            Flow::Continue
        }));
        root.unwrap().send(()).unwrap();
        wait(&is_over);
        sponsor.shutdown();
    });
}

#[test]
fn a_blocker_that_is_first() {
    a_blocker_holds_nobody_up(1_000, 0);
}

#[test]
fn a_blocker_in_the_middle() {
    a_blocker_holds_nobody_up(1_000, 500);
}

#[test]
fn a_blocker_that_is_last() {
    a_blocker_holds_nobody_up(1_000, 999);
}

#[test]
fn a_blocker_among_newborns_of_one_worker() {
    for blocker in [0, 1, 500, 998, 999] {
        ends(move || {
            let sponsor = Sponsor::pool(2).unwrap();
            let (over, is_over) = channel();
            let root = sponsor.handle().spawn(does(move |(), turn: &Turn<'_, ()>| {
                let (done, is_done) = channel();
                let mut is_done = Some(is_done);
                for index in 0..1_000 {
                    let (done, over) = (done.clone(), over.clone());
                    let is_done = if index == blocker {
                        is_done.take()
                    } else {
                        None
                    };
                    let task = turn.spawn(does(move |(), _: &Turn<'_, ()>| {
                        if let Some(is_done) = &is_done {
                            (0..999).for_each(|_| is_done.recv().unwrap());
                            over.send(()).unwrap();
                        } else {
                            done.send(()).unwrap();
                        }
                        Flow::Continue
                    }));
                    turn.send(&task, ()).unwrap();
                }
                Flow::Continue
            }));
            root.unwrap().send(()).unwrap();
            wait(&is_over);
            sponsor.shutdown();
        });
    }
}
