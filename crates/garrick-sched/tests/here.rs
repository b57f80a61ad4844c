//! Tests of `Here`, a sponsor on the calling thread: tasks that are not `Send`, several sponsors on
//! one thread, and sends from tasks and other threads.

mod common;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use common::does;
use garrick_sched::{
    Address, Ask, Driver, Drivers, Flow, Here, NoReply, Reply, Room, Sponsor, Turn,
};
use garrick_testkit::{HANGS_AFTER, ends, fail, silence_panics};

/// A task that adds its numbers to a value that is not `Send`.
fn adder(here: &Here) -> (Address<u32>, Rc<Cell<u32>>) {
    let sum = Rc::new(Cell::new(0));
    let ours = sum.clone();
    let task = here.spawn(does(move |n, _: &Turn<'_, u32>| {
        ours.set(ours.get() + n);
        Flow::Continue
    }));
    (task, sum)
}

#[test]
fn nothing_runs_before_run() {
    let here = Here::new_here().unwrap();
    let (add, sum) = adder(&here);
    add.send(1).unwrap();
    add.send(2).unwrap();
    assert_eq!(sum.get(), 0);
    here.run();
    assert_eq!(sum.get(), 3);
    here.run();
    add.send(4).unwrap();
    here.run();
    assert_eq!(sum.get(), 7);
}

#[test]
fn messages_that_are_not_send() {
    let here = Here::new_here().unwrap();
    let other = Here::new_here().unwrap();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let ours = seen.clone();
    let last = other.spawn(does(move |message: Rc<str>, _| {
        ours.borrow_mut().push(message);
        Flow::Continue
    }));
    let to = last.clone();
    let first = here.spawn(does(move |message: Rc<str>, turn| {
        turn.send(&to, message.clone()).unwrap();
        turn.send(&to, message).unwrap();
        Flow::Continue
    }));
    let word: Rc<str> = Rc::from("word");
    first.send(word.clone()).unwrap();
    here.run();
    assert!(seen.borrow().is_empty());
    other.run();
    assert_eq!(*seen.borrow(), [word.clone(), word.clone()]);
    last.send(word.clone()).unwrap();
    drop((here, other, first, last, seen));
    assert_eq!(Rc::strong_count(&word), 1, "all of them were dropped");
}

#[test]
fn two_on_one_thread_talk_until_done() {
    let (one, two) = (Here::new_here().unwrap(), Here::new_here().unwrap());
    let (add, sum) = adder(&one);
    let back = add.clone();
    let other = two.spawn(does(move |n: u32, turn| {
        turn.send(&back, n).unwrap();
        Flow::Continue
    }));
    for n in 1..=10 {
        other.send(n).unwrap();
        two.run();
        one.run_until(|| sum.get() >= n);
    }
    assert_eq!(sum.get(), 55);
}

#[test]
fn run_until_sleeps_until_a_stranger_sends() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let (add, sum) = adder(&here);
        let stranger = thread::spawn(move || (0..100).for_each(|_| add.send(1).unwrap()));
        here.run_until(|| sum.get() == 100);
        stranger.join().unwrap();
    });
}

#[test]
fn run_until_sleeps_until_a_pool_sends() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let pool = Sponsor::pool(2).unwrap();
        let (add, sum) = adder(&here);
        for _ in 0..10 {
            let add = add.clone();
            let task = pool.handle().spawn(does(move |n: u32, turn| {
                turn.send(&add, n).unwrap();
                Flow::Continue
            }));
            task.unwrap().send(5).unwrap();
        }
        here.run_until(|| sum.get() == 50);
    });
}

#[test]
fn strangers_and_pools_spawn_on_it() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let thread_here = thread::current().id();
        let (add, sum) = adder(&here);
        let spawner = move |handle: garrick_sched::Handle, add: Address<u32>| {
            let task = handle.spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
                assert_eq!(thread::current().id(), thread_here);
                turn.send(&add, n).unwrap();
                Flow::Continue
            }));
            task.unwrap().send(1).unwrap();
        };
        let (handle, to) = (here.handle(), add.clone());
        thread::spawn(move || spawner(handle, to)).join().unwrap();
        let pool = Sponsor::pool(1).unwrap();
        let (handle, to) = (here.handle(), add.clone());
        let task = pool.handle().spawn(does(move |(), _: &Turn<'_, ()>| {
            spawner(handle.clone(), to.clone());
            Flow::Continue
        }));
        task.unwrap().send(()).unwrap();
        here.run_until(|| sum.get() == 2);
    });
}

type Question = (u32, Reply<u32>);

/// Creates a task on `here` that answers with twice the number that it gets.
fn double(here: &Here) -> Address<Question> {
    here.spawn(does(|(n, reply): Question, _| {
        reply.send(2 * n);
        Flow::Continue
    }))
}

fn ask(task: &Address<Question>, n: u32) -> Ask<u32> {
    task.ask(|reply| (n, reply))
}

#[test]
fn its_thread_does_not_wait_for_what_only_it_can_run() {
    ends(|| {
        let (here, other) = (Here::new_here().unwrap(), Here::new_here().unwrap());
        let (ours, others) = (double(&here), double(&other));
        assert_eq!(ask(&ours, 1).wait(), Err(NoReply::OnWorker));
        let timed = ask(&others, 2).wait_timeout(Duration::MAX);
        assert_eq!(timed, Err(NoReply::OnWorker));
        // An answer that is there needs no wait.
        let asked = ask(&ours, 3);
        here.run();
        assert_eq!(asked.wait(), Ok(6));
        let asked = ask(&ours, 4);
        drop(here);
        assert_eq!(asked.wait(), Err(NoReply::Dropped));
    });
}

#[test]
fn its_thread_waits_for_others_and_others_for_it() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let pool = Sponsor::pool(1).unwrap();
        let elsewhere = pool.handle().spawn(does(|(n, reply): Question, _| {
            reply.send(3 * n);
            Flow::Continue
        }));
        assert_eq!(ask(&elsewhere.unwrap(), 1).wait(), Ok(3));
        let (ours, (add, sum)) = (double(&here), adder(&here));
        let stranger = thread::spawn(move || {
            let answer = ask(&ours, 2).wait();
            add.send(answer.unwrap()).unwrap();
        });
        here.run_until(|| sum.get() == 4);
        stranger.join().unwrap();
    });
}

#[test]
fn block_on_runs_its_tasks_until_the_answer_is_there() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let pool = Sponsor::pool(1).unwrap();
        let elsewhere = pool.handle().spawn(does(|(n, reply): Question, _| {
            reply.send(3 * n);
            Flow::Continue
        }));
        let (elsewhere, ours) = (elsewhere.unwrap(), double(&here));
        let to = elsewhere.clone();
        let passes_on = here.spawn(does(
            move |question: Question, turn: &Turn<'_, Question>| {
                turn.send(&to, question).unwrap();
                Flow::Continue
            },
        ));
        for n in 0..100 {
            assert_eq!(here.block_on(ask(&ours, n)), Ok(2 * n));
            assert_eq!(here.block_on(ask(&elsewhere, n)), Ok(3 * n));
            assert_eq!(here.block_on(ask(&passes_on, n)), Ok(3 * n));
        }
        let both = here.block_on(async { (ask(&ours, 1).await, ask(&passes_on, 1).await) });
        assert_eq!(both, (Ok(2), Ok(3)));
    });
}

#[test]
fn a_task_cannot_run_the_others() {
    garrick_testkit::silence_panics();
    let here = Rc::new(Here::new_here().unwrap());
    let (again, said) = (here.clone(), Rc::new(RefCell::new(String::new())));
    let says = said.clone();
    let task = here.spawn(does(move |(), _| {
        let panic = panic::catch_unwind(AssertUnwindSafe(|| again.run())).unwrap_err();
        *says.borrow_mut() = panic.downcast_ref::<&str>().unwrap().to_string();
        Flow::Stop
    }));
    task.send(()).unwrap();
    here.run();
    assert_eq!(
        *said.borrow(),
        "a task must not run the other tasks of its thread"
    );
}

#[test]
fn one_inside_a_turn_of_another() {
    let outer = Here::new_here().unwrap();
    let sum = Rc::new(Cell::new(0));
    let ours = sum.clone();
    let task = outer.spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
        let inner = Here::new_here().unwrap();
        let (add, _) = adder(&inner);
        add.send(n).unwrap();
        let copy = turn.address();
        let keeper = inner.spawn(does(move |(), _| {
            let _ours = &copy;
            Flow::Continue
        }));
        drop(inner);
        assert!(keeper.is_stopped());
        ours.set(ours.get() + n);
        Flow::Continue
    }));
    (1..=10).for_each(|n| task.send(n).unwrap());
    outer.run();
    assert_eq!(sum.get(), 55);
}

#[test]
fn dropping_it_drops_its_tasks_and_gives_messages_back() {
    let here = Here::new_here().unwrap();
    let handle = here.handle();
    let (add, sum) = adder(&here);
    add.send(1).unwrap();
    drop(here);
    assert_eq!((sum.get(), Rc::strong_count(&sum)), (0, 1));
    assert_eq!(handle.dead_letters(), 1);
    assert_eq!(add.send(2).unwrap_err().0, 2);
    assert!(handle.spawn(does(|(), _| Flow::Continue)).is_err());
    thread::spawn(move || drop(add)).join().unwrap();
}

/// A task that records its messages.
fn listener(here: &Here) -> (Address<u32>, Rc<RefCell<Vec<u32>>>) {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let ours = heard.clone();
    let task = here.spawn(does(move |n, _: &Turn<'_, u32>| {
        ours.borrow_mut().push(n);
        Flow::Continue
    }));
    (task, heard)
}

/// Makes the tasks of this thread run once.
async fn pause() {
    let mut before = true;
    poll_fn(|context| {
        if std::mem::take(&mut before) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

#[test]
fn what_a_future_sends_keeps_its_order() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let (listens, heard) = listener(&here);
        // Through the inbox, as usual.
        (0..100).for_each(|n| listens.send(n).unwrap());
        here.block_on(async {
            (100..200).for_each(|n| listens.send(n).unwrap());
            assert_eq!(heard.borrow().len(), 100, "a send is no call");
            pause().await;
            assert_eq!(heard.borrow().len(), 200);
            (200..300).for_each(|n| listens.send(n).unwrap());
            // A stop comes after earlier messages, on either path.
            listens.stop();
            listens.send(300).unwrap();
            pause().await;
            assert!(listens.send(301).is_err());
        });
        assert_eq!(*heard.borrow(), (0..300).collect::<Vec<_>>());
        assert_eq!(here.handle().dead_letters(), 1);
    });
}

#[test]
fn a_future_sends_to_tasks_of_other_threads_and_other_sponsors_of_its_own() {
    ends(|| {
        let (here, other) = (Here::new_here().unwrap(), Here::new_here().unwrap());
        let pool = Sponsor::pool(1).unwrap();
        let (near, heard) = listener(&here);
        let (beside, heard_beside) = listener(&other);
        let (told, tells) = channel();
        let far = pool.handle().spawn(does(move |n: u32, _: &Turn<'_, u32>| {
            told.send(n).unwrap();
            Flow::Continue
        }));
        let far = far.ok().unwrap();
        here.block_on(async {
            for n in 0..1_000 {
                for to in [&near, &beside, &far] {
                    to.send(n).unwrap();
                }
                if n % 100 == 0 {
                    // Its tasks run inside of the future, which rests on the other sponsor.
                    other.run();
                }
            }
            other.block_on(async {
                beside.send(1_000).unwrap();
                near.send(1_000).unwrap();
                pause().await;
            });
        });
        pool.shutdown();
        here.run();
        assert_eq!(*heard.borrow(), (0..=1_000).collect::<Vec<_>>());
        assert_eq!(*heard_beside.borrow(), (0..=1_000).collect::<Vec<_>>());
        assert!(tells.iter().eq(0..1_000));
    });
}

#[test]
fn a_future_that_fails_leaves_what_it_has_sent() {
    silence_panics();
    let here = Here::new_here().unwrap();
    let (listens, heard) = listener(&here);
    let failed = panic::catch_unwind(AssertUnwindSafe(|| {
        here.block_on(async {
            listens.send(1).unwrap();
            fail();
        });
    }));
    assert!(failed.is_err());
    // The worker rests no more: these messages take the inbox.
    listens.send(2).unwrap();
    here.run();
    assert_eq!(*heard.borrow(), [1, 2]);
}

#[test]
fn it_has_no_driver() {
    struct Never;
    impl Drivers for Never {
        fn driver(&self, _: usize) -> std::io::Result<Box<dyn Driver>> {
            unreachable!("nobody is to be asked")
        }
    }
    let refused = Sponsor::builder().driver(Never).here();
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("starts its own threads"), "{error}");
}

#[test]
fn a_wake_that_nobody_waits_for_any_more_is_no_dead_letter() {
    let here = Here::new_here().unwrap();
    here.block_on(poll_fn(|context| {
        context.waker().wake_by_ref();
        Poll::Ready(())
    }));
    let handle = here.handle();
    drop(here);
    assert_eq!(handle.dead_letters(), 0);
}

/// Polls `future`, and calls `first` after the first poll has returned `Pending`.
async fn once_it_waits<F: Future>(future: F, first: impl FnOnce()) -> F::Output {
    let mut future = pin!(future);
    let mut first = Some(first);
    poll_fn(move |context| {
        let polled = future.as_mut().poll(context);
        if polled.is_pending()
            && let Some(first) = first.take()
        {
            first();
        }
        polled
    })
    .await
}

/// A task that waits for permission, and then drops its messages in a turn that is undone.
fn undoes<M: Send + 'static>(on: &Sponsor, end: fn() -> Flow) -> (Address<M>, Sender<()>) {
    let (go, goes) = channel();
    let task = on.handle().spawn(does(move |message: M, _: &Turn<'_, M>| {
        let _ = goes.recv();
        drop(message);
        end()
    }));
    (task.unwrap(), go)
}

#[test]
fn an_answer_that_is_refused_in_a_turn_that_is_undone_wakes_who_waits() {
    silence_panics();
    for end in [|| Flow::Undo, || fail()] {
        ends(move || {
            let here = Here::new_here().unwrap();
            let pool = Sponsor::pool(1).unwrap();
            let (task, go) = undoes::<Reply<u32>>(&pool, end);
            let asked = once_it_waits(task.ask(|reply| reply), || go.send(()).unwrap());
            assert_eq!(here.block_on(asked), Err(NoReply::Dropped));
        });
    }
}

#[test]
fn a_place_that_is_given_back_in_a_turn_that_is_undone_wakes_who_waits() {
    silence_panics();
    for end in [|| Flow::Undo, || fail()] {
        ends(move || {
            let here = Here::new_here().unwrap();
            let pool = Sponsor::pool(1).unwrap();
            let room = Room::new(1);
            let (task, go) = undoes(&pool, end);
            task.send(room.try_take().unwrap()).unwrap();
            here.block_on(once_it_waits(room.take(), || go.send(()).unwrap()));
        });
    }
}

#[test]
fn tasks_that_are_always_ready_do_not_keep_a_thread_that_is_done() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let spins = here.spawn(does(|(), turn: &Turn<'_, _>| {
            turn.send(&turn.address(), ()).unwrap();
            Flow::Continue
        }));
        spins.send(()).unwrap();
        let doubles = here.spawn(does(|(n, reply): (u32, Reply<u32>), _| {
            reply.send(2 * n);
            Flow::Continue
        }));
        assert_eq!(here.block_on(doubles.ask(|reply| (21, reply))), Ok(42));
        let looks = Cell::new(0);
        here.run_until(|| {
            looks.set(looks.get() + 1);
            looks.get() == 3
        });
    });
}

#[test]
fn a_question_to_a_task_of_another_sponsor_is_not_taken_for_one_to_this_thread() {
    // The second worker usually gets the number of the first one.
    for _ in 0..50 {
        let sponsor = Sponsor::pool(1).unwrap();
        let (give, given) = channel();
        let task = does(move |reply: Reply<u32>, _: &Turn<'_, Reply<u32>>| {
            give.send(reply).unwrap();
            Flow::Continue
        });
        let task = sponsor.handle().spawn(task).unwrap();
        let ask = task.ask(|reply| reply);
        let reply = given.recv_timeout(HANGS_AFTER).unwrap();
        sponsor.shutdown();

        let here = Here::new_here().unwrap();
        let (add, _sum) = adder(&here);
        thread::spawn(move || add.send(1).unwrap()).join().unwrap();
        let answer = ask.wait_timeout(Duration::from_millis(1));
        assert_eq!(answer, Err(NoReply::TimedOut));
        drop(reply);
    }
}
