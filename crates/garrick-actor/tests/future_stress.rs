//! Stress tests of async actors and piped futures. They are a program of their own, which builds
//! faster with optimization than the program with all tests of async actors.
#![forbid(unsafe_code)]

#[path = "common/pipes.rs"]
mod pipes;

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{Incoming, Next, System};
use garrick_testkit::{HANGS_AFTER, fail, ms, silence_panics};
use pipes::{Gate, Msg, Piper};

/// Values from other threads. Each new value wakes the actor through the waker that the actor has
/// stored.
#[derive(Default)]
struct Slots {
    /// Values that the actor has not taken yet, and the waker of the actor, if it is waiting.
    state: Mutex<(Vec<u64>, Option<Waker>)>,
}

impl Slots {
    fn put(&self, value: u64) {
        let mut state = self.state.lock().unwrap();
        state.0.push(value);
        let waker = state.1.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll_take(&self, task: &std::task::Context<'_>, taken: &mut Vec<u64>) {
        let mut state = self.state.lock().unwrap();
        taken.append(&mut state.0);
        state.1 = Some(task.waker().clone());
    }
}

/// Threads wake an actor through its waker and send messages to it, while the actor sleeps and
/// yields. Every value and every message must arrive exactly once.
#[test]
fn stress_wakes_and_messages_of_many_threads_come_once() {
    const THREADS: u64 = 4;
    let each = [50_000, 5_000][usize::from(cfg!(debug_assertions))];
    let system = System::builder().workers(2).start().unwrap();
    let slots = Arc::<Slots>::default();
    let (told, heard) = mpsc::channel();
    let taken_from = slots.clone();
    let actor = system
        .spawn(move |mut mailbox: Incoming<u64>| async move {
            let cx = mailbox.context();
            let (mut values, mut messages) = (Vec::new(), Vec::new());
            let all = (THREADS * each) as usize;
            let mut turn = 0_u64;
            while values.len() < all || messages.len() < all {
                turn += 1;
                if turn.is_multiple_of(64) {
                    cx.sleep(Duration::from_micros(turn % 5 * 10)).await;
                } else if turn.is_multiple_of(7) {
                    cx.yield_now().await;
                }
                poll_fn(|task| {
                    let before = values.len() + messages.len();
                    taken_from.poll_take(task, &mut values);
                    while let Poll::Ready(Some(message)) = mailbox.poll_recv(task) {
                        messages.push(message);
                    }
                    if values.len() + messages.len() > before {
                        Poll::Ready(())
                    } else {
                        Poll::Pending
                    }
                })
                .await;
            }
            told.send((values, messages)).unwrap();
        })
        .unwrap();
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let (slots, actor) = (slots.clone(), actor.clone());
            thread::spawn(move || {
                for n in (0..each).map(|n| n * THREADS + thread) {
                    slots.put(n);
                    actor.send(n).unwrap();
                    if n % 1_000 == 0 {
                        thread::yield_now();
                    }
                }
            })
        })
        .collect();
    let (mut values, mut messages) = heard
        .recv_timeout(HANGS_AFTER)
        .expect("every wake is heard");
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    for thread in 0..THREADS {
        let own: Vec<_> = messages.iter().filter(|n| *n % THREADS == thread).collect();
        assert!(own.is_sorted(), "what one thread sends stays in order");
    }
    values.sort_unstable();
    messages.sort_unstable();
    let all: Vec<_> = (0..THREADS * each).collect();
    assert!(values == all && messages == all);
    assert_eq!(system.dead_letters(), 0);
}

#[test]
fn stress_pipes_of_actors_that_come_and_go_on_two_workers() {
    let system = System::builder().workers(2).start().unwrap();
    let (told, heard) = mpsc::channel();
    let guests = Arc::<AtomicUsize>::default();
    for round in 0..200 {
        let gate = Gate::default();
        let piper = system.spawn(Piper {
            gate: gate.clone(),
            guests: guests.clone(),
            heard: told.clone(),
        });
        let piper = piper.unwrap();
        piper.send(Msg::Pipe(100, Next::Continue)).unwrap();
        if round % 2 == 0 {
            gate.open();
            let mut results: Vec<_> = (0..100)
                .map(|_| heard.recv_timeout(HANGS_AFTER).unwrap().unwrap())
                .collect();
            results.sort_unstable();
            assert!(results.into_iter().eq(0..100));
        } else {
            piper.stop();
            gate.open();
        }
    }
    drop(told);
    // What was cancelled may have come before.
    while heard.recv_timeout(HANGS_AFTER).is_ok() {}
    system.shutdown();
    assert_eq!(guests.load(Ordering::Relaxed), 0);
}

#[test]
fn stress_a_child_that_fails_now_and_then_loses_only_what_it_failed_on() {
    silence_panics();
    let system = System::builder()
        .workers(2)
        .on_failure(|_| ())
        .start()
        .unwrap();
    let tree = Supervisor::new("app", Strategy::OneForOne).intensity(1_000, ms(1));
    let tree = tree.spawn(&system.handle()).unwrap();
    let (told, heard) = mpsc::channel();
    let child = tree
        .handle()
        .actor(move |mut mailbox: Incoming<u32>| {
            let told = told.clone();
            async move {
                while let Some(n) = mailbox.recv().await {
                    if n % 100 == 13 {
                        fail();
                    }
                    told.send(n).unwrap();
                }
            }
        })
        .named("child")
        .supervised_by(&tree)
        .spawn();
    let child = child.unwrap();
    (0..2_000).for_each(|n| child.send(n).unwrap());
    for n in (0..2_000).filter(|n| n % 100 != 13) {
        assert_eq!(heard.recv_timeout(HANGS_AFTER), Ok(n));
    }
    tree.stop().wait().unwrap();
}
