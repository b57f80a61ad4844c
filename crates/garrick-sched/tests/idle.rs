//! A sponsor with nothing to do uses no processor, with timers or without.
#![cfg(target_os = "linux")]

mod common;

use std::sync::mpsc::channel;
use std::time::Duration;

use common::{does, ends, wait};
use garrick_sched::{Flow, Sponsor, Turn};

/// Processor time of a thread of this process, in nanoseconds.
fn busy_ns(thread: &str) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// Uses up processor time of this thread; the others may use as much meanwhile.
fn work(ns: u64) {
    let end = busy_ns("thread-self") + ns;
    while busy_ns("thread-self") < end {}
}

#[test]
fn idle_workers_sleep() {
    for with_timer in [false, true] {
        ends(move || {
            let sponsor = Sponsor::pool(2).unwrap();
            let (told, tells) = channel();
            // The tasks stay, and so does their timer.
            let tasks = [(); 2].map(|()| {
                let told = told.clone();
                sponsor
                    .handle()
                    .spawn(does(move |first: bool, turn: &Turn<'_, bool>| {
                        if first {
                            let thread = std::fs::read_link("/proc/thread-self").unwrap();
                            told.send(thread.to_str().unwrap().to_owned()).unwrap();
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
            // They may look around before they sleep.
            work(20_000_000);
            let before: u64 = threads.iter().map(|thread| busy_ns(thread)).sum();
            work(60_000_000);
            let after: u64 = threads.iter().map(|thread| busy_ns(thread)).sum();
            assert!(
                after - before < 3_000_000,
                "{} ns are not sleep",
                after - before
            );
            drop(tasks);
        });
    }
}
