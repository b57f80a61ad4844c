//! Tests that delayed messages come in order and not too early, are undone with their turn, and are
//! freed with their sponsor.

mod common;

use std::sync::mpsc::channel;
use std::time::Duration;

use common::{Listening, does};
use garrick_sched::{Address, Flow, Sponsor, Turn};
use garrick_testkit::{ByHand, OnDrop, ends, fail, ms, silence_panics, wait};

/// The resolution of timers, rounded up.
const TICK: Duration = Duration::from_micros(10);

impl Listening {
    /// Sends each of the given numbers after as many milliseconds. All timers are set in one turn,
    /// which ends with `flow`.
    fn send_after_so_many_ms(&self, delays: &'static [u64], flow: fn() -> Flow) {
        let to = self.listener.clone();
        let sender = self.here.spawn(does(move |(), turn: &Turn<'_, ()>| {
            for &delay in delays {
                turn.send_after(ms(delay), &to, delay).unwrap();
            }
            flow()
        }));
        sender.send(()).unwrap();
        self.here.run();
    }
}

#[test]
fn they_fire_in_the_order_of_their_deadlines() {
    let stand = Listening::new();
    stand.send_after_so_many_ms(&[5, 1, 9_000, 3, 100, 2], || Flow::Continue);
    stand.clock.advance(ms(10_000));
    assert_eq!(stand.heard(), [1, 2, 3, 5, 100, 9_000]);
}

#[test]
fn those_of_one_deadline_fire_in_the_order_of_sending() {
    let Listening {
        clock,
        here,
        listener,
        heard,
    } = Listening::new();
    let sender = here.spawn(does(move |(), turn: &Turn<'_, ()>| {
        (0..100).for_each(|n| turn.send_after(ms(7), &listener, n).unwrap());
        Flow::Continue
    }));
    sender.send(()).unwrap();
    here.run();
    clock.advance(ms(8));
    (0..16).for_each(|_| here.run());
    let heard: Vec<_> = heard.try_iter().collect();
    assert_eq!(heard, (0..100).collect::<Vec<_>>());
}

#[test]
fn none_fires_early_and_none_a_tick_late() {
    let stand = Listening::new();
    stand.send_after_so_many_ms(&[1, 64, 4_096, 1_000_000], || Flow::Continue);
    let mut now = Duration::ZERO;
    for delay in [1, 64, 4_096, 1_000_000] {
        let just_before = ms(delay) - Duration::from_nanos(1);
        stand.clock.advance(just_before - now);
        assert_eq!(stand.heard(), [], "early for {delay} ms");
        stand.clock.advance(TICK);
        now = just_before + TICK;
        assert_eq!(stand.heard(), [delay]);
    }
}

#[test]
fn one_run_is_enough_for_what_is_due() {
    let stand = Listening::new();
    stand.send_after_so_many_ms(&[1], || Flow::Continue);
    stand.clock.advance(ms(2));
    stand.here.run();
    assert_eq!(stand.heard.try_recv(), Ok(1));
}

#[test]
fn a_delay_of_nothing_and_one_for_ever() {
    let Listening {
        clock,
        here,
        listener,
        heard,
    } = Listening::new();
    let sender = here.spawn(does(move |(), turn: &Turn<'_, ()>| {
        turn.send_after(Duration::MAX, &listener, 2).unwrap();
        turn.send_after(Duration::ZERO, &listener, 1).unwrap();
        Flow::Continue
    }));
    sender.send(()).unwrap();
    here.run();
    clock.advance(ms(1 << 40));
    (0..16).for_each(|_| here.run());
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [1]);
}

#[test]
fn an_undone_turn_fires_nothing() {
    silence_panics();
    let stand = Listening::new();
    stand.send_after_so_many_ms(&[1, 2, 3], || Flow::Undo);
    stand.send_after_so_many_ms(&[1, 2, 3], || fail());
    stand.clock.advance(ms(10));
    assert_eq!(stand.heard(), []);
}

#[test]
fn a_turn_that_stops_its_task_still_fires() {
    let stand = Listening::new();
    stand.send_after_so_many_ms(&[1], || Flow::Stop);
    stand.clock.advance(ms(10));
    assert_eq!(stand.heard(), [1]);
}

#[test]
fn a_timer_keeps_its_receiver_and_lets_it_go() {
    let Listening {
        clock,
        here,
        listener,
        heard,
    } = Listening::new();
    let sender = here.spawn(does(
        move |to: Option<Address<u64>>, turn: &Turn<'_, Option<Address<u64>>>| {
            if let Some(to) = to {
                turn.send_after(ms(5), &to, 5).unwrap();
            }
            Flow::Continue
        },
    ));
    sender.send(Some(listener)).unwrap();
    here.run();
    assert_eq!(
        heard.try_recv(),
        Err(std::sync::mpsc::TryRecvError::Empty),
        "it is alive"
    );
    clock.advance(ms(6));
    // The channel ends when the listener, which has no address any more, is dropped.
    (0..16).for_each(|_| here.run());
    assert_eq!(heard.iter().collect::<Vec<_>>(), [5]);
}

#[test]
fn what_pends_at_the_end_is_dropped() {
    ends(|| {
        for workers in [0, 1, 2] {
            let (died, dies) = channel();
            let receiver_dies = died.clone();
            let of_receiver = OnDrop(move || receiver_dies.send("receiver").unwrap_or(()));
            let receiver = does(move |_: Option<Box<dyn Send>>, _: &Turn<'_, _>| {
                let _ours = &of_receiver;
                Flow::Continue
            });
            let (set, is_set) = channel();
            let sender = |receiver: Address<Option<Box<dyn Send>>>| {
                does(move |(), turn: &Turn<'_, ()>| {
                    let died = died.clone();
                    let message = OnDrop(move || died.send("message").unwrap_or(()));
                    turn.send_after(ms(3_600_000), &receiver, Some(Box::new(message)))
                        .unwrap();
                    set.send(()).unwrap();
                    Flow::Continue
                })
            };
            if workers == 0 {
                let here = Sponsor::builder().world(ByHand::new()).here().unwrap();
                let receiver = here.spawn(receiver);
                here.spawn(sender(receiver)).send(()).unwrap();
                here.run();
            } else {
                let sponsor = Sponsor::builder()
                    .workers(workers)
                    .world(ByHand::new())
                    .start()
                    .unwrap();
                let receiver = sponsor.handle().spawn(receiver).unwrap();
                sponsor
                    .handle()
                    .spawn(sender(receiver))
                    .unwrap()
                    .send(())
                    .unwrap();
                wait(&is_set);
                sponsor.shutdown();
            }
            let mut dead: Vec<_> = dies.iter().collect();
            dead.sort_unstable();
            assert_eq!(dead, ["message", "receiver"], "{workers} workers");
        }
    });
}

#[test]
fn a_sleeping_worker_wakes_for_them() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let (told, tells) = channel();
        let task = sponsor
            .handle()
            .spawn(does(move |first: bool, turn: &Turn<'_, bool>| {
                if first {
                    turn.send_after(ms(1), &turn.address(), false).unwrap();
                } else {
                    told.send(()).unwrap();
                }
                Flow::Continue
            }));
        task.unwrap().send(true).unwrap();
        wait(&tells);
    });
}

#[test]
fn timers_ring_at_workers_where_nobody_sits() {
    const TASKS: u64 = 12;
    const ROUNDS: u64 = 60;
    ends(|| {
        let sponsor = Sponsor::pool(3).unwrap();
        let (done, heard) = channel();
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                // Usually at another worker: the last sender goes there, and leaves its timers
                // behind.
                let echo = does(|_: u64, _: &Turn<'_, u64>| Flow::Continue);
                let echo = sponsor.handle().spawn(echo).unwrap();
                let done = done.clone();
                let rings = does(move |left: u64, turn: &Turn<'_, u64>| {
                    if left == 0 {
                        done.send(task).unwrap();
                        return Flow::Continue;
                    }
                    let later = Duration::from_micros(20 * (task % 5) + 100 * (left % 3));
                    turn.send_after(later, &turn.address(), left - 1).unwrap();
                    turn.send(&echo, left).unwrap();
                    Flow::Continue
                });
                sponsor.handle().spawn(rings).unwrap()
            })
            .collect();
        for task in &tasks {
            task.send(ROUNDS).unwrap();
        }
        let mut rung: Vec<_> = (0..TASKS).map(|_| wait(&heard)).collect();
        rung.sort_unstable();
        assert!(rung.into_iter().eq(0..TASKS));
        sponsor.shutdown();
    });
}
