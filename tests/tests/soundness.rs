//! Programs of safe code that once broke the runtime, through the facade. Programs that use only
//! the scheduler are beside it.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};

use garrick::prelude::*;
use garrick::supervise::Ended;
use garrick_testkit::{Bomb, HANGS_AFTER};

#[test]
fn a_cancelled_watch_with_a_destructor_that_panics_hurts_nobody() {
    let system = System::builder().workers(1).start().unwrap();
    let watched = system.spawn(behavior(|(): (), _| Next::Continue)).unwrap();
    let bomb = Bomb;
    watched
        .watch(move |_: Ended| {
            let _bomb = &bomb;
        })
        .cancel();
    // The last address goes with an actor that no address reaches.
    let keeper = system.spawn(behavior(move |(): (), _| {
        let _kept = &watched;
        Next::Continue
    }));
    keeper.unwrap().send(()).unwrap();
    let handled = Arc::new(AtomicUsize::new(0));
    let count = handled.clone();
    let innocent = system.spawn(behavior(move |(): (), _| {
        count.fetch_add(1, Relaxed);
        Next::Continue
    }));
    let innocent = innocent.unwrap();
    innocent.send(()).unwrap();
    assert_eq!(system.failures(), 0);
    system.shutdown();
    assert_eq!(handled.load(Relaxed), 1);
}

#[test]
fn a_system_that_a_task_of_its_own_driver_drops_ends() {
    for workers in [1, 2] {
        let system = System::builder()
            .workers(workers)
            .driver(garrick::tokio::Tokio::new())
            .start()
            .unwrap();
        let handle = system.handle();
        let (give, given) = tokio::sync::oneshot::channel::<System>();
        let (tell, heard) = mpsc::channel();
        let begin = handle
            .spawn(behavior({
                let parts = Mutex::new(Some((given, tell)));
                move |(): (), _| {
                    if let Some((given, tell)) = parts.lock().unwrap().take() {
                        tokio::spawn(async move {
                            drop(given.await);
                            tell.send(()).unwrap();
                        });
                    }
                    Next::Continue
                }
            }))
            .unwrap();
        begin.send(()).unwrap();
        assert!(give.send(system).is_ok());
        assert_eq!(
            heard.recv_timeout(HANGS_AFTER),
            Ok(()),
            "it waits for itself"
        );
    }
}
