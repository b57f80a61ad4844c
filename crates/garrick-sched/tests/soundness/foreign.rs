//! Tests of foreign code that panics outside of turns: functions of messages and names,
//! conversions, wakers and clocks.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use garrick_sched::{
    Ask, Flow, Here, Nanos, NoReply, RealWorld, Reply, Room, Sponsor, Task, ThreadSpec, Turn, World,
};

use crate::common::does;
use garrick_testkit::{Bomb, OnDrop, ends_alone, fail, silence_panics, wait};

/// A task whose functions that return its properties all panic.
struct Odd;

impl Task for Odd {
    type Message = u32;

    fn receive(&mut self, n: u32, turn: &Turn<'_, u32>) -> Flow {
        match n {
            // The sent message is dropped with the turn.
            1 => {
                turn.address().send(2).unwrap();
                fail()
            }
            2 => Flow::Stop,
            _ => Flow::Continue,
        }
    }

    fn is_letter(_: &u32) -> bool {
        fail()
    }

    fn name() -> &'static str {
        fail()
    }
}

#[test]
fn a_worker_goes_on_when_a_task_panics_about_its_letters_and_its_name() {
    ends_alone(|| {
        silence_panics();
        for workers in [1, 2] {
            let pool = Sponsor::builder()
                .workers(workers)
                .probes(true)
                .on_failure(|_| fail())
                .start()
                .unwrap();
            let handle = pool.handle();
            for first in [1, 2] {
                let odd = handle.spawn(Odd).unwrap();
                for n in [first, 3, 4, 5] {
                    let _ = odd.send(n);
                }
            }
            let (tell, heard) = mpsc::channel();
            let last = handle.spawn(does(move |(), _| {
                tell.send(()).unwrap();
                Flow::Stop
            }));
            last.unwrap().send(()).unwrap();
            wait(&heard);
            pool.shutdown();
            assert_eq!(handle.failures(), 1);
            let names: Vec<_> = handle.sample().kinds.iter().map(|kind| kind.name).collect();
            assert!(names.contains(&"a task whose name panics"), "{names:?}");
        }
    });
}

#[test]
fn a_conversion_that_panics_while_a_turn_unwinds_ends_that_turn_only() {
    ends_alone(|| {
        silence_panics();
        let here = Here::new_here().unwrap();
        let asker = here.spawn(does(|(): (), _: &Turn<'_, ()>| Flow::Continue));
        let replier = here.spawn(does(|_reply: Reply<u32>, _: &Turn<'_, _>| fail()));
        let reply = Reply::to_task(asker.clone(), |_: Result<u32, NoReply>| fail());
        replier.send(reply).unwrap();
        here.run();
        assert!(replier.is_stopped() && !asker.is_stopped());
        drop(Reply::<u32>::to_task(asker.clone(), |_| fail()));
        asker.send(()).unwrap();
        here.run();
        assert_eq!(here.handle().failures(), 1);
    });
}

/// A waker that panics whenever it is called or dropped.
struct BadWaker(Bomb);

impl Wake for BadWaker {
    fn wake(self: Arc<Self>) {
        let _ = &self.0;
        fail()
    }
}

/// Polls the answer once with a waker that panics.
fn polled_badly(ask: &mut Ask<u32>) {
    let waker = Waker::from(Arc::new(BadWaker(Bomb)));
    let polled = std::pin::Pin::new(ask).poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    // The ask has a waker as well, so this is not the last.
    drop(waker);
}

#[test]
fn an_askers_waker_that_panics_does_not_undo_the_turn_that_answers() {
    ends_alone(|| {
        silence_panics();
        let here = Here::new_here().unwrap();
        let (tell, heard) = mpsc::channel();
        let replier = here.spawn(does(move |reply: Reply<u32>, _: &Turn<'_, _>| {
            reply.send(7);
            tell.send(()).unwrap();
            Flow::Continue
        }));
        let mut ask = replier.ask(|reply| reply);
        polled_badly(&mut ask);
        here.run();
        assert_eq!(ask.wait(), Ok(7));
        // An ask that is dropped with such a waker in it leaves all the same, and the answer is
        // dropped.
        let mut ask = replier.ask(|reply| reply);
        polled_badly(&mut ask);
        drop(ask);
        here.run();
        assert_eq!(heard.try_iter().count(), 2);
        assert_eq!(here.handle().failures(), 0);
    });
}

#[test]
fn an_answer_that_panics_when_dropped_does_not_undo_the_turn_that_gave_it() {
    ends_alone(|| {
        silence_panics();
        let here = Here::new_here().unwrap();
        let replier = here.spawn(does(|reply: Reply<Bomb>, _: &Turn<'_, _>| {
            reply.send(Bomb);
            Flow::Continue
        }));
        drop(replier.ask(|reply| reply));
        here.run();
        assert_eq!(here.handle().failures(), 0);
    });
}

#[test]
fn a_place_is_given_back_though_the_waker_of_who_waits_panics() {
    silence_panics();
    let room = Room::new(1);
    let place = room.try_take().unwrap();
    let waker = Waker::from(Arc::new(BadWaker(Bomb)));
    let mut taking = Box::pin(room.take());
    assert!(
        taking
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    std::mem::forget(waker);
    drop(place);
    assert_eq!(room.taken(), 0);
    let again = taking
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(again, Poll::Ready(_)));
}

/// A world whose clock panics at regular intervals, and whose function for seeds always panics.
struct NoTime {
    real: Arc<dyn World>,
    asked: AtomicU64,
}

impl World for NoTime {
    fn now(&self) -> Nanos {
        if self.asked.fetch_add(1, Relaxed) % 3 != 1 {
            fail();
        }
        self.real.now()
    }

    fn lease_now(&self) -> Nanos {
        fail()
    }

    fn seed(&self) -> u64 {
        fail()
    }

    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        self.real.spawn_thread(spec, body)
    }
}

#[test]
fn workers_go_on_in_a_world_whose_clock_panics() {
    ends_alone(|| {
        silence_panics();
        for workers in [1, 2] {
            let world = NoTime {
                real: RealWorld::shared(),
                asked: AtomicU64::new(0),
            };
            let (failed, failures) = mpsc::channel();
            let pool = Sponsor::builder()
                .workers(workers)
                .probes(true)
                .world(Arc::new(world))
                .on_failure(move |failure| failed.send(failure.task).unwrap())
                .start()
                .unwrap();
            let (tell, heard) = mpsc::channel();
            let timed = does(move |left: u32, turn: &Turn<'_, u32>| {
                let _ = turn.now();
                assert_eq!(turn.lease_now(), Nanos::MAX, "all leases have ended");
                if left == 0 {
                    tell.send(()).unwrap();
                    return Flow::Stop;
                }
                let me = turn.address();
                turn.send_after(Duration::from_micros(50), &me, left - 1)
                    .unwrap();
                Flow::Continue
            });
            let timed = pool.handle().spawn(timed).unwrap();
            timed.send(20).unwrap();
            wait(&heard);
            let handle = pool.handle();
            let _ = handle.sample();
            pool.shutdown();
            assert_eq!(handle.failures(), 1, "it is reported once");
            assert_eq!(failures.recv(), Ok("the clock of the sponsor's world"));
        }
    });
}

#[test]
fn what_a_sponsor_was_given_may_panic_when_it_is_dropped() {
    ends_alone(|| {
        silence_panics();
        for workers in [1, 2] {
            let dropped = Arc::new(AtomicU64::new(0));
            let count = dropped.clone();
            let on_drop = OnDrop(move || {
                count.fetch_add(1, Relaxed);
            });
            let bomb = Bomb;
            let pool = Sponsor::builder()
                .workers(workers)
                .on_failure(move |_| {
                    let _kept = (&on_drop, &bomb);
                })
                .start()
                .unwrap();
            // The last handle goes with a task of another sponsor, in a turn.
            let other = Sponsor::pool(1).unwrap();
            let handle = pool.handle();
            let holder = does(move |(): (), _: &Turn<'_, ()>| {
                let _kept = &handle;
                Flow::Stop
            });
            let holder = other.handle().spawn(holder).unwrap();
            pool.shutdown();
            holder.send(()).unwrap();
            other.shutdown();
            assert_eq!(dropped.load(Relaxed), 1);
        }
    });
}
