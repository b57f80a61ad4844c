//! Tests of sponsors: their names, pinned threads, and all the ways in which sponsors end.

mod common;

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::does;
use garrick_sched::{Address, Ending, Flow, Sponsor, Task, Turn};
use garrick_testkit::{ByHand, ends, wait};

#[test]
fn names() {
    let sponsor = Sponsor::builder().name("io").workers(2).start().unwrap();
    let handle = sponsor.handle();
    assert_eq!((handle.name(), handle.workers()), ("io", 2));
    let (told, tells) = channel();
    for _ in 0..2 {
        let told = told.clone();
        let task = handle.spawn(does(move |(), _| {
            told.send(thread::current().name().map(str::to_owned))
                .unwrap();
            Flow::Continue
        }));
        task.unwrap().send(()).unwrap();
    }
    for _ in 0..2 {
        let name = wait(&tells).unwrap();
        assert!(["io-0", "io-1"].contains(&&*name), "{name}");
    }
    assert_eq!(Sponsor::pool(1).unwrap().handle().name(), "pool");
    assert_eq!(Sponsor::single("solo").unwrap().handle().name(), "solo");
    assert_eq!(
        Sponsor::builder().start().unwrap().handle().name(),
        "sponsor"
    );
}

#[test]
#[cfg(all(target_os = "linux", not(garrick_portable)))]
fn pinning() {
    let sponsor = Sponsor::builder().pin_to([0]).start().unwrap();
    let (told, tells) = channel();
    let task = sponsor.handle().spawn(does(move |(), _| {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let allowed = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        told.send(allowed.unwrap().trim().to_owned()).unwrap();
        Flow::Continue
    }));
    task.unwrap().send(()).unwrap();
    assert_eq!(wait(&tells), "0");
}

#[test]
fn a_newborn_goes_to_the_worker_that_is_free() {
    ends(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let handle = sponsor.handle();
        let has_parked = |times: u64| {
            while handle
                .sample()
                .workers
                .iter()
                .map(|worker| worker.parks)
                .sum::<u64>()
                < times
            {
                thread::yield_now();
            }
        };
        has_parked(2);
        let (begun, begins) = channel();
        let (end, until) = channel::<()>();
        let blocks = handle.spawn(does(move |(), _| {
            begun.send(()).unwrap();
            // Waits for the end of the test, however it ends.
            let _ = until.recv();
            Flow::Stop
        }));
        blocks.unwrap().send(()).unwrap();
        wait(&begins);
        // If it were done in turns, every second task would wait for the blocked worker.
        for parks in 3..8 {
            let (told, tells) = channel();
            let newborn = handle.spawn(does(move |(), _| {
                told.send(()).unwrap();
                Flow::Stop
            }));
            newborn.unwrap().send(()).unwrap();
            wait(&tells);
            has_parked(parks);
        }
        drop(end);
    });
}

#[test]
fn a_sponsor_that_has_ended_gives_tasks_back() {
    let sponsor = Sponsor::pool(1).unwrap();
    let handle = sponsor.handle();
    sponsor.shutdown();
    let (told, tells) = channel();
    let mut back = handle.spawn(does(move |n: u32, _| {
        told.send(n).unwrap();
        Flow::Continue
    }));
    let error = back.as_mut().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the sponsor is shutting down or has stopped"
    );
    assert!(tells.try_recv().is_err());
}

enum Step {
    Next(Address<Step>),
    Left(u32),
}

/// A task in a ring of tasks, which passes a number on that counts down.
struct Hop {
    next: Option<Address<Step>>,
    taken: Arc<Mutex<u32>>,
}

impl Task for Hop {
    type Message = Step;

    fn receive(&mut self, step: Step, turn: &Turn<'_, Step>) -> Flow {
        match step {
            Step::Next(next) => self.next = Some(next),
            Step::Left(left) => {
                *self.taken.lock().unwrap() += 1;
                if let (Some(next), 1..) = (&self.next, left) {
                    turn.send(next, Step::Left(left - 1)).unwrap();
                }
            }
        }
        Flow::Continue
    }
}

fn ring(sponsor: &Sponsor, tasks: usize, taken: &Arc<Mutex<u32>>) -> Vec<Address<Step>> {
    let hop = || Hop {
        next: None,
        taken: taken.clone(),
    };
    let ring: Vec<_> = (0..tasks)
        .map(|_| sponsor.handle().spawn(hop()).unwrap())
        .collect();
    for (index, task) in ring.iter().enumerate() {
        task.send(Step::Next(ring[(index + 1) % tasks].clone()))
            .unwrap();
    }
    ring
}

#[test]
fn an_end_in_order_handles_what_was_sent_before_and_what_follows_from_it() {
    ends(|| {
        for workers in 1..=3 {
            let sponsor = Sponsor::pool(workers).unwrap();
            let handle = sponsor.handle();
            let taken = Arc::new(Mutex::new(0));
            let ring = ring(&sponsor, 4, &taken);
            for task in &ring {
                task.send(Step::Left(500)).unwrap();
            }
            sponsor.shutdown();
            assert_eq!(*taken.lock().unwrap(), 4 * 501, "{workers} workers");
            assert_eq!(handle.dead_letters(), 0);
            assert!(ring.iter().all(Address::is_stopped));
        }
    });
}

#[test]
fn an_end_at_once_makes_dead_letters_of_what_waits() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let handle = sponsor.handle();
        let other = handle
            .spawn(does(|_: Box<u32>, _| panic!("too late")))
            .unwrap();
        let to = other.clone();
        let ender = handle.spawn(does(move |sponsor: Sponsor, turn| {
            (0..7).for_each(|n| turn.send(&to, Box::new(n)).unwrap());
            sponsor.shutdown_now();
            Flow::Continue
        }));
        let ender = ender.unwrap();
        ender.send(sponsor).unwrap();
        while !(ender.is_stopped() && other.is_stopped()) {
            thread::yield_now();
        }
        assert_eq!(other.send(Box::new(9)).unwrap_err().0, Box::new(9));
        assert_eq!(handle.dead_letters(), 7);
    });
}

#[test]
fn dropping_a_sponsor_ends_it() {
    ends(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let task = sponsor
            .handle()
            .spawn(does(|(), _| Flow::Continue))
            .unwrap();
        drop(sponsor);
        assert!(task.is_stopped());
        assert!(task.send(()).is_err());
    });
}

#[test]
fn a_task_may_end_its_own_sponsor_in_order() {
    for workers in 1..=2 {
        ends(move || {
            let sponsor = Sponsor::pool(workers).unwrap();
            let handle = sponsor.handle();
            let (heard, hears) = channel();
            let listener = handle.spawn(does(move |n: u32, _| {
                heard.send(n).unwrap();
                Flow::Continue
            }));
            let listener = listener.unwrap();
            let ender = handle.spawn(does(move |sponsor: Sponsor, turn| {
                (0..100).for_each(|n| turn.send(&listener, n).unwrap());
                sponsor.shutdown();
                Flow::Continue
            }));
            ender.unwrap().send(sponsor).unwrap();
            let heard: Vec<_> = hears.iter().collect();
            assert_eq!(heard, (0..100).collect::<Vec<_>>());
            assert_eq!(handle.dead_letters(), 0);
        });
    }
}

#[test]
fn a_task_may_end_its_own_sponsor_at_once() {
    ends(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let (told, tells) = channel::<()>();
        let ender = sponsor.handle().spawn(does(move |sponsor: Sponsor, _| {
            let _told = &told;
            sponsor.shutdown_now();
            Flow::Continue
        }));
        ender.unwrap().send(sponsor).unwrap();
        // The task is dropped, and its end of the channel with it.
        assert!(
            tells
                .recv_timeout(std::time::Duration::from_secs(20))
                .is_err()
        );
    });
}

#[test]
fn a_task_that_always_has_something_to_do_does_not_keep_a_sponsor_from_ending_at_once() {
    ends(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let (told, tells) = channel();
        let mut told = Some(told);
        let busy = sponsor.handle().spawn(does(move |(), turn| {
            turn.send(&turn.address(), ()).unwrap();
            if let Some(told) = told.take() {
                told.send(()).unwrap();
            }
            Flow::Continue
        }));
        let busy = busy.unwrap();
        busy.send(()).unwrap();
        wait(&tells);
        sponsor.shutdown_now();
        assert!(busy.is_stopped());
    });
}

#[test]
fn strangers_that_go_on_sending_do_not_keep_a_sponsor_from_ending_at_once() {
    for within in [None, Some(Duration::from_millis(2))] {
        ends(move || flood_until_the_end(within));
    }
}

/// Runs threads that send to tasks. The tasks send to each other and make more tasks, until all
/// messages are refused. Meanwhile the sponsor ends, either immediately or within a time limit.
fn flood_until_the_end(within: Option<Duration>) {
    let sponsor = Sponsor::pool(2).unwrap();
    let handle = sponsor.handle();
    let tasks: Vec<_> = (0..64).map(|_| handle.spawn(spreads()).unwrap()).collect();
    let (told, begun) = channel();
    thread::scope(|scope| {
        for _ in 0..2 {
            let (tasks, told) = (&tasks, told.clone());
            scope.spawn(move || {
                let mut rounds = 0;
                // Each of them is refused in the end.
                while tasks.iter().filter(|task| task.send(1).is_ok()).count() > 0 {
                    rounds += 1;
                    if rounds == 10 {
                        told.send(()).unwrap();
                    }
                }
            });
        }
        (0..2).for_each(|_| wait(&begun));
        match within {
            None => sponsor.shutdown_now(),
            Some(limit) => {
                let _ = sponsor.shutdown_within(limit);
            }
        }
    });
    assert!(tasks.iter().all(Address::is_stopped));
}

/// A task that makes another task for each message, and sends one message to the new task.
fn spreads() -> impl Task<Message = u32> + Send {
    does(|left: u32, turn: &Turn<'_, u32>| {
        if left > 0 {
            let _ = turn.send(&turn.spawn(spreads()), left - 1);
        }
        Flow::Continue
    })
}

#[test]
fn a_sponsor_lives_in_the_world_that_it_is_given() {
    let clock = ByHand::new();
    clock.advance(std::time::Duration::from_nanos(42));
    let sponsor = Sponsor::builder().world(clock).start().unwrap();
    let (told, tells) = channel();
    let task = sponsor.handle().spawn(does(move |(), turn| {
        told.send(turn.now()).unwrap();
        Flow::Continue
    }));
    task.unwrap().send(()).unwrap();
    assert_eq!(wait(&tells), 42);
}

/// A task that sends to itself forever.
fn endless() -> impl Task<Message = ()> + Send {
    does(|(), turn: &Turn<'_, ()>| {
        turn.send(&turn.address(), ()).unwrap();
        Flow::Continue
    })
}

#[test]
fn an_end_within_a_limit_is_in_order_if_it_can_be() {
    ends(|| {
        for limit in [Duration::from_secs(60), Duration::MAX] {
            let sponsor = Sponsor::pool(2).unwrap();
            let (told, heard) = channel();
            let task = sponsor
                .handle()
                .spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
                    match n {
                        0 => told.send(()).unwrap(),
                        n => turn.send(&turn.address(), n - 1).unwrap(),
                    }
                    Flow::Continue
                }));
            task.unwrap().send(1_000).unwrap();
            assert_eq!(sponsor.shutdown_within(limit), Some(Ending::InOrder));
            assert_eq!(heard.try_recv(), Ok(()));
        }
    });
}

#[test]
fn an_end_within_a_limit_is_at_once_after_that() {
    ends(|| {
        for limit in [Duration::ZERO, Duration::from_millis(5)] {
            let sponsor = Sponsor::pool(2).unwrap();
            let handle = sponsor.handle();
            handle.spawn(endless()).unwrap().send(()).unwrap();
            assert_eq!(sponsor.shutdown_within(limit), Some(Ending::AtOnce));
            assert_eq!(handle.dead_letters(), 1);
        }
    });
}

#[test]
fn a_task_ends_its_own_sponsor_within_a_limit() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let handle = sponsor.handle();
        let endless = handle.spawn(endless()).unwrap();
        endless.send(()).unwrap();
        let (told, heard) = channel();
        endless.watch(move |ended| told.send(ended).unwrap());
        let mut ours = Some(sponsor);
        let ender = handle.spawn(does(move |(), _| {
            let ending = ours
                .take()
                .unwrap()
                .shutdown_within(Duration::from_millis(5));
            assert_eq!(ending, None);
            Flow::Continue
        }));
        ender.unwrap().send(()).unwrap();
        assert_eq!(wait(&heard), garrick_sched::Ended::SponsorEnded);
        assert_eq!(handle.failures(), 0);
    });
}
