//! Tests of sponsors that refuse messages from strangers (other threads) after they have begun to
//! end. Such a sponsor handles all messages that it has accepted.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;

use common::does;
use garrick_sched::{Address, Flow, Here, NoReply, Reply, SendError, Sponsor, Task, Turn};

/// Creates a sponsor that refuses messages from other threads when it ends.
fn sponsor(workers: usize) -> Sponsor {
    let builder = Sponsor::builder().workers(workers).refuse_strangers(true);
    builder.start().unwrap()
}

/// Makes a task that sends to itself until it is stopped, so that its sponsor does not end.
fn busy(sponsor: &Sponsor) -> Arc<AtomicBool> {
    let stops = Arc::new(AtomicBool::new(false));
    let told = stops.clone();
    let task = does(move |(), turn: &Turn<'_, ()>| {
        if !told.load(SeqCst) {
            turn.send(&turn.address(), ()).unwrap();
        }
        Flow::Continue
    });
    sponsor.handle().spawn(task).unwrap().send(()).unwrap();
    stops
}

fn counter(handled: &Arc<AtomicUsize>) -> impl Task<Message = u32> + Send {
    let handled = handled.clone();
    does(move |_: u32, _: &Turn<'_, u32>| {
        handled.fetch_add(1, SeqCst);
        Flow::Continue
    })
}

#[test]
fn a_stranger_gets_its_message_back_once_the_end_has_begun() {
    let sponsor = sponsor(1);
    let handled = Arc::new(AtomicUsize::new(0));
    let task = sponsor.handle().spawn(counter(&handled)).unwrap();
    let stops = busy(&sponsor);
    task.send(1).unwrap();
    sponsor.begin_shutdown();
    assert_eq!(task.send(2), Err(SendError(2)));
    stops.store(true, SeqCst);
    sponsor.wait();
    assert_eq!(handled.load(SeqCst), 1);
}

#[test]
fn a_stranger_gets_back_what_would_have_been_converted() {
    let sponsor = sponsor(1);
    let handled = Arc::new(AtomicUsize::new(0));
    let task = sponsor.handle().spawn(counter(&handled)).unwrap();
    let converted = Arc::new(AtomicUsize::new(0));
    let count = converted.clone();
    let text = task.contramap(move |text: &str| count.fetch_add(text.len(), SeqCst) as u32);
    let stops = busy(&sponsor);
    text.send("one").unwrap();
    sponsor.begin_shutdown();
    let refused = text.send("three");
    stops.store(true, SeqCst);
    sponsor.wait();
    assert_eq!(refused, Err(SendError("three")));
    assert_eq!((converted.load(SeqCst), handled.load(SeqCst)), (3, 1));
}

#[test]
fn without_a_gate_strangers_are_heard_until_the_end() {
    let sponsor = Sponsor::single("without a gate").unwrap();
    let handled = Arc::new(AtomicUsize::new(0));
    let task = sponsor.handle().spawn(counter(&handled)).unwrap();
    let stops = busy(&sponsor);
    sponsor.begin_shutdown();
    assert_eq!(task.send(1), Ok(()));
    stops.store(true, SeqCst);
    sponsor.wait();
    assert_eq!(handled.load(SeqCst), 1);
}

#[test]
fn a_question_of_a_stranger_is_refused() {
    let sponsor = sponsor(1);
    let task = does(|reply: Reply<u32>, _: &Turn<'_, Reply<u32>>| {
        reply.send(1);
        Flow::Continue
    });
    let task = sponsor.handle().spawn(task).unwrap();
    let stops = busy(&sponsor);
    assert_eq!(task.ask(|reply| reply).wait(), Ok(1));
    sponsor.begin_shutdown();
    assert_eq!(task.ask(|reply| reply).wait(), Err(NoReply::Dropped));
    assert_eq!(task.call(|reply| reply).wait(), Err(NoReply::Dropped));
    stops.store(true, SeqCst);
}

#[test]
fn a_call_of_a_stranger_is_refused_where_a_worker_sleeps() {
    let sponsor = sponsor(2);
    let stops = busy(&sponsor);
    let task = || {
        let task = does(|reply: Reply<u32>, _: &Turn<'_, Reply<u32>>| {
            reply.send(1);
            Flow::Continue
        });
        sponsor.handle().spawn(task).unwrap()
    };
    // One of them is at the worker that has nothing else to do, where the caller could sit down.
    let tasks = [task(), task()];
    let call = |task: &Address<Reply<u32>>| task.call(|reply| reply).wait();
    assert!(tasks.iter().all(|task| call(task) == Ok(1)));
    sponsor.begin_shutdown();
    for _ in 0..1_000 {
        assert!(tasks.iter().all(|task| call(task) == Err(NoReply::Dropped)));
    }
    stops.store(true, SeqCst);
}

#[test]
fn a_task_of_another_sponsor_is_a_stranger() {
    let sponsor = sponsor(1);
    let handled = Arc::new(AtomicUsize::new(0));
    let task = sponsor.handle().spawn(counter(&handled)).unwrap();
    let stops = busy(&sponsor);
    let here = Here::new_here().unwrap();
    let (tells, told) = channel();
    let sender = here.spawn(does(move |message: u32, turn: &Turn<'_, u32>| {
        tells.send(turn.send(&task, message)).unwrap();
        Flow::Continue
    }));
    sender.send(1).unwrap();
    here.run();
    assert_eq!(told.try_recv(), Ok(Ok(())));
    sponsor.begin_shutdown();
    sender.send(2).unwrap();
    here.run();
    assert_eq!(told.try_recv(), Ok(Err(SendError(2))));
    stops.store(true, SeqCst);
    sponsor.wait();
    assert_eq!(handled.load(SeqCst), 1);
}

type Heard = Option<Result<u32, NoReply>>;

/// Makes a task that gives its reply away over `asks`, and reports the answer over `hears`.
fn asker(
    asks: Sender<Reply<u32>>,
    hears: Sender<Result<u32, NoReply>>,
) -> impl Task<Message = Heard> + Send {
    does(move |heard: Heard, turn: &Turn<'_, Heard>| {
        match heard {
            None => asks.send(Reply::to_task(turn.address(), Some)).unwrap(),
            Some(answer) => hears.send(answer).unwrap(),
        }
        Flow::Continue
    })
}

#[test]
fn an_answer_of_a_stranger_is_no_refused_message() {
    let sponsor = sponsor(1);
    let stops = busy(&sponsor);
    let ((asks, asked), (hears, heard)) = (channel(), channel());
    let asker = sponsor.handle().spawn(asker(asks, hears)).unwrap();
    asker.send(None).unwrap();
    asker.send(None).unwrap();
    let (first, second) = (asked.recv().unwrap(), asked.recv().unwrap());
    sponsor.begin_shutdown();
    first.send(1);
    assert_eq!(heard.recv(), Ok(Ok(1)));
    let here = Here::new_here().unwrap();
    let replier = here.spawn(does(|reply: Reply<u32>, _: &Turn<'_, Reply<u32>>| {
        reply.send(2);
        Flow::Continue
    }));
    replier.send(second).unwrap();
    here.run();
    assert_eq!(heard.recv(), Ok(Ok(2)), "also from a task");
    stops.store(true, SeqCst);
}

#[test]
fn the_closure_of_a_turn_that_blocks_is_no_stranger() {
    let sponsor = sponsor(1);
    let handled = Arc::new(AtomicUsize::new(0));
    let task = sponsor.handle().spawn(counter(&handled)).unwrap();
    let barrier = Arc::new(Barrier::new(2));
    let met = barrier.clone();
    let blocks = does(move |(), turn: &Turn<'_, ()>| {
        met.wait();
        turn.blocking(|| {
            met.wait();
            task.send(1).unwrap();
        });
        Flow::Continue
    });
    sponsor.handle().spawn(blocks).unwrap().send(()).unwrap();
    barrier.wait();
    sponsor.begin_shutdown();
    barrier.wait();
    sponsor.wait();
    assert_eq!(handled.load(SeqCst), 1);
}

/// Largest number of messages of a flood that were sent but not handled yet.
const AHEAD_MAX: usize = 10_000;

#[test]
fn what_was_taken_from_strangers_is_handled() {
    for round in 0..200 {
        let sponsor = sponsor(1 + round % 4);
        let handled = Arc::new(AtomicUsize::new(0));
        let spawn = || sponsor.handle().spawn(counter(&handled)).unwrap();
        let tasks: [Address<u32>; 8] = std::array::from_fn(|_| spawn());
        let sent = Arc::new(AtomicUsize::new(0));
        let floods: Vec<_> = (0..3)
            .map(|_| {
                let (tasks, sent, handled) = (tasks.clone(), sent.clone(), handled.clone());
                thread::spawn(move || {
                    let is_taken = |task: &Address<u32>| {
                        // Not so far ahead that the messages fill the memory, where the workers
                        // find no core.
                        while sent.load(SeqCst) > handled.load(SeqCst) + AHEAD_MAX {
                            thread::yield_now();
                        }
                        let is_taken = task.send(0).is_ok();
                        sent.fetch_add(usize::from(is_taken), SeqCst);
                        is_taken
                    };
                    tasks
                        .iter()
                        .cycle()
                        .take_while(|task| is_taken(task))
                        .count()
                })
            })
            .collect();
        while handled.load(SeqCst) < round {
            thread::yield_now();
        }
        sponsor.shutdown();
        let taken: usize = floods.into_iter().map(|flood| flood.join().unwrap()).sum();
        assert_eq!(handled.load(SeqCst), taken, "round {round}");
    }
}
