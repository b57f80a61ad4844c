//! Tests that a sponsor with nothing to do uses no CPU time, with timers or without.
#![cfg(target_os = "linux")]

mod common;

use std::sync::mpsc::channel;
use std::time::Duration;

use common::does;
use garrick_sched::{Flow, Sponsor, Turn};
use garrick_testkit::{assert_asleep, ends, this_thread, wait};

#[test]
fn idle_workers_sleep() {
    for with_timer in [false, true] {
        ends(move || {
            let sponsor = Sponsor::pool(2).unwrap();
            let (told, tells) = channel();
            // The tasks stay alive, and so does their timer.
            let tasks = [(); 2].map(|()| {
                let told = told.clone();
                sponsor
                    .handle()
                    .spawn(does(move |first: bool, turn: &Turn<'_, bool>| {
                        if first {
                            told.send(this_thread()).unwrap();
                        }
                        if with_timer {
                            turn.send_after(Duration::from_secs(3_600), &turn.address(), false)
                                .unwrap();
                        }
                        Flow::Continue
                    }))
            });
            let tasks = tasks.map(Result::unwrap);
            tasks.iter().for_each(|task| task.send(true).unwrap());
            let threads = [(); 2].map(|()| wait(&tells));
            assert_asleep(&threads);
            drop(tasks);
        });
    }
}
