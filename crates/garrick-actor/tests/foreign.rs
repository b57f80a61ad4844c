//! Tests of foreign code that panics or calls back into the system: destructors, deciders, errors
//! and wakers.
#![forbid(unsafe_code)]

mod common;

use std::error::Error;
use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::num::NonZero;
use std::panic::panic_any;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{self, Poll, Wake, Waker};
use std::thread;

use common::{local, settle};
use futures_util::Stream;
use garrick_actor::future::{Sleep, Streamed};
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::supervise::{Decision, Strategy, Supervisor, Tree};
use garrick_actor::{
    Actor, Address, Ask, AsyncActor, AsyncContext, BehaviorContext, Context, Incoming, Local, Next,
    NoReply, Reply, System, behavior,
};
use garrick_testkit::{OnDrop, fail, ms, silence_panics};

/// A value whose destructor counts the drop and then panics.
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
        fail();
    }
}

/// An actor that sends a number to the test, panics, or pipes a future, depending on the message.
struct Worker {
    told: mpsc::Sender<u32>,
    _bomb: Option<Bomb>,
}

enum Job {
    Tell(u32),
    Panic,
    Pipe(u32),
}

impl Actor for Worker {
    type Msg = Job;
    type Outcome = ();

    fn receive(&mut self, job: Job, cx: &mut Context<'_, Job>) {
        match job {
            Job::Tell(n) => self.told.send(n).unwrap(),
            Job::Panic => fail(),
            Job::Pipe(n) => {
                let later = async move {
                    let mut polls = 0;
                    poll_fn(|task| {
                        polls += 1;
                        task.waker().wake_by_ref();
                        if polls < 40 {
                            Poll::Pending
                        } else {
                            Poll::Ready(())
                        }
                    })
                    .await;
                    n
                };
                cx.pipe(later, |n| Job::Tell(n.unwrap()));
            }
        }
    }
}

/// Returns a function that creates workers whose destructors panic, for a supervised actor.
fn workers(told: mpsc::Sender<u32>) -> impl Fn() -> Worker + Send {
    let bombs = Arc::new(AtomicUsize::new(0));
    move || Worker {
        told: told.clone(),
        _bomb: Some(Bomb(bombs.clone())),
    }
}

/// Spawns a supervisor with default settings as the root of a tree.
fn root(local: &Local) -> Tree {
    let root = Supervisor::new("root", Strategy::OneForOne);
    root.spawn(&local.handle()).unwrap()
}

#[test]
fn a_decider_may_panic_with_whatever_it_likes() {
    silence_panics();
    let (_, local) = local();
    let (told, heard) = mpsc::channel();
    let bombs = Arc::new(AtomicUsize::new(0));
    let tree = root(&local);
    let branch = Supervisor::new("branch", Strategy::OneForOne);
    let branch = branch.spawn_under(&tree).unwrap();
    let count = bombs.clone();
    let child = local.actor(move || Worker {
        told: told.clone(),
        _bomb: None,
    });
    let child = child.supervised_by(&branch);
    let child = child.decide(move |_| panic_any(Bomb(count.clone())));
    let child = child.spawn().unwrap();
    child.send(Job::Panic).unwrap();
    child.send(Job::Tell(1)).unwrap();
    settle(&local);
    assert_eq!(bombs.load(Relaxed), 1);
    assert!(!branch.is_stopped(), "it has escalated, and was restarted");
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [1]);
}

#[test]
fn what_was_under_way_does_not_come_to_the_next_one_if_a_destructor_panics() {
    silence_panics();
    let (_, local) = local();
    let (told, heard) = mpsc::channel();
    let tree = root(&local);
    let child = local.actor(workers(told));
    let child = child.supervised_by(&tree).spawn().unwrap();
    child.send(Job::Pipe(1)).unwrap();
    child.send(Job::Panic).unwrap();
    child.send(Job::Tell(2)).unwrap();
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [2]);
}

#[test]
fn what_was_under_way_is_cancelled_even_if_a_destructor_panics() {
    silence_panics();
    for limit in [None, Some(NonZero::<usize>::MIN)] {
        let (_, local) = local();
        let (bombs, left) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let tree = root(&local);
        let (leaves, count) = (left.clone(), Arc::clone(&bombs));
        let child = local.actor(move || {
            let (leaves, bomb) = (leaves.clone(), Bomb(count.clone()));
            behavior(move |pipes: bool, cx| {
                let _bomb = &bomb;
                if !pipes {
                    return cx.fail("as it is told");
                }
                let left = leaves.clone();
                let guest = OnDrop(move || {
                    left.fetch_add(1, Relaxed);
                });
                let never = async move {
                    let _guest = guest;
                    pending::<()>().await;
                };
                cx.pipe(never, |_| false);
                Next::Continue
            })
        });
        let child = match limit {
            None => child.supervised_by(&tree).spawn(),
            Some(limit) => child.pipe_limit(limit).supervised_by(&tree).spawn(),
        };
        let child = child.unwrap();
        child.send(true).unwrap();
        settle(&local);
        assert_eq!(left.load(Relaxed), 0);
        child.send(false).unwrap();
        settle(&local);
        assert_eq!((bombs.load(Relaxed), left.load(Relaxed)), (1, 1));
        assert!(!child.is_stopped());
        // The panic is counted as well.
        assert_eq!(local.handle().failures(), 1);
    }
}

#[test]
fn a_receive_timeout_does_not_come_to_the_next_one_even_if_a_destructor_panics() {
    silence_panics();
    let (clock, local) = local();
    let (told, heard) = mpsc::channel();
    let tree = root(&local);
    let child = local.actor(workers(told));
    let child = child.receive_timeout(ms(10), || Job::Tell(1));
    let child = child.supervised_by(&tree).spawn().unwrap();
    settle(&local);
    clock.advance(ms(6));
    child.send(Job::Panic).unwrap();
    settle(&local);
    // The timeout of the next actor begins here.
    clock.advance(ms(6));
    settle(&local);
    assert_eq!(heard.try_iter().count(), 0);
    clock.advance(ms(6));
    settle(&local);
    assert_eq!(heard.try_iter().count(), 1);
}

#[test]
fn messages_that_panic_when_dropped_do_not_end_the_process() {
    silence_panics();
    let (_, local) = local();
    let bombs = Arc::new(AtomicUsize::new(0));
    let keep = |bomb, cx: &mut BehaviorContext<'_, Bomb>| {
        let kept = cx.stash(bomb);
        kept.map_or(Next::Fail, |()| Next::Continue)
    };
    let kept = local.actor(behavior(keep)).stash(8).spawn();
    (0..4).for_each(|_| kept.send(Bomb(bombs.clone())).unwrap());
    settle(&local);
    kept.stop();
    settle(&local);
    assert_eq!(bombs.load(Relaxed), 4);
}

#[test]
fn one_that_makes_room_for_another_does_not_end_the_actor() {
    silence_panics();
    let (_, local) = local();
    let bombs = Arc::new(AtomicUsize::new(0));
    let heard = Arc::new(AtomicUsize::new(0));
    let count = heard.clone();
    let mailbox = Mailbox::bounded(1, OnFull::DropOldest).unwrap();
    let newest = local
        .handle()
        .actor(behavior(move |bomb: Bomb, _| {
            count.fetch_add(1, Relaxed);
            std::mem::forget(bomb);
            Next::Continue
        }))
        .mailbox(mailbox)
        .spawn();
    let newest = newest.unwrap();
    let address = newest.clone();
    let count = bombs.clone();
    let sender = local.spawn(behavior(move |(): (), cx| {
        (0..3).for_each(|_| cx.send(&address, Bomb(count.clone())).unwrap());
        Next::Continue
    }));
    sender.send(()).unwrap();
    settle(&local);
    assert!(!newest.is_stopped());
    assert_eq!((bombs.load(Relaxed), heard.load(Relaxed)), (2, 1));
}

#[test]
fn asks_have_an_end_when_the_destructor_of_a_future_panics() {
    silence_panics();
    let (_, local) = local();
    let bomb = Bomb(Arc::default());
    let asked = local.spawn(move |mailbox: Incoming<Reply<u32>>| async move {
        let (_bomb, _mailbox) = (bomb, mailbox);
        pending::<()>().await;
    });
    let ask = asked.ask(|reply| reply);
    settle(&local);
    asked.stop();
    settle(&local);
    assert_eq!(ask.wait_timeout(ms(0)), Err(NoReply::Dropped));
}

/// An error whose `Display` and destructor panic.
struct Bad;

impl fmt::Debug for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bad")
    }
}

impl fmt::Display for Bad {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        fail()
    }
}

impl Error for Bad {}

impl Drop for Bad {
    fn drop(&mut self) {
        fail();
    }
}

#[test]
fn an_error_may_panic_whatever_it_is_asked() {
    silence_panics();
    let (_, local) = local();
    let alone = local.spawn(behavior(|(): (), cx| cx.fail(Bad)));
    alone.send(()).unwrap();
    settle(&local);
    assert!(alone.is_stopped());

    let root = Supervisor::new("root", Strategy::OneForOne);
    let root = root.spawn(&local.handle()).unwrap();
    let branch = Supervisor::new("branch", Strategy::OneForOne);
    let branch = branch.spawn_under(&root).unwrap();
    let child = local.actor(|| behavior(|(): (), cx| cx.fail(Bad)));
    let child = child.supervised_by(&branch).decide(|_| Decision::Escalate);
    child.spawn().unwrap().send(()).unwrap();
    settle(&local);
    assert!(!branch.is_stopped() && !root.is_stopped());
}

#[test]
fn the_reason_of_a_failure_that_did_not_happen_may_panic_at_the_end_of_its_thread() {
    silence_panics();
    let ended = thread::spawn(|| {
        let (_, local) = local();
        let actor = local.spawn(behavior(|(): (), cx| {
            let _ = cx.fail(Bad);
            Next::Continue
        }));
        actor.send(()).unwrap();
        settle(&local);
        assert!(!actor.is_stopped());
    });
    ended.join().unwrap();
}

/// An async actor, a future and a stream that panic, and whose destructor panics, too.
struct Doomed(#[expect(dead_code, reason = "it is only dropped")] Bomb);

impl AsyncActor for Doomed {
    type Msg = ();
    type Outcome = ();

    async fn receive(&mut self, (): (), _: &mut AsyncContext<()>) {
        fail()
    }
}

impl Future for Doomed {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<()> {
        fail()
    }
}

impl Stream for Doomed {
    type Item = ();

    fn poll_next(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Option<()>> {
        fail()
    }
}

#[test]
fn a_panic_of_a_destructor_after_another_panic_does_not_abort_the_process() {
    silence_panics();
    let (_, local) = local();
    let bombs = Arc::new(AtomicUsize::new(0));
    let doomed = {
        let bombs = bombs.clone();
        move || Doomed(Bomb(bombs.clone()))
    };
    let actor = local.spawn(doomed());
    actor.send(()).unwrap();
    settle(&local);
    assert!(actor.is_stopped());
    assert_eq!(bombs.load(Relaxed), 1);

    let tree = Supervisor::new("tree", Strategy::OneForOne);
    let tree = tree.spawn(&local.handle()).unwrap();
    let child = local.actor(doomed.clone()).supervised_by(&tree);
    let child = child.spawn().unwrap();
    child.send(()).unwrap();
    settle(&local);
    assert!(!child.is_stopped());
    assert_eq!(bombs.load(Relaxed), 2);

    let function = {
        let doomed = doomed.clone();
        local.spawn(move |_: Incoming<()>| doomed())
    };
    function.send(()).unwrap();
    settle(&local);
    assert!(function.is_stopped());
    assert_eq!(bombs.load(Relaxed), 3);

    let (told, heard) = mpsc::channel();
    let owner = local.spawn(behavior(move |is_failed: bool, cx| {
        if is_failed {
            told.send(()).unwrap();
            return;
        }
        cx.pipe(doomed(), |result| result.is_err());
        cx.attach(doomed(), |streamed| matches!(streamed, Streamed::Failed(_)));
    }));
    owner.send(false).unwrap();
    settle(&local);
    assert_eq!(heard.try_iter().count(), 2);
    assert_eq!(bombs.load(Relaxed), 5);
}

#[test]
fn a_become_that_succeeds_is_not_undone_by_what_the_closure_before_had() {
    silence_panics();
    let (_, local) = local();
    let bomb = Bomb(Arc::default());
    let (told, heard) = mpsc::channel();
    let actor = local.spawn(behavior(move |n: u32, cx| {
        let (_bomb, told) = (&bomb, told.clone());
        told.send(n).unwrap();
        cx.becomes(move |n, _| {
            told.send(n + 10).unwrap();
            Next::Continue
        });
        Next::Continue
    }));
    actor.send(1).unwrap();
    actor.send(2).unwrap();
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [1, 12]);
}

/// A waker that holds a sleep, and drops the sleep when the waker is dropped.
struct Keeps(
    #[expect(dead_code, reason = "what matters is that it is dropped")] Mutex<Option<Sleep>>,
);

impl Wake for Keeps {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_waker_that_is_replaced_may_give_up_another_sleep() {
    let (ended, end) = mpsc::channel();
    // It would wait for itself.
    thread::spawn(move || {
        let (_, local) = local();
        local.spawn(move |mailbox: Incoming<()>| async move {
            let cx: AsyncContext<()> = mailbox.context();
            let mut first = Box::pin(cx.sleep(ms(1)));
            poll_fn(|task| {
                let _ = first.as_mut().poll(task);
                Poll::Ready(())
            })
            .await;
            let mut second = pin!(cx.sleep(ms(1)));
            let first = *std::pin::Pin::into_inner(first);
            let keeps = Waker::from(Arc::new(Keeps(Mutex::new(Some(first)))));
            let _ = second.as_mut().poll(&mut task::Context::from_waker(&keeps));
            drop(keeps);
            let _ = second
                .as_mut()
                .poll(&mut task::Context::from_waker(Waker::noop()));
            ended.send(()).unwrap();
        });
        settle(&local);
    });
    end.recv_timeout(ms(60_000)).expect("it hangs");
}

#[test]
fn a_pipe_hears_of_a_reply_that_was_dropped_in_a_turn_that_is_undone() {
    let (_, local) = local();
    let asked = local.spawn(behavior(|reply: Reply<u32>, _| {
        drop(reply);
        Next::Undo
    }));
    let (told, heard) = mpsc::channel();
    let asker = local.spawn(behavior(move |answer: Option<Result<u32, NoReply>>, cx| {
        match answer {
            None => cx.pipe_answer(asked.ask(|reply| reply), Some),
            Some(answer) => told.send(answer).unwrap(),
        }
        Next::Continue
    }));
    asker.send(None).unwrap();
    settle(&local);
    assert_eq!(heard.try_recv(), Ok(Err(NoReply::Dropped)));
}

/// An actor that stops at its first question. In that turn, and again when it is dropped, it lets
/// another thread ask it a question.
struct AskedAtItsEnd {
    own: Arc<OnceLock<Address<Reply<u32>>>>,
    asks: mpsc::Sender<Ask<u32>>,
}

impl AskedAtItsEnd {
    fn ask(&self) {
        let (own, asks) = (self.own.wait().clone(), self.asks.clone());
        let asker = thread::spawn(move || asks.send(own.ask(|reply| reply)).unwrap());
        asker.join().unwrap();
    }
}

impl Actor for AskedAtItsEnd {
    type Msg = Reply<u32>;
    type Outcome = Next;

    fn receive(&mut self, _: Reply<u32>, _: &mut Context<'_, Reply<u32>>) -> Next {
        self.ask();
        Next::Stop
    }
}

impl Drop for AskedAtItsEnd {
    fn drop(&mut self) {
        self.ask();
    }
}

#[test]
fn a_mailbox_that_keeps_the_newest_takes_nothing_for_an_actor_that_has_gone() {
    let system = System::builder().workers(1).start().unwrap();
    let (asks, asked) = mpsc::channel();
    let own = Arc::new(OnceLock::new());
    let mailbox = Mailbox::bounded(2, OnFull::DropOldest).unwrap();
    let actor = AskedAtItsEnd {
        own: own.clone(),
        asks,
    };
    let inlet = system
        .handle()
        .actor(actor)
        .mailbox(mailbox)
        .spawn()
        .unwrap();
    own.set(inlet.clone()).unwrap();
    let first = inlet.ask(|reply| reply);
    for ask in [first].into_iter().chain(asked) {
        assert_eq!(ask.wait_timeout(ms(5_000)), Err(NoReply::Dropped));
    }
}
