//! Tests of supervised async actors and of their addresses.

use std::collections::HashSet;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;

use garrick_actor::supervise::{Decision, Restart, Strategy, Supervisor, Tree};
use garrick_actor::system::LetterReason;
use garrick_actor::{
    Address, AsyncActor, AsyncContext, Incoming, Local, Next, NoReply, Reply, System, behavior,
};

use crate::common::{self, settle};
use crate::pipes::Guest;
use garrick_testkit::{HANGS_AFTER, fail, ms, silence_panics};

fn tree(local: &Local) -> Tree {
    let tree = Supervisor::new("app", Strategy::OneForOne).intensity(10, ms(1));
    tree.spawn(&local.handle()).unwrap()
}

type Told = (usize, u32);

/// Spawns a supervised async actor that reports each message with the number of its incarnation.
/// The actor panics at 13 and returns at 14.
fn child(tree: &Tree, told: mpsc::Sender<Told>, restart: Restart) -> Address<u32> {
    let made = AtomicUsize::new(0);
    let child = tree.handle().actor(move |mut mailbox: Incoming<u32>| {
        let (told, made) = (told.clone(), made.fetch_add(1, Ordering::Relaxed) + 1);
        async move {
            while let Some(n) = mailbox.recv().await {
                match n {
                    13 => fail(),
                    14 => return,
                    n => told.send((made, n)).unwrap(),
                }
            }
        }
    });
    child.supervised_by(tree).restart(restart).spawn().unwrap()
}

#[test]
fn a_future_that_ends_or_panics_is_made_again_and_its_mailbox_is_kept() {
    silence_panics();
    for end in [13, 14] {
        let (_, local) = common::local();
        let tree = tree(&local);
        let (told, heard) = mpsc::channel();
        let child = child(&tree, told, Restart::Permanent);
        for n in [1, end, 2, 3, end, 4] {
            child.send(n).unwrap();
        }
        settle(&local);
        let heard: Vec<_> = heard.try_iter().collect();
        assert_eq!(heard, [(1, 1), (2, 2), (2, 3), (3, 4)], "after {end}");
        assert!(!child.is_stopped());
        assert_eq!(local.handle().dead_letters(), 0);
        let stopped = tree.stop();
        settle(&local);
        assert_eq!(local.block_on(stopped), Ok(()));
        assert!(child.is_stopped());
    }
}

#[test]
fn one_that_is_not_restarted_ends_and_its_mailbox_is_dead_letters() {
    let (_, local) = common::local();
    let tree = tree(&local);
    let (told, heard) = mpsc::channel();
    let child = child(&tree, told, Restart::Transient);
    for n in [1, 14, 2, 3] {
        child.send(n).unwrap();
    }
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [(1, 1)]);
    assert!(child.is_stopped());
    assert!(child.send(4).is_err());
    assert_eq!(local.handle().dead_letters(), 2);
}

#[test]
fn at_the_last_stop_unread_messages_are_dropped_though_others_keep_the_context() {
    silence_panics();
    for fails_first in [false, true] {
        let (_, local) = common::local();
        let tree = tree(&local);
        let (give, contexts) = mpsc::channel();
        let made = AtomicUsize::new(0);
        let child = local.actor(move |mailbox: Incoming<Reply<u32>>| {
            let is_first = made.fetch_add(1, Ordering::Relaxed) == 0;
            let give = give.clone();
            async move {
                // Wakers and contexts of any incarnation may outlive the actor.
                let waker = poll_fn(|task| Poll::Ready(task.waker().clone())).await;
                give.send((mailbox.context(), waker)).unwrap();
                if is_first && fails_first {
                    mailbox.context().yield_now().await;
                    fail();
                }
                pending::<()>().await;
            }
        });
        let child = child.supervised_by(&tree).spawn().unwrap();
        let first = child.ask(|reply| reply);
        settle(&local);
        let second = child.ask(|reply| reply);
        settle(&local);
        let kept: Vec<_> = contexts.try_iter().collect();
        assert_eq!(kept.len(), 1 + usize::from(fails_first));
        assert_eq!(local.handle().dead_letters(), 0);
        drop(tree.stop());
        settle(&local);
        assert!(child.is_stopped());
        for ask in [first, second] {
            assert_eq!(ask.wait_timeout(ms(0)), Err(NoReply::Dropped));
        }
        assert_eq!(local.handle().dead_letters(), 2);
        drop(kept);
    }
}

/// The first incarnation receives one message and then fails, while other messages wait. The second
/// incarnation must receive all of these.
#[test]
fn what_a_future_had_taken_but_not_received_goes_to_the_next() {
    silence_panics();
    let (clock, local) = common::local();
    let tree = tree(&local);
    let (told, heard) = mpsc::channel();
    let made = AtomicUsize::new(0);
    let child = tree
        .handle()
        .actor(move |mut mailbox: Incoming<u32>| {
            let (told, made) = (told.clone(), made.fetch_add(1, Ordering::Relaxed));
            async move {
                while let Some(n) = mailbox.recv().await {
                    told.send(n).unwrap();
                    if made == 0 {
                        mailbox.context().sleep(ms(1)).await;
                        fail();
                    }
                }
            }
        })
        .named("slow")
        .supervised_by(&tree)
        .spawn();
    let child = child.unwrap();
    (0..50).for_each(|n| child.send(n).unwrap());
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [0]);
    clock.advance(ms(2));
    settle(&local);
    assert!(heard.try_iter().eq(1..50));
    assert_eq!(local.handle().dead_letters(), 0);
}

/// An async actor that sums up numbers, reports each sum, and fails at 0.
struct Counting {
    sum: u32,
    told: mpsc::Sender<u32>,
}

impl AsyncActor for Counting {
    type Msg = u32;
    type Outcome = Next;

    async fn receive(&mut self, n: u32, cx: &mut AsyncContext<u32>) -> Next {
        cx.yield_now().await;
        if n == 0 {
            return cx.fail("nothing to count");
        }
        self.sum += n;
        self.told.send(self.sum).unwrap();
        Next::Continue
    }
}

#[test]
fn an_actor_whose_handler_fails_starts_anew_whether_it_is_restarted_or_resumed() {
    for decision in [Decision::Restart, Decision::Resume] {
        let (_, local) = common::local();
        let tree = tree(&local);
        let (told, heard) = mpsc::channel();
        let factory = move || Counting {
            sum: 0,
            told: told.clone(),
        };
        let child = local.actor(factory).supervised_by(&tree);
        let child = child.decide(move |_| decision).spawn().unwrap();
        [1, 2, 0, 5]
            .into_iter()
            .for_each(|n| child.send(n).unwrap());
        settle(&local);
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [1, 3, 5]);
    }
}

#[test]
fn a_restart_drops_the_future_and_wakers_of_the_old_one_are_harmless() {
    let (clock, local) = common::local();
    let tree = tree(&local);
    let guests = Arc::<AtomicUsize>::default();
    let invited = guests.clone();
    let child = tree
        .handle()
        .actor(move |mut mailbox: Incoming<u32>| {
            let guest = Guest::new(&invited);
            async move {
                let cx = mailbox.context();
                cx.pipe(pending::<u32>(), |n| n.unwrap_or(0));
                let sleep = cx.sleep(ms(1));
                let recv = mailbox.recv();
                futures_util::future::select(std::pin::pin!(recv), std::pin::pin!(sleep)).await;
                drop(guest);
            }
        })
        .named("sleeper")
        .supervised_by(&tree)
        .spawn();
    let child = child.unwrap();
    for _ in 0..3 {
        child.send(1).unwrap();
        settle(&local);
        assert_eq!(guests.load(Ordering::Relaxed), 1);
    }
    clock.advance(ms(5));
    settle(&local);
    assert_eq!(guests.load(Ordering::Relaxed), 1);
    drop(tree.stop());
    settle(&local);
    assert_eq!(guests.load(Ordering::Relaxed), 0);
    assert!(child.is_stopped());
}

#[test]
fn what_a_supervised_actor_has_not_received_is_dead_letters_with_the_reason_of_its_end() {
    let (_, local) = common::local();
    let handle = local.handle();
    let tree = tree(&local);
    let child = local.actor(|mailbox: Incoming<u32>| async move {
        pending::<()>().await;
        drop(mailbox);
    });
    let child = child.supervised_by(&tree).spawn().unwrap();
    (0..3).for_each(|n| child.send(n).unwrap());
    settle(&local);
    drop(local);
    let letters = handle.sample().letters;
    let letters: Vec<_> = letters.iter().map(|l| (l.reason, l.count)).collect();
    assert_eq!(letters, [(LetterReason::ShutDown, 3)]);
}

#[test]
fn an_address_of_its_own_is_equal_to_the_one_it_was_spawned_with() {
    let (_, local) = common::local();
    let (told, heard) = mpsc::channel::<Address<u32>>();
    let tell = told.clone();
    let tell = move |mut mailbox: Incoming<u32>| {
        let tell = tell.clone();
        async move {
            let cx = mailbox.context();
            tell.send(cx.address()).unwrap();
            mailbox.recv().await;
        }
    };
    let spawned = local.spawn(tell.clone());
    let in_system = System::builder().workers(1).start().unwrap();
    let on_system = in_system.spawn(tell.clone()).unwrap();
    let supervised = local
        .actor(tell.clone())
        .supervised_by(&tree(&local))
        .spawn();
    let supervised = supervised.unwrap();
    let in_turn = local.spawn(behavior(move |n: u32, cx| {
        let child = cx.spawn(tell.clone());
        told.send(child.clone()).unwrap();
        let _ = cx.send(&child, n);
        Next::Continue
    }));
    let first: HashSet<_> = [spawned.clone(), on_system.clone(), supervised.clone()].into();
    assert_eq!(first.len(), 3);
    let on_other = heard.recv_timeout(HANGS_AFTER).unwrap();
    assert_eq!(on_other, on_system);
    settle(&local);
    let own: HashSet<_> = heard.try_iter().chain([on_other]).collect();
    assert_eq!(own, first);
    assert!(
        own.iter()
            .all(|own| first.iter().any(|first| first.id() == own.id()))
    );
    in_turn.send(1).unwrap();
    settle(&local);
    let [made, own] = heard.try_iter().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(made, own);
    assert!(!first.contains(&made));
}

#[test]
fn a_local_runs_actors_that_are_not_send() {
    let (clock, local) = common::local();
    let sum = Rc::new(std::cell::Cell::new(0));
    let kept = sum.clone();
    let here = local.spawn(|mut mailbox: Incoming<u32>| async move {
        while let Some(n) = mailbox.recv().await {
            mailbox.context().sleep(ms(1)).await;
            kept.set(kept.get() + n);
            if n == 3 {
                return;
            }
        }
    });
    (1..=4).for_each(|n| here.send(n).unwrap());
    for expected in [0, 1, 3, 6, 6] {
        settle(&local);
        assert_eq!(sum.get(), expected);
        clock.advance(ms(2));
    }
    assert!(here.is_stopped());
    assert_eq!(local.handle().dead_letters(), 1);
}
