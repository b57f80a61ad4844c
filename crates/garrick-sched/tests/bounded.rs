//! Tests of bounded mailboxes: messages that count towards the bound, senders that wait, and
//! messages that are accepted above the bound.

mod common;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use common::{Does, does};
use garrick_sched::{
    Address, Flow, Handle, Here, NoReply, Reply, Room, SendError, Spawns, Sponsor, Task,
    TrySendError, Turn, WhenFull, audit,
};
use garrick_testkit::{Bomb, OnDrop, ends_alone, fail, silence_panics, wait};

/// Reports the messages that it receives.
fn teller(told: mpsc::Sender<u32>) -> Does<u32, impl FnMut(u32, &Turn<'_, u32>) -> Flow + Send> {
    does(move |message, _: &Turn<'_, u32>| {
        told.send(message).unwrap();
        Flow::Continue
    })
}

/// Makes a task that has a bounded mailbox and reports its messages. Returns a receiver of the
/// reports.
fn bounded(
    on: &Handle,
    capacity: usize,
    when_full: WhenFull,
) -> (Address<u32>, mpsc::Receiver<u32>) {
    let (told, heard) = mpsc::channel();
    let address = on.spawn_bounded(capacity, when_full, teller(told)).unwrap();
    (address, heard)
}

/// Runs `f` in a turn of a new task.
fn in_turn(here: &Here, f: impl FnMut(&Turn<'_, u32>) -> Flow + Send + 'static) {
    let mut f = f;
    let doer = here.spawn(does(move |_, turn: &Turn<'_, u32>| f(turn)));
    doer.send(0).unwrap();
    here.run();
}

fn room(address: &Address<u32>) -> Arc<Room> {
    address.room().unwrap()
}

/// Polls a future that must be pending.
fn is_pending(future: impl Future) -> bool {
    pin!(future)
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_pending()
}

#[test]
fn a_turn_can_send_as_many_as_there_is_room_for_and_no_more() {
    ends_alone(|| {
        for capacity in 1..200 {
            let here = Here::new_here().unwrap();
            let (to, heard) = bounded(&here.handle(), capacity, WhenFull::Fail);
            let there = to.clone();
            let sent = capacity as u32;
            in_turn(&here, move |turn| {
                (0..sent).for_each(|n| turn.send(&there, n).unwrap());
                assert_eq!(turn.send(&there, 1000), Err(SendError(1000)));
                assert_eq!(there.try_send(1000), Err(TrySendError::Full(1000)));
                Flow::Continue
            });
            assert_eq!(
                heard.try_iter().collect::<Vec<_>>(),
                Vec::from_iter(0..sent)
            );
            assert_eq!(room(&to).taken(), 0);
        }
    });
}

#[test]
fn what_a_turn_took_ahead_is_there_for_others_afterwards() {
    ends_alone(|| {
        for sent in 1..60 {
            let here = Here::new_here().unwrap();
            let (to, heard) = bounded(&here.handle(), 100, WhenFull::Fail);
            let (there, twice) = (to.clone(), to.clone());
            in_turn(&here, move |turn| {
                (0..sent).for_each(|n| turn.send(&there, n).unwrap());
                // No message is handled before this turn ends.
                let (far, twice) = (there.clone(), twice.clone());
                let second = turn.spawn(does(move |(), turn: &Turn<'_, ()>| {
                    let fit = (0..).take_while(|n| turn.send(&far, *n).is_ok()).count();
                    let waiting = room(&twice).taken();
                    assert!(waiting == 100 || fit == 100, "{fit} fit, {waiting} wait");
                    Flow::Continue
                }));
                turn.send(&second, ()).unwrap();
                Flow::Continue
            });
            assert!(heard.try_iter().count() >= 100);
            assert_eq!(room(&to).taken(), 0);
        }
    });
}

#[test]
fn an_undone_turn_has_taken_no_place() {
    silence_panics();
    ends_alone(|| {
        for sent in [1, 2, 3, 40, 100] {
            for panics in [false, true] {
                let here = Here::new_here().unwrap();
                let (to, heard) = bounded(&here.handle(), 100, WhenFull::Fail);
                let there = to.clone();
                in_turn(&here, move |turn| {
                    (0..sent).for_each(|n| turn.send(&there, n).unwrap());
                    if panics { fail() } else { Flow::Undo }
                });
                assert_eq!(room(&to).taken(), 0);
                (0..100).for_each(|n| to.try_send(n).unwrap());
                assert_eq!(to.try_send(100), Err(TrySendError::Full(100)));
                here.run();
                assert_eq!(heard.try_iter().count(), 100);
            }
        }
    });
}

/// A message that sends three numbers when it is dropped.
struct SendsThree(Address<u32>);

impl Drop for SendsThree {
    fn drop(&mut self) {
        (1..=3).for_each(|n| self.0.send(n).unwrap());
    }
}

#[test]
fn places_for_what_destructors_send_are_kept_no_longer_than_needed() {
    ends_alone(|| {
        for is_undone in [false, true] {
            let here = Here::new_here().unwrap();
            let (to, heard) = bounded(&here.handle(), 64, WhenFull::Fail);
            let there = to.clone();
            let drops = here.spawn(does(|_, _: &Turn<'_, SendsThree>| Flow::Continue));
            let answers = does(move |reply: Reply<SendsThree>, turn: &Turn<'_, _>| {
                // The message of the timer is dropped while the turn commits, the answer while the
                // turn is undone.
                let timer = turn.timer();
                let set = turn.set_timer(&timer, 1, &drops, SendsThree(there.clone()));
                assert!(set.is_ok());
                timer.cancel();
                reply.send(SendsThree(there.clone()));
                if is_undone {
                    Flow::Undo
                } else {
                    Flow::Continue
                }
            });
            let asked = here.spawn(answers).ask(|reply| reply);
            here.run();
            drop(asked);
            here.run();
            assert_eq!(heard.try_iter().sum::<u32>(), 12);
            assert_eq!(room(&to).taken(), 0);
        }
    });
}

#[test]
fn a_turn_that_leaves_its_seat_keeps_its_places_and_gives_back_the_others() {
    silence_panics();
    ends_alone(|| {
        for undone in [false, true] {
            let sponsor = Sponsor::pool(1).unwrap();
            let (to, heard) = bounded(&sponsor.handle(), 100, WhenFull::Fail);
            let there = to.clone();
            let sender = does(move |done: Reply<()>, turn: &Turn<'_, Reply<()>>| {
                (0..5).for_each(|n| turn.send(&there, n).unwrap());
                let room = room(&there);
                turn.blocking(|| assert_eq!(room.taken(), 5));
                (5..8).for_each(|n| turn.send(&there, n).unwrap());
                turn.blocking(|| assert_eq!(room.taken(), 8));
                done.send(());
                if undone { Flow::Undo } else { Flow::Continue }
            });
            let sender = sponsor.handle().spawn(sender).unwrap();
            let answer = sender.ask(|reply| reply).wait();
            assert_eq!(
                answer,
                if undone {
                    Err(NoReply::Dropped)
                } else {
                    Ok(())
                }
            );
            let room = room(&to);
            drop((sender, to));
            sponsor.shutdown();
            assert_eq!(heard.try_iter().count(), if undone { 0 } else { 8 });
            // Its task is gone, and there is a place for everybody.
            assert_eq!(room.taken(), 0);
        }
    });
}

#[test]
fn senders_from_everywhere_never_exceed_the_bound_and_lose_nothing() {
    const EACH: u32 = 3_000;
    ends_alone(|| {
        for (workers, capacity) in [(1, 1), (2, 3), (2, 64)] {
            let sponsor = Sponsor::pool(workers).unwrap();
            let (told, heard) = mpsc::channel();
            let handled = Arc::new(AtomicU32::new(0));
            let counted = handled.clone();
            let handle = sponsor.handle();
            let receiver = does(move |(from, n): (u32, u32), _: &Turn<'_, _>| {
                counted.fetch_add(1, Ordering::Relaxed);
                told.send((from, n)).unwrap();
                Flow::Continue
            });
            let to = handle
                .spawn_bounded(capacity, WhenFull::Wait, receiver)
                .unwrap();
            let room = to.room().unwrap();
            let threads: Vec<_> = (0..2)
                .map(|from| {
                    let to = to.clone();
                    thread::spawn(move || {
                        (0..EACH).for_each(|n| to.send((from, n)).unwrap());
                    })
                })
                .collect();
            // A task that sends in bursts, as many as it may, until all are sent.
            let there = to.clone();
            let mut next = 0;
            let task = does(move |(), turn: &Turn<'_, ()>| {
                for _ in 0..7 {
                    if next == EACH || turn.send(&there, (2, next)).is_err() {
                        break;
                    }
                    next += 1;
                }
                if next == EACH {
                    return Flow::Stop;
                }
                turn.send(&turn.address(), ()).unwrap();
                Flow::Continue
            });
            handle.spawn(task).unwrap().send(()).unwrap();
            let mut nexts = [0; 3];
            for _ in 0..3 * EACH {
                let (from, n) = wait(&heard);
                assert_eq!(n, nexts[from as usize], "in the order of sending");
                nexts[from as usize] += 1;
                assert!(room.taken() <= capacity);
            }
            for thread in threads {
                thread.join().unwrap();
            }
            drop(to);
            sponsor.shutdown();
            assert_eq!(handled.load(Ordering::Relaxed), 3 * EACH);
        }
    });
}

#[test]
fn futures_that_wait_get_their_places_one_after_the_other() {
    ends_alone(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let (to, heard) = bounded(&sponsor.handle(), 1, WhenFull::Fail);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let to = to.clone();
                thread::spawn(move || {
                    let here = Here::new_here().unwrap();
                    for n in 0..500 {
                        let place = here.block_on(to.place()).unwrap();
                        to.send_in(place, n).unwrap();
                    }
                })
            })
            .collect();
        for _ in 0..1_500 {
            wait(&heard);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(room(&to).taken(), 0);
    });
}

#[test]
fn one_who_waits_gets_its_message_back_when_the_task_stops() {
    ends_alone(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let (begun, begins) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let stops = does(move |_: u32, _: &Turn<'_, u32>| {
            begun.send(()).unwrap();
            wait(&gate);
            Flow::Stop
        });
        let to = sponsor
            .handle()
            .spawn_bounded(1, WhenFull::Wait, stops)
            .unwrap();
        to.send(1).unwrap();
        wait(&begins);
        // The place of the message that is being handled.
        to.send(2).unwrap();
        let there = to.clone();
        let waits = thread::spawn(move || there.send(3));
        let there = to.clone();
        let awaits = thread::spawn(move || {
            let here = Here::new_here().unwrap();
            let place = here.block_on(there.place()).unwrap();
            there.send_in(place, 4)
        });
        assert!(is_pending(to.place()));
        go.send(()).unwrap();
        // The message may have been put into the mailbox by then, and is a dead letter.
        let refused = [waits.join().unwrap(), awaits.join().unwrap()];
        for (message, result) in (3..).zip(refused) {
            assert!(result == Err(SendError(message)) || result.is_ok());
        }
        while !to.is_stopped() {
            thread::yield_now();
        }
        assert_eq!(to.send(5), Err(SendError(5)));
        assert_eq!(to.try_send(5), Err(TrySendError::Stopped(5)));
        assert!(to.place_blocking().is_some());
        assert!(!is_pending(to.place()));
    });
}

#[test]
fn a_message_of_a_turn_occupies_the_place_that_was_taken_for_it() {
    ends_alone(|| {
        for flow in [Flow::Continue, Flow::Undo] {
            let here = Here::new_here().unwrap();
            let (to, heard) = bounded(&here.handle(), 2, WhenFull::Fail);
            let mut place = Some(to.place_blocking().unwrap());
            assert_eq!(room(&to).taken(), 1);
            let there = to.clone();
            let (told, counts) = mpsc::channel();
            in_turn(&here, move |_| {
                there.send_in(place.take().unwrap(), 7).unwrap();
                told.send((there.try_send(8), there.try_send(9))).unwrap();
                flow
            });
            assert_eq!(wait(&counts), (Ok(()), Err(TrySendError::Full(9))));
            assert_eq!(room(&to).taken(), 0);
            let expected: &[u32] = if flow == Flow::Undo { &[] } else { &[7, 8] };
            assert_eq!(heard.try_iter().collect::<Vec<_>>(), expected);
        }
    });
}

#[test]
fn a_mailbox_that_drops_counts_what_it_drops_and_survives_its_destructor() {
    silence_panics();
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let handled = Arc::new(AtomicU32::new(0));
        let count = handled.clone();
        let to = here
            .handle()
            .spawn_bounded(
                2,
                WhenFull::Drop,
                does(
                    move |message: OnDrop<Box<dyn FnMut() + Send>>, _: &Turn<'_, _>| {
                        count.fetch_add(1, Ordering::Relaxed);
                        std::mem::forget(message);
                        Flow::Continue
                    },
                ),
            )
            .unwrap();
        let bomb = || OnDrop(Box::new(|| drop(Bomb)) as Box<dyn FnMut() + Send>);
        for _ in 0..5 {
            assert!(to.send(bomb()).is_ok());
        }
        let there = to.clone();
        in_turn(&here, move |turn| {
            for _ in 0..5 {
                assert!(turn.send(&there, bomb()).is_ok());
            }
            Flow::Continue
        });
        let room = to.room().unwrap();
        assert_eq!((room.dropped(), handled.load(Ordering::Relaxed)), (8, 2));
    });
}

#[test]
fn answers_and_timers_come_in_above_the_bound() {
    struct Asker {
        told: mpsc::Sender<u32>,
    }

    impl Task for Asker {
        type Message = u32;

        fn receive(&mut self, message: u32, turn: &Turn<'_, u32>) -> Flow {
            self.told.send(message).unwrap();
            if message == 0 {
                let me = turn.address();
                turn.send_after(Duration::ZERO, &me, 7).unwrap();
                let answers = turn.spawn(does(|reply: Reply<u32>, _: &Turn<'_, _>| {
                    reply.send(8);
                    Flow::Continue
                }));
                turn.send(&answers, Reply::to_task(me.clone(), |n| n.unwrap_or(9)))
                    .unwrap();
                turn.send(&me, 1).unwrap();
                assert_eq!(turn.send(&me, 2), Err(SendError(2)));
            }
            Flow::Continue
        }
    }

    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let (told, heard) = mpsc::channel();
        let asker = here
            .handle()
            .spawn_bounded(1, WhenFull::Fail, Asker { told })
            .unwrap();
        asker.send(0).unwrap();
        let mut all = Vec::new();
        while all.len() < 4 {
            here.run();
            all.extend(heard.try_iter());
        }
        let mut heard = all;
        heard.sort_unstable();
        assert_eq!(heard, [0, 1, 7, 8]);
        assert_eq!(room(&asker).taken(), 0);
    });
}

#[test]
fn a_bounded_task_moves_with_its_message_and_stays_if_there_is_no_room() {
    ends_alone(|| {
        let (near, far) = (Sponsor::pool(1).unwrap(), Sponsor::pool(1).unwrap());
        let (told, heard) = mpsc::channel();
        let names = does(move |n: u32, turn: &Turn<'_, u32>| {
            told.send((n, turn.sponsor().name().to_owned())).unwrap();
            Flow::Continue
        });
        let to = near
            .handle()
            .spawn_bounded(2, WhenFull::Fail, names)
            .unwrap();
        let (there, home, away) = (to.clone(), near.handle(), far.handle());
        let sender = does(move |reply: Reply<()>, turn: &Turn<'_, _>| {
            turn.send(&there, 1).unwrap();
            turn.send_on(&away, &there, 2).unwrap();
            assert_eq!(turn.send_on(&home, &there, 3), Err(SendError(3)));
            reply.send(());
            Flow::Continue
        });
        let sender = near.handle().spawn(sender).unwrap();
        sender.ask(|reply| reply).wait().unwrap();
        let homes = [
            near.handle().name().to_owned(),
            far.handle().name().to_owned(),
        ];
        assert_eq!(wait(&heard), (1, homes[0].clone()));
        assert_eq!(wait(&heard), (2, homes[1].clone()));
        to.send(4).unwrap();
        assert_eq!(wait(&heard), (4, homes[1].clone()));
    });
}

#[test]
fn rooms_and_blocks_are_freed_however_the_task_ends() {
    /// A message that is larger than a block of the memory pool.
    struct Large([u64; 100]);

    impl Task for Large {
        type Message = u32;

        fn receive(&mut self, message: u32, _: &Turn<'_, u32>) -> Flow {
            self.0[message as usize] += 1;
            if message == 1 {
                Flow::Stop
            } else {
                Flow::Continue
            }
        }
    }

    ends_alone(|| {
        let before = audit();
        let mut rooms: Vec<Weak<Room>> = Vec::new();
        for how in 0..5 {
            let here = Here::new_here().unwrap();
            let to = here
                .handle()
                .spawn_bounded(4, WhenFull::Fail, Large([0; 100]))
                .unwrap();
            rooms.push(Arc::downgrade(&room(&to)));
            match how {
                // No address is left, before or after it has run.
                0 => drop(to),
                1 => {
                    to.send(0).unwrap();
                    here.run();
                    drop(to);
                }
                // The task stops, and its addresses are dropped later, here or on another thread.
                2 | 3 => {
                    to.send(1).unwrap();
                    to.send(2).unwrap();
                    here.run();
                    assert!(to.is_stopped());
                    if how == 2 {
                        drop(to);
                    } else {
                        thread::spawn(move || drop(to)).join().unwrap();
                    }
                }
                // The sponsor of the task ends.
                _ => {
                    to.send(0).unwrap();
                    drop(here);
                    assert_eq!(to.send(0), Err(SendError(0)));
                }
            }
        }
        // A task that could not be made comes back whole.
        let sponsor = Sponsor::pool(1).unwrap();
        let handle = sponsor.handle();
        sponsor.shutdown();
        let refused = handle.spawn_bounded(1, WhenFull::Fail, Large([7; 100]));
        assert_eq!(refused.map_err(|error| error.0.0).unwrap_err(), [7; 100]);
        assert!(rooms.iter().all(|room| room.strong_count() == 0));
        assert_eq!(audit(), before);
    });
}

#[test]
fn an_address_of_a_bounded_task_that_a_turn_makes_and_drops_leaves_nothing() {
    ends_alone(|| {
        let before = audit();
        let here = Here::new_here().unwrap();
        for undone in [false, true] {
            let mut kept = Vec::new();
            in_turn(&here, move |turn| {
                let (told, heard) = mpsc::channel();
                let to = turn
                    .sponsor()
                    .spawn_bounded(2, WhenFull::Fail, teller(told))
                    .unwrap();
                assert_eq!(turn.send(&to, 1).and_then(|()| turn.send(&to, 2)), Ok(()));
                assert!(turn.send(&to, 3).is_err());
                drop(to);
                kept.push(heard);
                if undone { Flow::Undo } else { Flow::Stop }
            });
        }
        drop(here);
        assert_eq!(audit(), before);
    });
}

#[test]
fn many_who_give_up_waiting_leave_no_more_than_one_nudge() {
    ends_alone(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let (begun, begins) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let holds = does(move |_: u32, _: &Turn<'_, u32>| {
            begun.send(()).unwrap();
            wait(&gate);
            Flow::Continue
        });
        let to = sponsor
            .handle()
            .spawn_bounded(1, WhenFull::Fail, holds)
            .unwrap();
        to.send(1).unwrap();
        wait(&begins);
        to.send(2).unwrap();
        assert!(is_pending(to.place()));
        let before = audit();
        (0..1000).for_each(|_| assert!(is_pending(to.place())));
        assert_eq!(audit(), before);
        go.send(()).unwrap();
        wait(&begins);
        // The place of the second message is free.
        assert!(to.try_send(3).is_ok());
        go.send(()).unwrap();
        go.send(()).unwrap();
        wait(&begins);
    });
}

#[test]
fn a_waker_that_panics_and_one_that_sends_are_none_of_who_makes_room() {
    use std::task::Wake;

    struct Wakes(Address<u32>, bool);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            // Not part of the turn that makes room, which is undone.
            self.0.send(0).unwrap();
            if self.1 {
                fail();
            }
        }
    }

    silence_panics();
    ends_alone(|| {
        for panics in [false, true] {
            let here = Here::new_here().unwrap();
            let (other, heard) = bounded(&here.handle(), 10, WhenFull::Fail);
            let undoes = does(|_: u32, _: &Turn<'_, u32>| Flow::Undo);
            let to = here
                .handle()
                .spawn_bounded(1, WhenFull::Fail, undoes)
                .unwrap();
            to.send(1).unwrap();
            let waker = Waker::from(Arc::new(Wakes(other.clone(), panics)));
            let mut taking = pin!(to.place());
            let context = &mut Context::from_waker(&waker);
            assert!(taking.as_mut().poll(context).is_pending());
            here.run();
            assert_eq!(heard.try_iter().collect::<Vec<_>>(), [0]);
            assert!(matches!(
                taking.as_mut().poll(context),
                Poll::Ready(Some(_))
            ));
        }
    });
}

#[test]
fn a_long_chain_of_contramaps_has_the_bound_of_its_end() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let (to, heard) = bounded(&here.handle(), 2, WhenFull::Wait);
        let chain = (0..64).fold(to, |to, _| to.contramap(|number: u32| number));
        assert_eq!((chain.capacity(), chain.waiting()), (Some(2), Some(0)));
        chain.try_send(7).unwrap();
        chain.try_send(8).unwrap();
        assert_eq!(chain.try_send(9), Err(TrySendError::Full(9)));
        here.run();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [7, 8]);
    });
}

/// Returns an address that converts messages. Its conversion records each message.
fn noted(to: &Address<u32>) -> (Address<u32>, mpsc::Receiver<u32>) {
    let (told, converted) = mpsc::channel();
    let address = to.contramap(move |n: u32| {
        told.send(n).unwrap();
        n + 100
    });
    (address, converted)
}

#[test]
fn a_converting_address_gives_back_what_a_full_mailbox_refuses_and_does_not_convert_it() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        for when_full in [WhenFull::Fail, WhenFull::Wait] {
            let (to, heard) = bounded(&here.handle(), 1, when_full);
            let (mapped, converted) = noted(&to);
            let in_chain = mapped.contramap(|n: u32| n);
            in_turn(&here, move |turn| {
                turn.send(&mapped, 1).unwrap();
                assert_eq!(turn.send(&mapped, 2), Err(SendError(2)));
                assert_eq!(turn.send(&in_chain, 3), Err(SendError(3)));
                Flow::Continue
            });
            assert_eq!(heard.try_iter().collect::<Vec<_>>(), [101]);
            assert_eq!(converted.try_iter().collect::<Vec<_>>(), [1]);
            assert_eq!(room(&to).taken(), 0);
        }
        let (to, heard) = bounded(&here.handle(), 1, WhenFull::Fail);
        let (mapped, converted) = noted(&to);
        mapped.send(1).unwrap();
        assert_eq!(mapped.send(2), Err(SendError(2)));
        here.run();
        mapped.send(3).unwrap();
        here.run();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [101, 103]);
        assert_eq!(converted.try_iter().collect::<Vec<_>>(), [1, 3]);
    });
}

#[test]
fn a_message_whose_receiver_stops_during_the_conversion_is_counted() {
    ends_alone(|| {
        let sponsor = Sponsor::builder().workers(1).start().unwrap();
        let (to, heard) = bounded(&sponsor.handle(), 2, WhenFull::Fail);
        let stops = {
            let to = to.clone();
            to.clone().contramap(move |n: u32| {
                to.stop();
                while !to.is_stopped() {
                    thread::yield_now();
                }
                n
            })
        };
        stops.send(1).unwrap();
        assert_eq!(to.dropped(), 1);
        assert_eq!(stops.send(2), Err(SendError(2)));
        assert_eq!((to.dropped(), heard.try_iter().count()), (1, 0));
    });
}

#[test]
fn a_thread_does_not_wait_for_itself_through_converting_addresses() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let (to, heard) = bounded(&here.handle(), 1, WhenFull::Wait);
        let once = to.contramap(|n: u32| n);
        let twice = once.contramap(|n: u32| n);
        to.send(1).unwrap();
        for address in [&to, &once, &twice] {
            assert_eq!(address.send(2), Err(SendError(2)));
            assert_eq!(address.send_blocking(3), Err(SendError(3)));
        }
        here.run();
        twice.send_blocking(4).unwrap();
        here.run();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [1, 4]);
    });
}

#[test]
fn a_converting_address_drops_for_a_mailbox_that_drops() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let (to, heard) = bounded(&here.handle(), 1, WhenFull::Drop);
        let (mapped, converted) = noted(&to);
        (1..=3).for_each(|n| mapped.send(n).unwrap());
        assert_eq!((mapped.dropped(), to.dropped()), (2, 2));
        here.run();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [101]);
        assert_eq!(converted.try_iter().collect::<Vec<_>>(), [1]);
    });
}

#[test]
fn senders_of_a_converting_address_wait_and_lose_nothing() {
    ends_alone(|| {
        const EACH: u32 = 2_000;
        let sponsor = Sponsor::builder().workers(1).start().unwrap();
        let (to, heard) = bounded(&sponsor.handle(), 2, WhenFull::Wait);
        let (mapped, converted) = noted(&to);
        thread::scope(|scope| {
            for _ in 0..3 {
                let mapped = mapped.clone();
                scope.spawn(move || (0..EACH).for_each(|n| mapped.send(n).unwrap()));
            }
        });
        drop((mapped, to));
        let mut counts = vec![0; EACH as usize];
        heard.iter().for_each(|n| counts[n as usize - 100] += 1);
        assert!(counts.iter().all(|count| *count == 3));
        assert_eq!(converted.iter().count(), 3 * EACH as usize);
        sponsor.shutdown();
    });
}

#[test]
fn a_place_for_a_converted_message_comes_back_if_the_function_panics_or_the_turn_is_undone() {
    silence_panics();
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let (to, heard) = bounded(&here.handle(), 1, WhenFull::Fail);
        let fails = to.contramap(|_: u32| fail());
        let _ = fails.send(1);
        assert_eq!(room(&to).taken(), 0);
        let mapped = to.contramap(|n: u32| n + 100);
        let twice = mapped.clone();
        in_turn(&here, move |turn| {
            let _ = turn.send(&fails, 1);
            turn.send(&twice, 2).unwrap();
            fail()
        });
        assert_eq!(room(&to).taken(), 0);
        mapped.send(3).unwrap();
        here.run();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [103]);
    });
}
