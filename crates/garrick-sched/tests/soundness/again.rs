//! Tests of foreign code that calls the runtime in the middle of an operation of the runtime, or
//! just after it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::mem;
use std::panic::panic_any;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::thread::JoinHandle;

use garrick_sched::{
    Address, Door, Flow, Here, Nanos, NoReply, RealWorld, Reply, SendError, Sponsor, StartError,
    Task, ThreadSpec, Turn, World, door,
};

use crate::common::does;
use garrick_testkit::{OnDrop, ends_alone, fail, silence_panics, wait};

thread_local! {
    /// The function that the clock of this thread calls.
    static ON_LOOK: RefCell<Option<Rc<dyn Fn()>>> = const { RefCell::new(None) };
}

/// A world whose clock is a function.
struct Clock<F>(F);

impl<F: Fn() -> Nanos + Send + Sync + 'static> World for Clock<F> {
    fn now(&self) -> Nanos {
        (self.0)()
    }

    fn seed(&self) -> u64 {
        1
    }

    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        RealWorld::shared().spawn_thread(spec, body)
    }
}

/// Returns a world whose clock calls the function of this thread.
fn acts() -> Arc<dyn World> {
    Arc::new(Clock(|| {
        let act = ON_LOOK.take();
        if let Some(act) = act {
            act();
        }
        1
    }))
}

#[test]
fn a_clock_that_runs_the_tasks_of_its_thread_does_not_run_one_twice_at_once() {
    ends_alone(|| {
        silence_panics();
        let here = Rc::new(Sponsor::builder().world(acts()).here().unwrap());
        let inside = Rc::new(Cell::new(0));
        let most = Rc::new(Cell::new(0));
        let (i, m) = (inside.clone(), most.clone());
        let again = here.clone();
        let task = here.spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
            i.set(i.get() + 1);
            m.set(m.get().max(i.get()));
            if n > 0 {
                turn.address().send(n - 1).unwrap();
                let again = again.clone();
                ON_LOOK.set(Some(Rc::new(move || again.run())));
                turn.now();
            }
            i.set(i.get() - 1);
            Flow::Continue
        }));
        task.send(3).unwrap();
        here.run();
        assert_eq!(most.get(), 1);
    });
}

#[test]
fn a_clock_that_sends_in_a_turn_within_a_future_is_in_no_turn() {
    ends_alone(|| {
        silence_panics();
        let here = Rc::new(Sponsor::builder().world(acts()).here().unwrap());
        let other = here.spawn(does(|(): (), _: &Turn<'_, ()>| Flow::Continue));
        let task = here.spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
            if n > 0 {
                turn.address().send(n - 1).unwrap();
                let other = other.clone();
                ON_LOOK.set(Some(Rc::new(move || other.send(()).unwrap())));
                turn.now();
                fail()
            }
            Flow::Continue
        }));
        let (again, mut task) = (here.clone(), Some(task));
        here.block_on(poll_fn(move |_| {
            task.take().unwrap().send(1).unwrap();
            again.run();
            Poll::Ready(())
        }));
        here.run();
        assert_eq!(here.handle().failures(), 1);
    });
}

thread_local! {
    /// An address of which only this thread has a clone.
    static KEPT: RefCell<Option<Address<u32>>> = const { RefCell::new(None) };
}

#[test]
fn an_asker_whose_last_address_is_dropped_by_the_conversion_of_a_refusal_hears_it() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let heard = Rc::new(Cell::new(0));
        let hears = heard.clone();
        let asker = here.spawn(does(move |n: u32, _: &Turn<'_, u32>| {
            hears.set(hears.get() + n);
            Flow::Continue
        }));
        let replier = here.spawn(does(|reply: Reply<u32>, _: &Turn<'_, _>| {
            reply.send(1);
            Flow::Undo
        }));
        let reply = Reply::to_task(asker.clone(), |answer: Result<u32, NoReply>| {
            if answer.is_err() {
                KEPT.take();
            }
            answer.unwrap_or(10)
        });
        KEPT.set(Some(asker));
        replier.send(reply).unwrap();
        here.run();
        assert_eq!(heard.get(), 10);
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

#[test]
fn what_goes_through_deep_doors_stays_in_order() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let heard = Rc::new(RefCell::new(Vec::new()));
        let hears = heard.clone();
        let mut to = here.spawn(does(move |n: u32, _: &Turn<'_, u32>| {
            hears.borrow_mut().push(n);
            Flow::Continue
        }));
        for _ in 0..100 {
            to = door(Pass(to));
        }
        let sender = here.spawn(does(move |(): (), _: &Turn<'_, ()>| {
            for n in 0..10 {
                to.send(n).unwrap();
            }
            Flow::Continue
        }));
        sender.send(()).unwrap();
        here.run();
        assert_eq!(*heard.borrow(), (0..10).collect::<Vec<_>>());
    });
}

/// Returns a world whose clock jumps to the largest possible time after it was read `looks` times.
fn leaps(looks: u64) -> Arc<dyn World> {
    let left = AtomicU64::new(looks);
    Arc::new(Clock(move || {
        let now = left.load(Relaxed);
        left.store(now.saturating_sub(1), Relaxed);
        if now == 0 { Nanos::MAX } else { 1 }
    }))
}

#[test]
fn a_clock_that_leaps_ends_no_task_that_is_measured() {
    ends_alone(|| {
        // One of these looks is at the end of an activation that represents many.
        for looks in 100..120 {
            let here = Sponsor::builder().world(leaps(looks)).probes(true).here();
            let here = here.unwrap();
            let task = here.spawn(does(|n: u32, turn: &Turn<'_, u32>| {
                if n > 0 {
                    turn.address().send(n - 1).unwrap();
                }
                Flow::Continue
            }));
            task.send(2_000).unwrap();
            here.run();
            assert_eq!(here.handle().failures(), 0);
        }
    });
}

/// A guard that calls its closure when it is dropped.
type Calls = OnDrop<Box<dyn FnMut() + Send>>;

/// A task that fails when it starts.
struct FailsToStart;

impl Task for FailsToStart {
    type Message = Calls;
    const STARTS: bool = true;

    fn start(&mut self, _: &Turn<'_, Calls>) -> Flow {
        fail()
    }

    fn receive(&mut self, _: Calls, _: &Turn<'_, Calls>) -> Flow {
        Flow::Continue
    }
}

#[test]
fn what_waits_for_a_start_that_fails_may_send_when_it_is_dropped() {
    ends_alone(|| {
        silence_panics();
        let here = Here::new_here().unwrap();
        let heard = Rc::new(Cell::new(0));
        let hears = heard.clone();
        let to = here.spawn(does(move |n: u32, _: &Turn<'_, u32>| {
            hears.set(hears.get() + n);
            Flow::Continue
        }));
        let mut newborn = None;
        let spawner = here.spawn(does(move |(): (), turn: &Turn<'_, ()>| {
            let Some(newborn) = newborn.take() else {
                // The turn is undone, and with it the start of the task. The task has an address
                // all the same.
                newborn = Some(turn.spawn(FailsToStart));
                return Flow::Undo;
            };
            let to = to.clone();
            let calls: Calls = OnDrop(Box::new(move || to.send(1).unwrap()));
            newborn.send(calls).ok().unwrap();
            Flow::Continue
        }));
        spawner.send(()).unwrap();
        spawner.send(()).unwrap();
        here.run();
        assert_eq!((heard.get(), here.handle().failures()), (1, 1));
        assert_eq!(here.handle().dead_letters(), 1);
    });
}

/// Makes a task that reports every message.
fn tells(pool: &Sponsor) -> (Address<()>, mpsc::Receiver<()>) {
    let (tell, heard) = mpsc::channel();
    let task = does(move |(): (), _: &Turn<'_, ()>| {
        tell.send(()).unwrap();
        Flow::Continue
    });
    (pool.handle().spawn(task).unwrap(), heard)
}

#[test]
fn what_a_panic_left_may_send_when_it_is_dropped() {
    ends_alone(|| {
        silence_panics();
        let (pool, other) = (Sponsor::pool(1).unwrap(), Sponsor::pool(1).unwrap());
        let (far, heard) = tells(&pool);
        let bad = other
            .handle()
            .spawn(does(move |(): (), _: &Turn<'_, ()>| {
                let far = far.clone();
                panic_any(OnDrop(move || far.send(()).unwrap()))
            }))
            .unwrap();
        bad.send(()).unwrap();
        wait(&heard);
    });
}

#[test]
fn what_a_sponsor_was_given_may_send_when_its_last_handle_is_dropped_by_a_move() {
    ends_alone(|| {
        let (pool, other) = (Sponsor::pool(1).unwrap(), Sponsor::pool(1).unwrap());
        let (far, heard) = tells(&pool);
        let bad = other
            .handle()
            .spawn(does(move |(): (), turn: &Turn<'_, ()>| {
                let far = far.clone();
                let gone = Sponsor::builder()
                    .attach(Mutex::new(OnDrop(move || far.send(()).unwrap())))
                    .start()
                    .unwrap();
                let handle = gone.handle();
                gone.shutdown();
                mem::forget(
                    turn.spawn_on(&handle, does(|(): (), _: &Turn<'_, ()>| Flow::Continue)),
                );
                Flow::Continue
            }))
            .unwrap();
        bad.send(()).unwrap();
        wait(&heard);
    });
}

#[test]
fn a_sponsor_of_more_workers_than_there_is_memory_for_is_refused() {
    let asked = usize::MAX;
    let refused = Sponsor::builder().workers(asked).start();
    assert!(matches!(refused, Err(StartError::TooManyWorkers { asked: said }) if said == asked));
}
