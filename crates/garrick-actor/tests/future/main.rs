//! Tests of async actors: order, cancel safety, turns across awaits, wakes from other threads,
//! sleeps, ends and allocations.
#![forbid(unsafe_code)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/pipes.rs"]
mod pipes;

mod attached;
mod beside;
mod openings;
mod outward;
mod supervised;

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use allocation_counter::measure;
use common::settle;
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use garrick_actor::{
    Address, AsyncActor, AsyncContext, Context, Ended, Incoming, Local, Next, Reply, System,
    behavior,
};
use garrick_testkit::{HANGS_AFTER, ms, silence_panics};
use pipes::Guest;

type Heard<T> = Rc<RefCell<Vec<T>>>;

/// Spawns an async actor that records its messages.
fn listener<T: Send + 'static>(local: &Local) -> (Address<T>, Heard<T>) {
    let heard = Heard::<T>::default();
    let told = heard.clone();
    let address = local.spawn(move |mut mailbox: Incoming<T>| async move {
        while let Some(word) = mailbox.recv().await {
            told.borrow_mut().push(word);
        }
    });
    (address, heard)
}

#[test]
fn messages_come_in_order_however_many() {
    let (_, local) = common::local();
    let (listener, heard) = listener(&local);
    (0..10_000).for_each(|n| listener.send(n).unwrap());
    local.run();
    assert_eq!(*heard.borrow(), (0..10_000).collect::<Vec<u32>>());
    assert_eq!(local.handle().dead_letters(), 0);
}

#[test]
fn nothing_more_comes_when_the_last_address_is_gone() {
    let (_, local) = common::local();
    let ended = Rc::new(Cell::new(0));
    let count = ended.clone();
    let actor = local.spawn(|mut mailbox: Incoming<u32>| async move {
        let mut sum = 0;
        while let Some(n) = mailbox.recv().await {
            sum += n;
        }
        count.set(sum);
    });
    let other = actor.clone();
    actor.send(1).unwrap();
    drop(actor);
    local.run();
    other.send(2).unwrap();
    assert_eq!(ended.get(), 0);
    drop(other);
    local.run();
    assert_eq!(ended.get(), 3);
}

#[test]
fn an_address_of_its_own_keeps_its_mailbox_open_or_opens_it_again() {
    let (_, local) = common::local();
    let (told, heard) = mpsc::channel();
    drop(local.spawn(move |mut mailbox: Incoming<u32>| async move {
        told.send(mailbox.recv().await).unwrap();
        let own = mailbox.context().address();
        own.send(7).unwrap();
        told.send(mailbox.recv().await).unwrap();
        drop(own);
        told.send(mailbox.recv().await).unwrap();
    }));
    local.run();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [None, Some(7), None]);
}

#[test]
fn the_end_of_the_future_is_the_end_of_the_actor() {
    let (_, local) = common::local();
    let (told, heard) = mpsc::channel();
    let actor = local.spawn(|mut mailbox: Incoming<u32>| async move {
        mailbox.recv().await;
    });
    let _ = actor.watch(move |ended| told.send(ended).unwrap());
    (0..3).for_each(|n| actor.send(n).unwrap());
    local.run();
    assert_eq!(heard.try_recv(), Ok(Ended::Stopped));
    assert!(actor.is_stopped());
    assert!(actor.send(9).is_err());
    assert_eq!(local.handle().dead_letters(), 2);
}

/// The ways in which an actor stops waiting for messages.
#[derive(Clone, Copy)]
enum StopsWaiting {
    /// A message has arrived.
    AfterAMessage,
    /// The future that waits for a message is dropped.
    Early,
    /// The mailbox is dropped.
    WithoutMailbox,
}

#[test]
fn an_actor_that_waits_for_no_message_is_not_polled_when_messages_arrive() {
    let (_, local) = common::local();
    for (way, expected) in [
        (StopsWaiting::AfterAMessage, 2),
        (StopsWaiting::Early, 1),
        (StopsWaiting::WithoutMailbox, 1),
    ] {
        let polls = Rc::new(Cell::new(0));
        let count = polls.clone();
        let actor = local.spawn(move |mut mailbox: Incoming<u32>| {
            let mut waits = Box::pin(async move {
                let is_pending = |poll: Poll<Option<u32>>| {
                    assert!(poll.is_pending());
                    Poll::Ready(())
                };
                match way {
                    StopsWaiting::AfterAMessage => assert_eq!(mailbox.recv().await, Some(0)),
                    StopsWaiting::Early => {
                        let mut receives = pin!(mailbox.recv());
                        poll_fn(|task| is_pending(receives.as_mut().poll(task))).await;
                    }
                    StopsWaiting::WithoutMailbox => {
                        poll_fn(|task| is_pending(mailbox.poll_recv(task))).await;
                        drop(mailbox);
                        return pending().await;
                    }
                }
                pending::<()>().await;
            });
            poll_fn(move |task| {
                count.set(count.get() + 1);
                waits.as_mut().poll(task)
            })
        });
        local.run();
        for n in 0..5 {
            actor.send(n).unwrap();
            local.run();
        }
        assert_eq!(polls.get(), expected);
    }
}

#[test]
fn a_stop_drops_the_future_where_it_waits_and_a_late_waker_is_harmless() {
    let (_, local) = common::local();
    let guests = Arc::<AtomicUsize>::default();
    let guest = Guest::new(&guests);
    let kept = Rc::new(RefCell::new(None::<Waker>));
    let keep = kept.clone();
    let actor = local.spawn(|_: Incoming<u32>| async move {
        let _guest = guest;
        poll_fn(|task| {
            *keep.borrow_mut() = Some(task.waker().clone());
            Poll::<()>::Pending
        })
        .await;
    });
    actor.send(1).unwrap();
    local.run();
    assert_eq!(guests.load(Ordering::Relaxed), 1);
    actor.stop();
    local.run();
    assert_eq!(guests.load(Ordering::Relaxed), 0);
    assert_eq!(local.handle().dead_letters(), 1);
    let waker = kept.take().unwrap();
    waker.wake_by_ref();
    thread::spawn(move || waker.wake()).join().unwrap();
    local.run();
    assert_eq!(local.handle().dead_letters(), 1);
}

#[test]
fn the_end_of_a_system_drops_futures_that_wait_for_ever() {
    let guests = Arc::<AtomicUsize>::default();
    let system = System::builder().workers(2).start().unwrap();
    let actors: Vec<_> = (0..100)
        .map(|_| {
            let guest = Guest::new(&guests);
            system.spawn(|mailbox: Incoming<u32>| async move {
                let _guests = (guest, mailbox.context().address());
                pending::<()>().await;
            })
        })
        .collect();
    drop(actors);
    system.shutdown();
    assert_eq!(guests.load(Ordering::Relaxed), 0);
}

#[test]
fn what_a_poll_sends_happens_when_it_returns_and_a_panic_undoes_its_own_poll_only() {
    silence_panics();
    let (clock, local) = common::local();
    let (listener, heard) = listener(&local);
    let actor = local.spawn(move |mut mailbox: Incoming<u32>| async move {
        let cx = mailbox.context();
        cx.send(&listener, 1).unwrap();
        cx.sleep(ms(1)).await;
        cx.send(&listener, 2).unwrap();
        cx.yield_now().await;
        cx.send(&listener, 3).unwrap();
        mailbox.recv().await;
        cx.send(&listener, 4).unwrap();
        garrick_testkit::fail();
    });
    local.run();
    assert_eq!(*heard.borrow(), [1]);
    clock.advance(ms(2));
    settle(&local);
    assert_eq!(*heard.borrow(), [1, 2, 3]);
    actor.send(0).unwrap();
    settle(&local);
    assert_eq!(*heard.borrow(), [1, 2, 3]);
    assert!(actor.is_stopped());
    assert_eq!(local.handle().failures(), 1);
}

/// Sends a number on, once more after a delay, and then ends the turn as the message says.
struct Teller {
    to: Address<u32>,
}

impl AsyncActor for Teller {
    type Msg = (u32, Duration, Next);
    type Outcome = Next;

    async fn receive(&mut self, msg: Self::Msg, cx: &mut AsyncContext<Self::Msg>) -> Next {
        let (n, delay, next) = msg;
        cx.send(&self.to, n).unwrap();
        if !delay.is_zero() {
            cx.sleep(delay).await;
            cx.send(&self.to, n + 1).unwrap();
        }
        match next {
            Next::Fail => cx.fail("as told"),
            next => next,
        }
    }
}

/// An actor stops at the moment when its last address is dropped. The internal notice about the
/// dropped address must not count as a dead letter.
#[test]
fn what_an_actor_is_told_of_its_addresses_is_no_dead_letter() {
    let (_, local) = common::local();
    let (listener, heard) = listener(&local);
    let parent = local.spawn(behavior(move |letters: u32, cx| {
        let to = listener.clone();
        let child = cx.spawn(Teller { to });
        for n in 0..letters {
            cx.send(&child, (n, Duration::ZERO, Next::Stop)).unwrap();
        }
        Next::Continue
    }));
    parent.send(1).unwrap();
    local.run();
    assert_eq!(local.handle().dead_letters(), 0);
    parent.send(3).unwrap();
    local.run();
    assert_eq!(*heard.borrow(), [0, 0]);
    assert_eq!(local.handle().dead_letters(), 2);
}

#[test]
fn a_handler_handles_one_message_at_a_time_and_undoes_its_last_poll() {
    let (clock, local) = common::local();
    let (listener, heard) = listener(&local);
    let teller = local.spawn(Teller { to: listener });
    let slow = ms(1);
    for msg in [
        (10, slow, Next::Continue),
        (20, Duration::ZERO, Next::Undo),
        (30, slow, Next::Undo),
        (40, Duration::ZERO, Next::Continue),
        (50, Duration::ZERO, Next::Fail),
        (60, Duration::ZERO, Next::Continue),
    ] {
        teller.send(msg).unwrap();
    }
    settle(&local);
    assert_eq!(*heard.borrow(), [10], "the others wait");
    clock.advance(ms(2));
    settle(&local);
    clock.advance(ms(2));
    settle(&local);
    assert_eq!(*heard.borrow(), [10, 11, 30, 40]);
    assert!(teller.is_stopped());
    assert_eq!(local.handle().failures(), 1);
    assert_eq!(local.handle().dead_letters(), 1);
}

#[test]
fn a_spawn_in_a_turn_that_is_undone_never_begins() {
    let (_, local) = common::local();
    let begun = Arc::<AtomicUsize>::default();
    let guests = Arc::<AtomicUsize>::default();
    let (count, invited) = (begun.clone(), guests.clone());
    let parent = local.spawn(behavior(move |next: Next, cx| {
        let (count, guest) = (count.clone(), Guest::new(&invited));
        let child = cx.spawn(move |mut mailbox: Incoming<u32>| async move {
            let _guest = guest;
            count.fetch_add(1, Ordering::Relaxed);
            assert_eq!(mailbox.recv().await, Some(1));
        });
        cx.send(&child, 1).unwrap();
        next
    }));
    parent.send(Next::Undo).unwrap();
    local.run();
    assert_eq!(begun.load(Ordering::Relaxed), 0);
    parent.send(Next::Continue).unwrap();
    local.run();
    assert_eq!(begun.load(Ordering::Relaxed), 1);
    assert_eq!(guests.load(Ordering::Relaxed), 0);
    assert_eq!(local.handle().failures(), 0);
}

#[test]
fn a_wake_in_a_turn_that_is_undone_still_wakes() {
    let (_, local) = common::local();
    let gate = Rc::new((Cell::new(false), RefCell::new(None::<Waker>)));
    let passed = Rc::new(Cell::new(false));
    let (seen, mark) = (gate.clone(), passed.clone());
    let actor = local.spawn(move |_: Incoming<u32>| async move {
        poll_fn(|task| {
            *seen.1.borrow_mut() = Some(task.waker().clone());
            if seen.0.get() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        mark.set(true);
    });
    local.run();
    struct Opener(Rc<(Cell<bool>, RefCell<Option<Waker>>)>);
    impl garrick_actor::Actor for Opener {
        type Msg = ();
        type Outcome = Next;
        fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
            self.0.0.set(true);
            self.0.1.borrow().as_ref().unwrap().wake_by_ref();
            Next::Undo
        }
    }
    local.spawn(Opener(gate)).send(()).unwrap();
    local.run();
    assert!(passed.get());
    drop(actor);
}

#[test]
fn a_receive_that_loses_a_race_loses_no_message() {
    const MESSAGES: u32 = 10_000;
    let system = System::builder().workers(1).start().unwrap();
    let (told, heard) = mpsc::channel();
    let actor = system
        .spawn(move |mut mailbox: Incoming<u32>| async move {
            let cx = mailbox.context();
            let mut taken = Vec::new();
            loop {
                // Every receive is polled, and dropped as often as not.
                let (yielded, received) = (pin!(cx.yield_now()), pin!(mailbox.recv()));
                match select(yielded, received).await {
                    Either::Left(_) => {}
                    Either::Right((Some(n), _)) => taken.push(n),
                    Either::Right((None, _)) => break,
                }
            }
            told.send(taken).unwrap();
        })
        .unwrap();
    (0..MESSAGES).for_each(|n| actor.send(n).unwrap());
    drop(actor);
    let taken = heard.recv_timeout(HANGS_AFTER).unwrap();
    assert_eq!(taken, (0..MESSAGES).collect::<Vec<u32>>());
}

#[test]
fn one_that_is_never_done_leaves_room_for_others() {
    let (_, local) = common::local();
    let left = Rc::new(Cell::new(100_000_u32));
    let order = Heard::<&str>::default();
    let (count, told) = (left.clone(), order.clone());
    let busy = local.spawn(move |mut mailbox: Incoming<u32>| async move {
        while mailbox.recv().await.is_some() {
            count.set(count.get() - 1);
            if count.get() == 0 {
                told.borrow_mut().push("busy");
            }
        }
    });
    let told = order.clone();
    let other = local.spawn(move |mut mailbox: Incoming<u32>| async move {
        while mailbox.recv().await.is_some() {
            told.borrow_mut().push("other");
        }
    });
    (0..100_000).for_each(|n| busy.send(n).unwrap());
    (0..3).for_each(|n| other.send(n).unwrap());
    local.run();
    assert_eq!(*order.borrow(), ["other", "other", "other", "busy"]);
}

/// A child future that counts how often it is polled.
struct Child {
    sleep: garrick_actor::future::Sleep,
    polls: Rc<Cell<u32>>,
}

impl Future for Child {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, task: &mut std::task::Context<'_>) -> Poll<()> {
        self.polls.set(self.polls.get() + 1);
        std::pin::Pin::new(&mut self.sleep).poll(task)
    }
}

/// A workload that is expensive for futures of tokio: thousands of child futures are ready at once,
/// and messages arrive too. The actor polls each child exactly twice, because the budget limits
/// only its messages.
#[test]
fn a_budget_that_is_spent_refuses_no_future_inside() {
    const CHILDREN: u32 = 5_000;
    let (clock, local) = common::local();
    let polls = Rc::new(Cell::new(0));
    let done = Rc::new(Cell::new(0));
    let (count, ended) = (polls.clone(), done.clone());
    let actor = local.spawn(move |mut mailbox: Incoming<u32>| async move {
        let cx = mailbox.context();
        let mut children = FuturesUnordered::new();
        loop {
            let next = poll_fn(|task| {
                if let Poll::Ready(Some(())) = children.poll_next_unpin(task) {
                    return Poll::Ready(Some(Either::Left(())));
                }
                mailbox
                    .poll_recv(task)
                    .map(|message| message.map(Either::Right))
            });
            match next.await {
                Some(Either::Left(())) => ended.set(ended.get() + 1),
                Some(Either::Right(_)) => children.push(Child {
                    sleep: cx.sleep(ms(1)),
                    polls: count.clone(),
                }),
                None => return,
            }
        }
    });
    (0..CHILDREN).for_each(|n| actor.send(n).unwrap());
    settle(&local);
    assert_eq!(polls.get(), CHILDREN);
    clock.advance(ms(2));
    // Messages come while all of them are ready.
    (0..1_000).for_each(|n| actor.send(n).unwrap());
    settle(&local);
    assert_eq!(done.get(), CHILDREN);
    clock.advance(ms(2));
    settle(&local);
    assert_eq!(done.get(), CHILDREN + 1_000);
    assert_eq!(polls.get(), 2 * (CHILDREN + 1_000));
}

#[test]
fn sleeps_end_in_order_and_never_early() {
    let (clock, local) = common::local();
    let heard = Heard::<u64>::default();
    for delay in [3, 1, 2, 0] {
        let told = heard.clone();
        drop(local.spawn(move |mailbox: Incoming<u32>| async move {
            mailbox.context().sleep(ms(delay)).await;
            told.borrow_mut().push(delay);
        }));
    }
    settle(&local);
    assert_eq!(*heard.borrow(), [0]);
    clock.advance(Duration::from_micros(990));
    settle(&local);
    assert_eq!(*heard.borrow(), [0]);
    clock.advance(Duration::from_micros(1_030));
    settle(&local);
    assert_eq!(*heard.borrow(), [0, 1, 2]);
    clock.advance(ms(1));
    settle(&local);
    assert_eq!(*heard.borrow(), [0, 1, 2, 3]);
    assert_eq!(local.handle().dead_letters(), 0);
}

#[test]
fn a_sleep_that_is_dropped_wakes_nobody() {
    let (clock, local) = common::local();
    let polls = Rc::new(Cell::new(0));
    let count = polls.clone();
    let actor = local.spawn(move |mut mailbox: Incoming<u32>| async move {
        let cx = mailbox.context();
        let mut sleeps: Vec<_> = (1..=1_000).map(|n| Box::pin(cx.sleep(ms(n)))).collect();
        poll_fn(|task| {
            for sleep in &mut sleeps {
                assert!(sleep.as_mut().poll(task).is_pending());
            }
            Poll::Ready(())
        })
        .await;
        mailbox.recv().await;
        drop(sleeps);
        poll_fn(|_| {
            count.set(count.get() + 1);
            Poll::<()>::Pending
        })
        .await;
    });
    settle(&local);
    actor.send(0).unwrap();
    settle(&local);
    assert_eq!(polls.get(), 1);
    for _ in 0..1_000 {
        clock.advance(ms(1));
        settle(&local);
    }
    // The timing wheel has been told of the first one already, and finds nobody.
    assert!(polls.get() <= 2, "{}", polls.get());
}

#[test]
fn a_sleep_ends_though_one_before_it_was_given_up() {
    let (clock, local) = common::local();
    let heard = Heard::<u32>::default();
    let told = heard.clone();
    let actor = local.spawn(move |mut mailbox: Incoming<u32>| async move {
        let cx = mailbox.context();
        // A message comes before the time is over. The timing wheel rings for it later all the
        // same.
        {
            let message = pin!(mailbox.recv());
            let sleep = pin!(cx.sleep(ms(5)));
            assert!(matches!(
                select(message, sleep).await,
                Either::Left((Some(1), _))
            ));
        }
        for n in [2, 3] {
            assert_eq!(mailbox.recv().await, Some(n));
            cx.sleep(ms(1)).await;
            told.borrow_mut().push(n);
        }
    });
    settle(&local);
    actor.send(1).unwrap();
    settle(&local);
    clock.advance(ms(10));
    settle(&local);
    for n in [2, 3] {
        actor.send(n).unwrap();
        settle(&local);
        clock.advance(ms(2));
        settle(&local);
        assert_eq!(heard.borrow().last(), Some(&n));
    }
}

#[test]
fn receiving_inside_of_a_future_of_its_own_is_woken_there() {
    let (_, local) = common::local();
    let heard = Heard::<u32>::default();
    let told = heard.clone();
    let actor = local.spawn(move |mailbox: Incoming<u32>| async move {
        let mut tasks = FuturesUnordered::new();
        tasks.push(mailbox.for_each(|n| {
            told.borrow_mut().push(n);
            std::future::ready(())
        }));
        while tasks.next().await.is_some() {}
    });
    local.run();
    (0..200).for_each(|n| actor.send(n).unwrap());
    local.run();
    (200..400).for_each(|n| actor.send(n).unwrap());
    local.run();
    assert_eq!(*heard.borrow(), (0..400).collect::<Vec<u32>>());
}

#[test]
fn a_stream_of_messages_is_handled_so_many_at_a_time() {
    let (clock, local) = common::local();
    let (open, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let done = Heard::<u32>::default();
    let told = done.clone();
    let (now, peak) = (open.clone(), most.clone());
    let actor = local.spawn(move |mailbox: Incoming<u32>| async move {
        let cx = mailbox.context();
        let handle = |n| {
            let (cx, now, peak) = (cx.clone(), now.clone(), peak.clone());
            async move {
                now.set(now.get() + 1);
                peak.set(now.get().max(peak.get()));
                cx.sleep(ms(1)).await;
                now.set(now.get() - 1);
                n
            }
        };
        let mut results = pin!(mailbox.map(handle).buffered(3));
        while let Some(n) = results.next().await {
            told.borrow_mut().push(n);
        }
    });
    (0..30).for_each(|n| actor.send(n).unwrap());
    drop(actor);
    for _ in 0..40 {
        settle(&local);
        clock.advance(ms(2));
    }
    assert_eq!(*done.borrow(), (0..30).collect::<Vec<u32>>());
    assert_eq!(most.get(), 3);
}

#[test]
fn asks_are_awaited() {
    let system = System::builder().workers(2).start().unwrap();
    let double = system
        .spawn(behavior(|(n, reply): (u32, Reply<u32>), _| {
            reply.send(2 * n);
            Next::Continue
        }))
        .unwrap();
    let quadruple = system
        .spawn(move |mut mailbox: Incoming<(u32, Reply<u32>)>| async move {
            while let Some((n, reply)) = mailbox.recv().await {
                let twice = double.ask(|reply| (n, reply)).await.unwrap();
                reply.send(double.ask(|reply| (twice, reply)).await.unwrap());
            }
        })
        .unwrap();
    for n in 0..100 {
        let answer = quadruple.ask(|reply| (n, reply)).wait_timeout(HANGS_AFTER);
        assert_eq!(answer, Ok(4 * n));
    }
}

#[test]
fn a_message_costs_no_allocation() {
    const MESSAGES: u64 = 1_000;
    let (clock, local) = common::local();
    let sum = Rc::new(Cell::new(0));
    let total = sum.clone();
    let function = local.spawn(move |mut mailbox: Incoming<u64>| async move {
        while let Some(n) = mailbox.recv().await {
            total.set(total.get() + n);
        }
    });
    struct Adder;
    impl AsyncActor for Adder {
        type Msg = u64;
        type Outcome = ();
        async fn receive(&mut self, n: u64, cx: &mut AsyncContext<u64>) {
            if n.is_multiple_of(100) {
                cx.sleep(ms(1)).await;
            }
        }
    }
    let actor = local.spawn(Adder);
    let round = || {
        for n in 0..MESSAGES {
            function.send(n).unwrap();
            actor.send(n).unwrap();
        }
        for _ in 0..MESSAGES / 100 + 2 {
            local.run();
            clock.advance(ms(2));
        }
    };
    (0..4).for_each(|_| round());
    let allocations = measure(round).count_total;
    // A turn that sets a timer costs the scheduler a list.
    assert!(allocations <= 2 * MESSAGES / 100, "{allocations}");
    assert_eq!(sum.get(), 5 * (MESSAGES - 1) * MESSAGES / 2);
}

#[test]
fn who_has_the_address_out_of_a_turn_that_was_undone_finds_an_actor_there() {
    let (_, local) = common::local();
    let (told, addresses) = mpsc::channel();
    let parent = local.spawn(behavior(move |(): (), cx| {
        let plain = cx.spawn(behavior(|reply: Reply<u32>, _| {
            reply.send(1);
            Next::Continue
        }));
        let is_async = cx.spawn(async |mut mailbox: Incoming<Reply<u32>>| {
            while let Some(reply) = mailbox.recv().await {
                reply.send(2);
            }
        });
        told.send([plain, is_async]).unwrap();
        Next::Undo
    }));
    parent.send(()).unwrap();
    local.run();
    let answers = addresses.recv().unwrap().map(|address| {
        let ask = address.ask(|reply| reply);
        local.run();
        ask.wait_timeout(Duration::ZERO)
    });
    assert_eq!(answers, [Ok(1), Ok(2)]);
}
