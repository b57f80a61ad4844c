//! Tests of notices about the ends of tasks: cancelled notices, late notices, and notices with
//! destructors that panic.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;

use garrick_sched::{Address, Ended, Flow, Here, Sponsor, Task, Turn, audit};

use crate::common::does;
use garrick_testkit::{Bomb, OnDrop, ends_alone, fail, silence_panics, wait};

/// A task that does nothing until it ends.
struct Idle;

impl Task for Idle {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        Flow::Continue
    }
}

/// Watches a task, and cancels the watch. The notice has captured a value that panics when it is
/// dropped.
fn watch_by_a_bomb(whom: &Address<()>) {
    let bomb = Bomb;
    whom.watch(move |_| drop(bomb)).cancel();
}

#[test]
fn a_freed_cell_does_not_run_again_when_a_cancelled_notice_panics() {
    ends_alone(|| {
        silence_panics();
        struct Keeper(#[allow(dead_code, reason = "kept until it is dropped")] Address<()>);
        impl Task for Keeper {
            type Message = ();
            fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
                Flow::Continue
            }
        }
        let before = audit();
        {
            let here = Here::new_here().unwrap();
            let kept = here.spawn(Idle);
            watch_by_a_bomb(&kept);
            here.run();
            let keeper = here.spawn(Keeper(kept));
            keeper.send(()).unwrap();
            drop(keeper);
            here.run();
            assert_eq!(here.handle().failures(), 0, "no task has failed");
        }
        assert_eq!(audit(), before);
    });
}

#[test]
fn an_innocent_task_goes_on_when_a_cancelled_notice_panics() {
    ends_alone(|| {
        silence_panics();
        let here = Here::new_here().unwrap();
        let (tell, heard) = mpsc::channel();
        let dropped = tell.clone();
        let on_drop = OnDrop(move || dropped.send("dropped").unwrap());
        let watched = here.spawn(does(move |(), _| {
            let _kept = &on_drop;
            Flow::Continue
        }));
        watch_by_a_bomb(&watched);
        here.run();
        let mut last = Some(watched);
        let innocent = here.spawn(does(move |(), _| {
            drop(last.take());
            tell.send("handled").unwrap();
            Flow::Continue
        }));
        innocent.send(()).unwrap();
        here.run();
        innocent.send(()).unwrap();
        here.run();
        let heard: Vec<_> = heard.try_iter().collect();
        assert_eq!(heard, ["handled", "dropped", "handled"]);
        assert!(!innocent.is_stopped());
    });
}

#[test]
fn a_sponsor_ends_when_a_cancelled_notice_panics() {
    ends_alone(|| {
        silence_panics();
        for workers in [1, 2] {
            let pool = Sponsor::pool(workers).unwrap();
            let watched = pool.handle().spawn(Idle).unwrap();
            watch_by_a_bomb(&watched);
            let (tell, heard) = mpsc::channel();
            watched.watch(move |ended| tell.send(ended).unwrap());
            pool.shutdown();
            assert_eq!(wait(&heard), Ended::SponsorEnded);
        }
    });
}

#[test]
fn a_notice_that_panics_is_its_own_business() {
    ends_alone(|| {
        silence_panics();
        let here = Here::new_here().unwrap();
        let watched = here.spawn(does(|(), _| Flow::Stop));
        let (tell, heard) = mpsc::channel();
        let bomb = Bomb;
        watched.watch(move |_| {
            let _bomb = bomb;
        });
        watched.watch(|_| fail());
        watched.watch(move |ended| tell.send(ended).unwrap());
        watched.send(()).unwrap();
        here.run();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [Ended::Stopped]);
        assert_eq!(here.handle().failures(), 0);
    });
}

/// Returns the notices about a task that stops in its first turn, while another thread begins to
/// watch the task.
fn notices_of_one_that_is_watched_while_it_stops(sends_to_itself: bool) -> Vec<Ended> {
    let here = Here::new_here().unwrap();
    let (tell, heard) = mpsc::channel();
    let task = here.spawn(does(move |_: u32, turn: &Turn<'_, u32>| {
        let me = turn.address();
        if sends_to_itself {
            me.send(1).unwrap();
        }
        let (friend, tell) = (me.clone(), tell.clone());
        let friend = thread::spawn(move || friend.watch(move |ended| tell.send(ended).unwrap()));
        friend.join().unwrap();
        Flow::Stop
    }));
    task.send(0).unwrap();
    here.run();
    assert!(task.is_stopped());
    heard.try_iter().collect()
}

#[test]
fn who_watches_a_task_while_it_stops_hears_of_it_once() {
    ends_alone(|| {
        for sends_to_itself in [false, true] {
            let notices = notices_of_one_that_is_watched_while_it_stops(sends_to_itself);
            assert_eq!(notices, [Ended::Before], "{sends_to_itself}");
        }
    });
}

#[test]
fn a_notice_tells_of_its_own_task_and_of_no_later_one() {
    ends_alone(|| {
        silence_panics();
        let here = Here::new_here().unwrap();
        let (tell, heard) = mpsc::channel();
        let of_first = tell.clone();
        let first = here.spawn(does(move |_: u32, turn: &Turn<'_, u32>| {
            let (me, tell) = (turn.address(), of_first.clone());
            me.watch(move |ended| tell.send(("first", ended)).unwrap());
            me.send(1).unwrap();
            Flow::Stop
        }));
        first.send(0).unwrap();
        here.run();
        assert!(first.is_stopped());
        drop(first);
        assert_eq!(heard.try_recv(), Ok(("first", Ended::Before)));

        // One of these tasks gets the block.
        for _ in 0..4 {
            let second = here.spawn(does(|_: u32, _: &Turn<'_, u32>| fail()));
            let of_second = tell.clone();
            second.watch(move |ended| of_second.send(("second", ended)).unwrap());
            second.send(7).unwrap();
            here.run();
            let notices: Vec<_> = heard.try_iter().collect();
            assert_eq!(notices.len(), 1, "{notices:?}");
            assert!(
                matches!(notices[0], ("second", Ended::Failed(_))),
                "{notices:?}"
            );
        }
    });
}

#[test]
fn a_task_that_a_destructor_makes_in_a_freed_block_is_freed_as_well() {
    // The first task's block is free while its sends are committed. A task that is made then may
    // get the block, and must not be taken for the running task.
    ends_alone(|| {
        let before = audit();
        {
            let here = Here::new_here().unwrap();
            let made = Arc::new(Mutex::new(0));
            let (count, handle) = (made.clone(), here.handle());
            let bystander = here.spawn(does(move |(), _| {
                let _ = handle.workers();
                Flow::Continue
            }));
            let count_drop = made.clone();
            for _ in 0..3 {
                let count = count.clone();
                let count_drop = count_drop.clone();
                let handle = here.handle();
                // Its destructor is run by the sweep of the commit.
                let swept = here.spawn(does(move |(), _| Flow::Continue));
                let on_sweep = OnDrop(move || {
                    let inner = count_drop.clone();
                    let lives = OnDrop(move || *inner.lock().unwrap() -= 1);
                    *count.lock().unwrap() += 1;
                    drop(handle.spawn(does(move |(), _| {
                        let _lives = &lives;
                        Flow::Continue
                    })));
                });
                let holder = here.spawn(does(move |(), _| {
                    let _kept = &on_sweep;
                    Flow::Continue
                }));
                let keeper = here.spawn(does(move |(), _| {
                    let _kept = (&swept, &holder);
                    Flow::Continue
                }));
                keeper.send(()).unwrap();
                drop(keeper);
                here.run();
            }
            bystander.send(()).unwrap();
            here.run();
            assert_eq!(
                *made.lock().unwrap(),
                0,
                "unreachable ones are dropped at once"
            );
        }
        assert_eq!(audit(), before);
    });
}

/// Watches `watched` many times, and cancels each watch. Checks that the notices do not pile up.
fn watch_and_cancel(here: &Here, watched: &Address<()>) {
    let alive = Arc::new(());
    for _ in 0..100 {
        for _ in 0..100 {
            let alive = alive.clone();
            watched.watch(move |_| drop(alive)).cancel();
        }
        here.run();
        assert!(Arc::strong_count(&alive) <= 1 + 2 * 100 + 8);
    }
}

#[test]
fn many_watches_that_are_cancelled_do_not_pile_up() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        watch_and_cancel(&here, &here.spawn(Idle));
    });
}

#[test]
fn many_watches_through_doors_that_are_cancelled_do_not_pile_up() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let watched = here.spawn(Idle);
        let mapped = watched.contramap(|()| ());
        watch_and_cancel(&here, &mapped);
        watch_and_cancel(&here, &mapped.contramap(|()| ()));
        // A door in a box.
        let large = [0_u8; 10_000];
        watch_and_cancel(&here, &watched.contramap(move |()| assert_eq!(large[0], 0)));
    });
}
