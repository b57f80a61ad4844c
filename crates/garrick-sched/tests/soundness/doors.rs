//! Tests of doors that lead to other doors.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use garrick_sched::{Address, Door, Flow, Here, SendError, Sponsor, Turn, door};

use crate::common::does;
use garrick_testkit::{ends_alone, fail, silence_panics};

/// A message: a guard value, and the number of sends that are left.
type M = (Arc<()>, u32);

/// A door that sends to itself, a number of times.
struct Deep(Arc<AtomicUsize>);

impl Door for Deep {
    type Message = M;

    fn pass(&self, (cargo, left): M, here: &Address<M>) -> Result<(), SendError<M>> {
        if left > 0 {
            return here.send((cargo, left - 1));
        }
        self.0.fetch_add(1, Relaxed);
        Ok(())
    }
}

#[test]
fn a_message_is_passed_once_however_deep_the_doors() {
    ends_alone(|| {
        for _ in 0..5 {
            let pool = Sponsor::pool(2).unwrap();
            let passed = Arc::new(AtomicUsize::new(0));
            let count = passed.clone();
            let maker = pool.handle().spawn(does(move |(), _: &Turn<'_, ()>| {
                let address = door(Deep(count.clone()));
                for _ in 0..1000 {
                    let cargo = Arc::new(());
                    address.send((cargo.clone(), 40)).unwrap();
                    address.send((cargo, 80)).unwrap();
                }
                Flow::Stop
            }));
            let maker = maker.unwrap();
            maker.send(()).unwrap();
            let handle = pool.handle();
            pool.shutdown();
            assert_eq!(handle.failures(), 0);
            assert_eq!(passed.load(Relaxed), 2000);
        }
    });
}

#[test]
fn a_door_that_sends_to_itself_for_long_does_not_use_up_the_stack() {
    ends_alone(|| {
        let passed = Arc::new(AtomicUsize::new(0));
        let address = door(Deep(passed.clone()));
        let message = || (Arc::new(()), 1_000_000);
        // On a thread that is no worker, and in a turn.
        address.send(message()).unwrap();
        assert_eq!(passed.load(Relaxed), 1);
        let pool = Sponsor::pool(1).unwrap();
        let count = passed.clone();
        let maker = does(move |(), _: &Turn<'_, ()>| {
            let address = door(Deep(count.clone()));
            let message = (Arc::new(()), 1_000_000);
            address.send(message).unwrap();
            Flow::Stop
        });
        pool.handle().spawn(maker).unwrap().send(()).unwrap();
        pool.shutdown();
        assert_eq!(passed.load(Relaxed), 2);
    });
}

thread_local! {
    /// A thread-local value with a door, which may be dropped before or after Garrick's
    /// thread-local values. Both orders must work.
    static LAST: std::cell::RefCell<Option<OnExit>> = const { std::cell::RefCell::new(None) };
}

struct OnExit(Address<M>);

impl Drop for OnExit {
    fn drop(&mut self) {
        let message = (Arc::new(()), 100);
        self.0.send(message).unwrap();
    }
}

#[test]
fn doors_are_passed_while_a_thread_ends() {
    ends_alone(|| {
        for sends_before in [false, true] {
            let passed = Arc::new(AtomicUsize::new(0));
            let count = passed.clone();
            let thread = thread::spawn(move || {
                let address = door(Deep(count));
                if sends_before {
                    address.send((Arc::new(()), 100)).unwrap();
                }
                LAST.set(Some(OnExit(address.clone())));
                if !sends_before {
                    address.send((Arc::new(()), 100)).unwrap();
                }
            });
            thread.join().unwrap();
            assert_eq!(passed.load(Relaxed), 2);
        }
    });
}

/// A door that forwards all messages.
struct Pass(Address<u32>);

impl Door for Pass {
    type Message = u32;

    fn pass(&self, n: u32, _: &Address<u32>) -> Result<(), SendError<u32>> {
        self.0.send(n)
    }
}

/// A door on the thread of a [`Here`]. The door runs this `Here`.
struct Runs;

thread_local! {
    /// The [`Here`] that the door runs.
    static HERE: Here = Here::new_here().unwrap();
}

impl Door for Runs {
    type Message = u32;

    fn pass(&self, _: u32, _: &Address<u32>) -> Result<(), SendError<u32>> {
        HERE.with(Here::run);
        Ok(())
    }
}

#[test]
fn a_thread_that_runs_tasks_behind_many_doors_gets_through_with_it() {
    ends_alone(|| {
        let heard = Rc::new(Cell::new(0));
        let hears = heard.clone();
        let last = HERE.with(|here| {
            here.spawn(does(move |n: u32, _: &Turn<'_, u32>| {
                hears.set(hears.get() + n);
                Flow::Continue
            }))
        });
        let behind = door(Pass(last));
        let sender = HERE.with(|here| {
            here.spawn(does(move |n: u32, _: &Turn<'_, u32>| {
                behind.send(n).unwrap();
                Flow::Continue
            }))
        });
        sender.send(7).unwrap();
        let mut deep = door(Runs);
        for _ in 1..32 {
            deep = door(Pass(deep));
        }
        deep.send(0).unwrap();
        HERE.with(Here::run);
        assert_eq!(heard.get(), 7);
    });
}

/// A door that panics when a message is passed through it.
struct Fails;

impl Door for Fails {
    type Message = u32;

    fn pass(&self, _: u32, _: &Address<u32>) -> Result<(), SendError<u32>> {
        fail()
    }
}

#[test]
fn a_door_that_panics_when_a_timer_is_due_is_reported() {
    ends_alone(|| {
        silence_panics();
        let here = Here::new_here().unwrap();
        let task = here.spawn(does(|(): (), turn: &Turn<'_, ()>| {
            let delay = Duration::from_millis(1);
            turn.send_after(delay, &door(Fails), 1).unwrap();
            turn.send_after(2 * delay, &turn.address(), ()).unwrap();
            Flow::Continue
        }));
        let handle = here.handle();
        task.send(()).unwrap();
        let looks = Cell::new(0);
        here.run_until(|| {
            looks.set(looks.get() + 1);
            looks.get() > 6
        });
        assert!(handle.failures() > 0);
        assert_eq!(handle.dead_letters(), handle.failures() as u64);
    });
}
