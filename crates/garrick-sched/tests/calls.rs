//! Tests of questions that are sent only when the caller waits for the answer. The waiting thread
//! may run the asked task itself.

mod common;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use common::does;
use garrick_sched::{Address, Flow, NoReply, Reply, Sponsor, Task, Turn};
use garrick_testkit::{OnDrop, ends, ends_alone, fail, silence_panics};

/// Answers with the id of the thread that it runs on.
fn who() -> impl Task<Message = Reply<ThreadId>> + Send {
    does(|reply: Reply<ThreadId>, _: &Turn<'_, _>| {
        reply.send(thread::current().id());
        Flow::Continue
    })
}

/// Makes many calls one after another. Returns true if this thread has run the asked task for one
/// of them.
fn runs_here(task: &Address<Reply<ThreadId>>) -> bool {
    (0..1_000).any(|_| task.call(|reply| reply).wait() == Ok(thread::current().id()))
}

#[test]
fn a_thread_that_waits_runs_the_task_that_it_calls() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let task = sponsor.handle().spawn(who()).unwrap();
        assert!(runs_here(&task));
    });
}

#[test]
fn it_does_not_where_that_is_switched_off_or_the_workers_are_pinned() {
    ends(|| {
        let off = Sponsor::builder().callers_run(false);
        let pinned = Sponsor::builder().pin_to([0]);
        for builder in [off, pinned] {
            let sponsor = builder.start().unwrap();
            let task = sponsor.handle().spawn(who()).unwrap();
            assert!(!runs_here(&task));
        }
    });
}

#[test]
fn it_does_not_while_it_unwinds() {
    ends(|| {
        silence_panics();
        let sponsor = Sponsor::pool(1).unwrap();
        let task = sponsor.handle().spawn(who()).unwrap();
        let (here, ran_here) = (thread::current().id(), Arc::new(AtomicUsize::new(0)));
        let (asked, seen) = (task.clone(), ran_here.clone());
        let unwinding = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _asks = OnDrop(|| {
                for _ in 0..1_000 {
                    let ran = asked.call(|reply| reply).wait().unwrap();
                    seen.fetch_add(usize::from(ran == here), Relaxed);
                }
            });
            fail()
        }));
        assert!(unwinding.is_err());
        assert_eq!(ran_here.load(Relaxed), 0);
    });
}

#[test]
fn a_task_that_takes_long_is_left_to_its_worker() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let slow = sponsor
            .handle()
            .spawn(does(|reply: Reply<ThreadId>, _: &Turn<'_, _>| {
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(1) {}
                reply.send(thread::current().id());
                Flow::Continue
            }))
            .unwrap();
        let here = thread::current().id();
        let ran_here = (0..100).filter(|_| slow.call(|reply| reply).wait() == Ok(here));
        assert!(ran_here.count() <= 2);
    });
}

#[test]
fn a_call_that_is_not_waited_for_asks_nothing() {
    ends_alone(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let task = sponsor.handle().spawn(who()).unwrap();
        let call = task.call(|_: Reply<()>| -> Reply<ThreadId> { unreachable!("it is not asked") });
        drop(call);
        sponsor.shutdown();
    });
}

#[test]
fn a_task_that_has_stopped_or_stops_meanwhile_gives_no_answer() {
    ends_alone(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let stops = does(|_: Reply<()>, _: &Turn<'_, _>| Flow::Stop);
        let task = sponsor.handle().spawn(stops).unwrap();
        assert_eq!(task.call(|reply| reply).wait(), Err(NoReply::Dropped));
        assert_eq!(task.call(|reply| reply).wait(), Err(NoReply::Dropped));
        sponsor.shutdown();
    });
}

#[test]
fn a_panic_on_the_callers_thread_is_the_tasks() {
    ends_alone(|| {
        silence_panics();
        let sponsor = Sponsor::pool(1).unwrap();
        let handle = sponsor.handle();
        for round in 1..=100 {
            let fails = does(|_: Reply<()>, _: &Turn<'_, _>| fail());
            let task = handle.spawn(fails).unwrap();
            assert_eq!(task.call(|reply| reply).wait(), Err(NoReply::Dropped));
            while handle.failures() < round {
                thread::yield_now();
            }
        }
        sponsor.shutdown();
    });
}

#[test]
fn what_the_called_task_sends_and_sets_is_done_when_the_caller_has_left() {
    ends_alone(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let (done, heard) = channel();
        let count = does(move |number: u32, _: &Turn<'_, _>| {
            done.send(number).unwrap();
            Flow::Continue
        });
        let count = sponsor.handle().spawn(count).unwrap();
        let asked = does(move |reply: Reply<()>, turn: &Turn<'_, _>| {
            reply.send(());
            for number in 0..100 {
                turn.send(&count, number).unwrap();
            }
            let later = Duration::from_millis(2);
            turn.send_after(later, &count, 100).unwrap();
            Flow::Continue
        });
        let asked = sponsor.handle().spawn(asked).unwrap();
        for _ in 0..100 {
            asked.call(|reply| reply).wait().unwrap();
            for number in 0..=100 {
                assert_eq!(heard.recv_timeout(Duration::from_secs(60)), Ok(number));
            }
        }
        sponsor.shutdown();
    });
}

#[test]
fn what_the_called_task_sends_last_is_handled_when_the_caller_has_left() {
    ends_alone(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let (done, heard) = channel();
        let tells = does(move |number: u32, _: &Turn<'_, _>| {
            done.send(number).unwrap();
            Flow::Continue
        });
        let tells = sponsor.handle().spawn(tells).unwrap();
        let asked = does(move |reply: Reply<()>, turn: &Turn<'_, _>| {
            reply.send(());
            turn.send(&tells, 7).unwrap();
            Flow::Continue
        });
        let asked = sponsor.handle().spawn(asked).unwrap();
        for _ in 0..1_000 {
            asked.call(|reply| reply).wait().unwrap();
            assert_eq!(garrick_testkit::wait(&heard), 7);
        }
        sponsor.shutdown();
    });
}

#[test]
fn calls_and_sends_of_one_thread_stay_in_order() {
    ends_alone(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let mut next = 0;
        let in_order = does(
            move |(number, reply): (u32, Option<Reply<u32>>), _: &Turn<'_, _>| {
                assert_eq!(number, next, "in the order of sending");
                next += 1;
                if let Some(reply) = reply {
                    reply.send(number);
                }
                Flow::Continue
            },
        );
        let task = sponsor.handle().spawn(in_order).unwrap();
        for number in (0..30_000).step_by(3) {
            task.send((number, None)).unwrap();
            task.send((number + 1, None)).unwrap();
            let answer = task.call(|reply| (number + 2, Some(reply))).wait();
            assert_eq!(answer, Ok(number + 2));
        }
        assert_eq!(sponsor.handle().failures(), 0);
        sponsor.shutdown();
    });
}

#[test]
fn a_call_in_a_turn_does_not_wait() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let task = sponsor.handle().spawn(who()).unwrap();
        let asks = does(move |reply: Reply<bool>, _: &Turn<'_, _>| {
            let call = task.call(|_: Reply<ThreadId>| unreachable!("it is not asked"));
            reply.send(call.wait() == Err(NoReply::OnWorker));
            Flow::Continue
        });
        let asks = sponsor.handle().spawn(asks).unwrap();
        assert_eq!(asks.call(|reply| reply).wait(), Ok(true));
    });
}

#[test]
fn a_future_that_is_always_ready_lets_others_run() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let task = sponsor.handle().spawn(who()).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let mut in_a_row = 0;
        for _ in 0..1_000 {
            let mut call = pin!(task.call(|reply| reply));
            let mut polls = 1;
            while call.as_mut().poll(&mut context).is_pending() {
                polls += 1;
                thread::yield_now();
            }
            in_a_row = if polls == 1 { in_a_row + 1 } else { 0 };
            assert!(in_a_row < 16, "the executor's other tasks wait");
        }
    });
}

#[test]
fn many_threads_call_while_the_sponsor_ends() {
    const THREADS: usize = 4;
    ends_alone(|| {
        for round in 0..200 {
            let sponsor = Sponsor::pool(2).unwrap();
            let tasks: Vec<_> = (0..3)
                .map(|_| sponsor.handle().spawn(who()).unwrap())
                .collect();
            let start = Arc::new(Barrier::new(THREADS + 1));
            let answered = Arc::new(AtomicUsize::new(0));
            let callers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (tasks, start) = (tasks.clone(), start.clone());
                    let answered = answered.clone();
                    thread::spawn(move || {
                        start.wait();
                        for turn in thread.. {
                            match tasks[turn % tasks.len()].call(|reply| reply).wait() {
                                Ok(_) => _ = answered.fetch_add(1, Relaxed),
                                Err(NoReply::Dropped) => return,
                                Err(other) => panic!("{other:?}"),
                            }
                        }
                    })
                })
                .collect();
            start.wait();
            // Counts answers rather than pauses, which are long on a busy machine.
            while answered.load(Relaxed) < round {
                thread::yield_now();
            }
            sponsor.shutdown_now();
            for caller in callers {
                caller.join().unwrap();
            }
        }
    });
}

#[test]
fn calls_from_many_threads_to_many_workers_are_all_answered() {
    ends_alone(|| {
        let sponsor = Sponsor::pool(3).unwrap();
        let forwards = |to: Address<(u64, Reply<u64>)>| {
            does(move |message: (u64, Reply<u64>), turn: &Turn<'_, _>| {
                turn.send(&to, message).unwrap();
                Flow::Continue
            })
        };
        let doubles = does(|(number, reply): (u64, Reply<u64>), _: &Turn<'_, _>| {
            reply.send(2 * number);
            Flow::Continue
        });
        let handle = sponsor.handle();
        let last = handle.spawn(doubles).unwrap();
        let middle = handle.spawn(forwards(last.clone())).unwrap();
        let first = handle.spawn(forwards(middle.clone())).unwrap();
        let tasks = [first, middle, last];
        let callers: Vec<_> = (0..4_usize)
            .map(|thread| {
                let tasks = tasks.clone();
                thread::spawn(move || {
                    for number in 0..3_000 {
                        let task = &tasks[(thread + number) % tasks.len()];
                        let number = number as u64;
                        let answer = task.call(|reply| (number, reply)).wait();
                        assert_eq!(answer, Ok(2 * number));
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        sponsor.shutdown();
    });
}

#[test]
fn a_call_that_is_given_up_loses_its_answer_alone() {
    ends_alone(|| {
        let sponsor = Sponsor::builder().callers_run(false).start().unwrap();
        let (go, gate) = channel::<()>();
        let waits = does(move |reply: Reply<u32>, _: &Turn<'_, _>| {
            gate.recv().unwrap();
            reply.send(1);
            Flow::Continue
        });
        let task = sponsor.handle().spawn(waits).unwrap();
        let short = Duration::from_millis(1);
        let answer = task.call(|reply| reply).wait_timeout(short);
        assert_eq!(answer, Err(NoReply::TimedOut));
        let mut context = Context::from_waker(Waker::noop());
        let mut call = Box::pin(task.call(|reply| reply));
        assert_eq!(call.as_mut().poll(&mut context), Poll::Pending);
        drop(call);
        for _ in 0..3 {
            go.send(()).unwrap();
        }
        assert_eq!(task.call(|reply| reply).wait(), Ok(1));
        sponsor.shutdown();
    });
}

#[test]
fn a_task_that_takes_long_is_left_to_its_worker_though_more_is_to_be_done_there() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let slow = does(|reply: Option<Reply<ThreadId>>, turn: &Turn<'_, _>| {
            if let Some(reply) = reply {
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(1) {}
                turn.send(&turn.address(), None).unwrap();
                reply.send(thread::current().id());
            }
            Flow::Continue
        });
        let slow = sponsor.handle().spawn(slow).unwrap();
        let here = thread::current().id();
        let ran_here = (0..100).filter(|_| slow.call(Some).wait() == Ok(here));
        assert!(ran_here.count() <= 2);
    });
}

/// A waker that ends a sponsor, and waits for its end, when the waker is called.
struct Ender(Arc<Sponsor>);

impl Wake for Ender {
    fn wake(self: Arc<Self>) {
        self.0.begin_shutdown_now();
        self.0.wait();
    }
}

#[test]
fn a_waker_that_is_called_on_the_callers_thread_does_not_wait_for_itself() {
    ends_alone(|| {
        for _ in 0..50 {
            let sponsor = Arc::new(Sponsor::pool(1).unwrap());
            let mut kept: Option<Reply<()>> = None;
            let task = does(move |(keeps, reply): (bool, Reply<()>), _: &Turn<'_, _>| {
                if keeps {
                    kept = Some(reply);
                } else {
                    reply.send(());
                    drop(kept.take());
                }
                Flow::Continue
            });
            let task = sponsor.handle().spawn(task).unwrap();
            let waker = Waker::from(Arc::new(Ender(sponsor.clone())));
            let mut first = Box::pin(task.ask(|reply| (true, reply)));
            let polled = first.as_mut().poll(&mut Context::from_waker(&waker));
            assert_eq!(polled, Poll::Pending);
            // The answer is on its way when the end begins, and may be lost.
            let answer = task.call(|reply| (false, reply)).wait();
            assert!(matches!(answer, Ok(()) | Err(NoReply::Dropped)));
            drop((first, waker));
            sponsor.wait();
        }
    });
}

#[test]
fn a_caller_that_has_its_answer_runs_no_task_that_waits_for_its_lock() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let handle = sponsor.handle();
        let lock = Arc::new(Mutex::new(()));
        let (locks, locked) = channel();
        let wanted = lock.clone();
        let waits = does(move |(): (), _: &Turn<'_, ()>| {
            let _held = wanted.lock().unwrap();
            locks.send(()).unwrap();
            Flow::Continue
        });
        let waits = handle.spawn(waits).unwrap();
        let (asks, asked) = channel::<()>();
        let (goes, go) = channel();
        let answers = does(move |reply: Reply<u32>, _: &Turn<'_, _>| {
            asks.send(()).unwrap();
            go.recv().unwrap();
            reply.send(7);
            Flow::Continue
        });
        let answers = handle.spawn(answers).unwrap();
        // Another thread sends to the task that waits for the lock, in the middle of the answer.
        let sender = thread::spawn(move || {
            asked.recv().unwrap();
            waits.send(()).unwrap();
            goes.send(()).unwrap();
        });
        // Visits of this worker are short, as far as it knows.
        let task = handle.spawn(who()).unwrap();
        assert!(runs_here(&task));
        let held = lock.lock().unwrap();
        assert_eq!(answers.call(|reply| reply).wait(), Ok(7));
        drop(held);
        locked.recv().unwrap();
        sender.join().unwrap();
    });
}

#[test]
fn a_future_that_has_its_answer_runs_what_others_have_asked_meanwhile() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let handle = sponsor.handle();
        let other = handle.spawn(who()).unwrap();
        let here = thread::current().id();
        let mut context = Context::from_waker(Waker::noop());
        // If the other thread is late, another thread of the sponsor helps, and runs its question.
        let mut is_run_here = || {
            let (asks, asked) = channel::<()>();
            let (goes, go) = channel();
            let answers = does(move |reply: Reply<()>, _: &Turn<'_, _>| {
                asks.send(()).unwrap();
                go.recv().unwrap();
                reply.send(());
                Flow::Continue
            });
            let answers = handle.spawn(answers).unwrap();
            let task = other.clone();
            let asker = thread::spawn(move || {
                asked.recv().unwrap();
                let asked = task.ask(|reply| reply);
                goes.send(()).unwrap();
                asked.wait().unwrap()
            });
            // Visits of this worker are short, as far as it knows.
            assert!(runs_here(&other));
            let mut call = pin!(answers.call(|reply| reply));
            while call.as_mut().poll(&mut context).is_pending() {
                thread::yield_now();
            }
            asker.join().unwrap() == here
        };
        while !is_run_here() {}
    });
}
