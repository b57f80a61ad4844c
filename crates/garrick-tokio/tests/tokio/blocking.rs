//! Tests blocking work whose result the actor receives as a message.

use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier};

use garrick_actor::{Actor, Context, Incoming, Next, System};
use garrick_testkit::{Bomb, HANGS_AFTER, ends, wait};
use garrick_tokio::{BlockingError, SpawnBlocking, Tokio};

use super::system;

type Done = Result<u32, BlockingError>;
type Work = Box<dyn FnOnce() -> u32 + Send>;

enum Msg {
    Do(Work),
    DoOn(tokio::runtime::Handle, Work),
    DoAndUndo(Work),
    Done(Done),
}

/// An actor that runs the given blocking work, and reports the result.
struct Clerk(Sender<Done>);

impl Actor for Clerk {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Do(work) => cx.spawn_blocking(work, Msg::Done),
            Msg::DoOn(runtime, work) => cx.spawn_blocking_on(&runtime, work, Msg::Done),
            Msg::DoAndUndo(work) => {
                cx.spawn_blocking(work, Msg::Done);
                return Next::Undo;
            }
            Msg::Done(done) => self.0.send(done).unwrap(),
        }
        Next::Continue
    }
}

#[test]
fn the_result_comes_as_a_message_while_the_worker_goes_on() {
    ends(|| {
        let system = system(1);
        let (told, heard) = channel();
        let clerk = system.spawn(Clerk(told)).unwrap();
        // Both run at the same time, and neither on the worker. Otherwise they would wait forever.
        let both = Arc::new(Barrier::new(2));
        for n in 1..=2 {
            let both = both.clone();
            let work = move || {
                both.wait();
                n
            };
            clerk.send(Msg::Do(Box::new(work))).unwrap();
        }
        let mut done = [wait(&heard).unwrap(), wait(&heard).unwrap()];
        done.sort_unstable();
        assert_eq!(done, [1, 2]);
    });
}

#[test]
fn a_panic_is_a_result() {
    ends(|| {
        let system = system(1);
        let (told, heard) = channel();
        let clerk = system.spawn(Clerk(told)).unwrap();
        let fails = || panic!("no disk {}", 3);
        clerk.send(Msg::Do(Box::new(fails))).unwrap();
        assert_eq!(
            wait(&heard),
            Err(BlockingError::Panicked("no disk 3".into()))
        );
        clerk.send(Msg::Do(Box::new(|| 4))).unwrap();
        assert_eq!(wait(&heard), Ok(4));
        assert_eq!(system.handle().failures(), 0);
    });
}

#[test]
fn a_panic_is_a_result_whatever_it_leaves_behind() {
    ends(|| {
        let system = system(1);
        let (told, heard) = channel();
        let clerk = system.spawn(Clerk(told)).unwrap();
        let fails = || panic_any(Bomb);
        clerk.send(Msg::Do(Box::new(fails))).unwrap();
        let said = "a panic without a message".to_owned();
        assert_eq!(wait(&heard), Err(BlockingError::Panicked(said)));
    });
}

#[test]
fn an_undone_turn_begins_nothing() {
    ends(|| {
        let system = system(1);
        let (told, heard) = channel();
        let clerk = system.spawn(Clerk(told)).unwrap();
        let begun = Arc::new(AtomicUsize::new(0));
        let count = begun.clone();
        let work = move || count.fetch_add(1, Relaxed) as u32;
        clerk.send(Msg::DoAndUndo(Box::new(work))).unwrap();
        clerk.send(Msg::Do(Box::new(|| 5))).unwrap();
        assert_eq!(wait(&heard), Ok(5));
        drop(clerk);
        system.shutdown();
        assert_eq!(begun.load(Relaxed), 0);
        assert!(heard.recv().is_err(), "nothing but one result");
    });
}

#[test]
fn without_a_runtime_there_is_an_error_or_another_runtime() {
    ends(|| {
        let ordinary = System::builder().workers(1).start().unwrap();
        let (told, heard) = channel();
        let clerk = ordinary.spawn(Clerk(told)).unwrap();
        clerk.send(Msg::Do(Box::new(|| 1))).unwrap();
        assert_eq!(wait(&heard), Err(BlockingError::NoRuntime));
        let elsewhere = tokio::runtime::Runtime::new().unwrap();
        let work = Box::new(|| 2);
        clerk
            .send(Msg::DoOn(elsewhere.handle().clone(), work))
            .unwrap();
        assert_eq!(wait(&heard), Ok(2));
    });
}

#[test]
fn the_end_waits_for_blocking_work_only_if_told_to() {
    ends(|| {
        for waits in [false, true] {
            let mut driver = Tokio::new();
            if waits {
                driver = driver.blocking_grace(HANGS_AFTER);
            }
            let system = System::builder().workers(1).driver(driver).start().unwrap();
            let (begun, begins) = channel();
            let (go_on, may_go_on) = channel::<()>();
            let (done, is_done) = channel();
            let actor = system.spawn(move |_: Incoming<()>| async move {
                let work = move || {
                    begun.send(()).unwrap();
                    may_go_on.recv().unwrap();
                    done.send(()).unwrap();
                };
                tokio::task::spawn_blocking(work).await.unwrap();
            });
            wait(&begins);
            if waits {
                go_on.send(()).unwrap();
                system.shutdown_now();
                assert_eq!(is_done.try_recv(), Ok(()));
            } else {
                system.shutdown_now();
                assert!(is_done.try_recv().is_err());
                go_on.send(()).unwrap();
                wait(&is_done);
            }
            drop(actor);
        }
    });
}

#[test]
fn no_threads_is_an_error() {
    let driver = Tokio::new().blocking_threads_max(0);
    let none = System::builder().workers(1).driver(driver).start();
    let error = none.unwrap_err().to_string();
    assert!(error.contains("at least 1 thread"), "{error}");
}
