//! Tests of tasks that move from one sponsor to another.

mod common;

use std::sync::mpsc::{Sender, channel};
use std::thread;

use common::does;
use garrick_sched::{Address, Flow, Handle, Here, Sponsor, Task, Turn, audit};
use garrick_testkit::{ends_alone, wait};

/// Returns the name of the current thread.
fn thread_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// A task that reports where it starts, and where it handles each number.
struct Traveller(Sender<(u32, String)>);

const STARTED: u32 = u32::MAX;

impl Task for Traveller {
    type Message = u32;
    const STARTS: bool = true;

    fn start(&mut self, turn: &Turn<'_, u32>) -> Flow {
        self.receive(STARTED, turn)
    }

    fn receive(&mut self, n: u32, _: &Turn<'_, u32>) -> Flow {
        self.0.send((n, thread_name())).unwrap();
        Flow::Continue
    }
}

/// Runs one turn of a new task on `sponsor`.
fn turn(sponsor: &Handle, mut body: impl FnMut(&Turn<'_, ()>) -> Flow + Send + 'static) {
    let task = sponsor.spawn(does(move |(), turn: &Turn<'_, ()>| body(turn)));
    task.unwrap().send(()).unwrap();
}

#[test]
fn a_task_is_where_it_was_sent_on_to() {
    ends_alone(|| {
        let (near, far) = (
            Sponsor::single("near").unwrap(),
            Sponsor::single("far").unwrap(),
        );
        let (told, heard) = channel();
        let traveller = near.handle().spawn(Traveller(told)).unwrap();
        let at = |n: u32, place: &str| (n, format!("{place}-0"));
        assert_eq!(wait(&heard), at(STARTED, "near"));
        let (to, on) = (traveller.clone(), far.handle());
        turn(&near.handle(), move |turn| {
            turn.send(&to, 1).unwrap();
            turn.send_on(&on, &to, 2).unwrap();
            turn.send(&to, 3).unwrap();
            Flow::Continue
        });
        let heard_there = (wait(&heard), wait(&heard), wait(&heard));
        assert_eq!(heard_there, (at(1, "near"), at(2, "far"), at(3, "far")));
        traveller.send(4).unwrap();
        assert_eq!(wait(&heard), at(4, "far"));
        near.shutdown();
        traveller.send(5).unwrap();
        assert_eq!(
            wait(&heard),
            at(5, "far"),
            "it has nothing to do with the first any more"
        );
    });
}

#[test]
fn a_task_that_is_spawned_elsewhere_starts_there() {
    ends_alone(|| {
        let (near, far) = (
            Sponsor::single("near").unwrap(),
            Sponsor::single("far").unwrap(),
        );
        let (told, heard) = channel();
        let on = far.handle();
        turn(&near.handle(), move |turn| {
            let traveller = turn.spawn_on(&on, Traveller(told.clone()));
            turn.send(&traveller, 1).unwrap();
            Flow::Continue
        });
        assert_eq!(wait(&heard), (STARTED, "far-0".into()));
        assert_eq!(wait(&heard), (1, "far-0".into()));
    });
}

#[test]
fn what_is_undone_goes_nowhere() {
    ends_alone(|| {
        let before = audit();
        let here = Here::new_here().unwrap();
        let far = Sponsor::single("far").unwrap();
        let (told, heard) = channel();
        let stays = here.spawn(Traveller(told.clone()));
        let (to, on) = (stays.clone(), far.handle());
        let undone = here.spawn(does(move |(), turn: &Turn<'_, ()>| {
            turn.send_on(&on, &to, 1).unwrap();
            drop(turn.spawn_on(&on, Traveller(told.clone())));
            Flow::Undo
        }));
        undone.send(()).unwrap();
        here.run();
        assert_eq!(heard.try_iter().count(), 1, "one has started");
        drop((stays, undone, here));
        far.shutdown();
        assert_eq!(audit(), before);
    });
}

#[test]
fn a_task_that_cannot_go_handles_the_message_where_it_is() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let far = Sponsor::single("far").unwrap();
        let gone = Sponsor::single("gone").unwrap();
        let ended = gone.handle();
        gone.shutdown();
        let (told, heard) = channel();
        // A task that may not be `Send`, and a task that is, but whose new sponsor has ended.
        let stays = here.spawn(Traveller(told.clone()));
        let parent = here.spawn(does(move |(), turn: &Turn<'_, ()>| {
            turn.send_on(&far.handle(), &stays, 1).unwrap();
            let left = turn.spawn(Traveller(told.clone()));
            turn.send_on(&ended, &left, 2).unwrap();
            Flow::Continue
        }));
        parent.send(()).unwrap();
        here.run();
        let mut numbers: Vec<_> = heard
            .try_iter()
            .map(|(n, place)| {
                assert_eq!(place, thread_name());
                n
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, STARTED, STARTED]);
    });
}

#[test]
fn a_task_comes_here() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let far = Sponsor::single("far").unwrap();
        let (told, heard) = channel();
        let (on, name) = (here.handle(), thread_name());
        turn(&far.handle(), move |turn| {
            drop(turn.spawn_on(&on, Traveller(told.clone())));
            Flow::Continue
        });
        let arrived = std::cell::Cell::new(None);
        here.run_until(|| {
            arrived.set(arrived.take().or_else(|| heard.try_recv().ok()));
            let arrived = arrived
                .take()
                .inspect(|there| arrived.set(Some(there.clone())));
            arrived.is_some()
        });
        assert_eq!(arrived.take(), Some((STARTED, name)));
    });
}

/// Number of messages of a [`Chaser`].
const CHASED: u32 = 20_000;

/// A task that checks that the numbers of every sender come in order.
struct Chaser {
    expected: [u32; 3],
    told: Sender<u32>,
}

impl Task for Chaser {
    type Message = (usize, u32);

    fn receive(&mut self, (from, n): (usize, u32), _: &Turn<'_, (usize, u32)>) -> Flow {
        assert_eq!(self.expected[from], n, "sender {from}");
        self.expected[from] += 1;
        let sum: u32 = self.expected.iter().sum();
        if sum == 3 * CHASED {
            self.told.send(sum).unwrap();
        }
        Flow::Continue
    }
}

/// Sends numbers to `to` from a task of `sponsor`. Some of the messages also move the receiver to
/// one of the sponsors in `on`.
fn chase(sponsor: &Handle, from: usize, to: &Address<(usize, u32)>, on: [Handle; 2]) {
    let to = to.clone();
    let task = sponsor.spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
        for n in n..n + 10 {
            if n % 7 == from as u32 {
                turn.send_on(&on[n as usize % 2], &to, (from, n)).unwrap();
            } else {
                turn.send(&to, (from, n)).unwrap();
            }
        }
        if n + 10 < CHASED {
            turn.send(&turn.address(), n + 10).unwrap();
        }
        Flow::Continue
    }));
    task.unwrap().send(0).unwrap();
}

#[test]
fn messages_find_a_task_that_is_sent_to_and_fro_in_order() {
    ends_alone(|| {
        let before = audit();
        let (one, pool) = (Sponsor::single("one").unwrap(), Sponsor::pool(2).unwrap());
        let on = || [one.handle(), pool.handle()];
        let (told, heard) = channel();
        let chaser = Chaser {
            expected: [0; 3],
            told,
        };
        let chased = one.handle().spawn(chaser).unwrap();
        chase(&one.handle(), 0, &chased, on());
        chase(&pool.handle(), 1, &chased, on());
        for n in 0..CHASED {
            chased.send((2, n)).unwrap();
        }
        assert_eq!(wait(&heard), 3 * CHASED);
        assert_eq!(one.handle().failures() + pool.handle().failures(), 0);
        drop(chased);
        one.shutdown();
        pool.shutdown();
        assert_eq!(audit(), before);
    });
}
