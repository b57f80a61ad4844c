//! Tests tokio's timers and Garrick's own timers in actors.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use garrick_actor::{Actor, Context, Incoming, Next};
use garrick_testkit::{ends, wait};
use tokio::sync::mpsc;
use tokio::time::{interval, timeout};

use super::{later, system};

/// An actor that sends messages to itself as long as it lives.
struct Busy;

impl Actor for Busy {
    type Msg = ();
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, ()>) -> Next {
        self.receive((), cx)
    }

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) -> Next {
        let _ = cx.send(&cx.address(), ());
        Next::Continue
    }
}

#[test]
fn tokio_s_timers_are_never_early_and_come() {
    ends(|| {
        let system = system(1);
        let (told, heard) = channel();
        let actor = system.spawn(move |_: Incoming<()>| async move {
            let began = Instant::now();
            later(Duration::from_millis(3)).await;
            told.send((3, began.elapsed())).unwrap();
            let mut ticks = interval(Duration::from_millis(2));
            let began = Instant::now();
            for _ in 0..3 {
                ticks.tick().await;
            }
            told.send((4, began.elapsed())).unwrap();
            let late = timeout(Duration::from_millis(1), later(Duration::from_secs(3_600))).await;
            assert!(late.is_err());
            told.send((0, Duration::ZERO)).unwrap();
        });
        for _ in 0..3 {
            let (least_ms, elapsed) = wait(&heard);
            assert!(elapsed >= Duration::from_millis(least_ms));
        }
        drop(actor);
    });
}

#[test]
fn own_sleeps_end_the_driver_s() {
    ends(|| {
        let system = system(1);
        let (told, heard) = channel();
        let actor = system.spawn(move |mailbox: Incoming<()>| async move {
            let cx = mailbox.context();
            for micros in [1, 10, 50, 200, 1_500, 10] {
                let (delay, began) = (Duration::from_micros(micros), Instant::now());
                cx.sleep(delay).await;
                told.send(began.elapsed() >= delay).unwrap();
            }
            // Longer than it takes to see that the first sleep is over.
            let mut long = std::pin::pin!(cx.sleep(Duration::from_secs(3_600)));
            tokio::select! {
                () = &mut long => unreachable!("an hour"),
                () = cx.sleep(Duration::from_micros(100)) => told.send(true).unwrap(),
            }
        });
        (0..7).for_each(|_| assert!(wait(&heard)));
        drop(actor);
    });
}

#[test]
fn a_busy_worker_looks_after_its_driver() {
    ends(|| {
        let system = system(1);
        let (told, heard) = channel();
        let busy = system.spawn(Busy).unwrap();
        let actor = system.spawn(move |mailbox: Incoming<()>| async move {
            for _ in 0..3 {
                later(Duration::from_millis(1)).await;
                mailbox.context().sleep(Duration::from_micros(10)).await;
                told.send(tokio::spawn(async { 7 }).await.unwrap()).unwrap();
            }
        });
        (0..3).for_each(|_| assert_eq!(wait(&heard), 7));
        drop((busy, actor));
    });
}

#[test]
fn tasks_that_an_actor_spawns_send_and_ask_at_once() {
    ends(|| {
        let system = system(1);
        let (told, heard) = channel();
        let adder = system.spawn(
            |mut mailbox: Incoming<(u32, garrick_actor::Reply<u32>)>| async move {
                while let Some((n, reply)) = mailbox.recv().await {
                    reply.send(n + 1);
                }
            },
        );
        let adder = adder.unwrap();
        let parent = system.spawn(move |mut mailbox: Incoming<u32>| async move {
            let own = mailbox.context().address();
            tokio::spawn(async move {
                let mut n = 0;
                for _ in 0..100 {
                    n = adder.ask(|reply| (n, reply)).await.unwrap();
                    own.send(n).unwrap();
                    tokio::task::yield_now().await;
                }
            });
            for n in 1..=100 {
                assert_eq!(mailbox.recv().await, Some(n));
            }
            told.send(()).unwrap();
        });
        wait(&heard);
        drop(parent);
        assert_eq!(system.handle().failures(), 0);
    });
}

#[test]
fn tokio_s_budget_refuses_nothing_in_an_actor() {
    ends(|| {
        let system = system(1);
        let (told, heard) = channel();
        let actor = system.spawn(move |_: Incoming<()>| async move {
            let (give, mut take) = mpsc::channel(1_000);
            (0..1_000).for_each(|n| give.try_send(n).unwrap());
            let mut received = 0;
            std::future::poll_fn(|task| {
                while let std::task::Poll::Ready(Some(_)) = take.poll_recv(task) {
                    received += 1;
                }
                std::task::Poll::Ready(())
            })
            .await;
            told.send(received).unwrap();
        });
        assert_eq!(wait(&heard), 1_000);
        drop(actor);
    });
}
