//! Loom models of bounded mailboxes. Turns and threads take places, and senders wait for a place.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use loom::sync::mpsc;

use super::{Alive, Note, SharedLog, check, check_long, check_with, here, of, spawn};
use crate::runtime::address::Address;
use crate::runtime::bounded::Spawns;
use crate::runtime::room::{Room, WhenFull};
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;

/// Runs `waiters` threads that wait for a place in a bounded mailbox. The mailbox has only one
/// place, which is taken at first. The owner of the mailbox frees the place, and handles wake-ups.
/// Each time a waiter has got the place, the owner frees the place again.
fn wait_for_places(waiters: usize) {
    let room = Room::with(1, WhenFull::Wait);
    assert_eq!(room.take_some(|_| 1), 1);
    let (tell, told) = mpsc::channel();
    let threads: Vec<_> = (0..waiters)
        .map(|_| {
            let (room, tell) = (room.clone(), tell.clone());
            spawn(move || {
                room.wait_for_place(|| tell.send(false).unwrap());
                tell.send(true).unwrap();
            })
        })
        .collect();
    drop(tell);
    room.use_up();
    let mut sent = 0;
    while sent < waiters {
        if told.recv().unwrap() {
            sent += 1;
            room.use_up();
        } else {
            room.nudged();
        }
    }
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(room.taken(), 0);
}

#[test]
fn loom_one_who_waits_is_seen_by_the_keeper_or_nudges_it() {
    check(|| wait_for_places(1));
}

#[test]
fn loom_two_who_wait_share_one_nudge() {
    check_with(2, || wait_for_places(2));
}

/// Polls once for a place in a bounded mailbox and gives up. Returns true if there was no place.
fn gives_up(room: &Arc<Room>, nudge: impl Fn()) -> bool {
    let mut taking = pin!(room.take_with(nudge));
    let polled = taking
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    polled.is_pending()
}

/// Runs `wait` on a thread. `wait` waits for the only place in a bounded mailbox, and gets a
/// function that wakes the owner of the mailbox. At the same time, the owner frees the place and
/// handles the wake-ups. `before` runs first, while the place is taken.
fn wait_beside_keeper(
    before: impl FnOnce(&Arc<Room>),
    wait: impl FnOnce(&Arc<Room>, &dyn Fn()) + 'static,
) {
    let room = Room::with(1, WhenFull::Wait);
    assert_eq!(room.take_some(|_| 1), 1);
    before(&room);
    let (tell, told) = mpsc::channel();
    let there = room.clone();
    let waits = spawn(move || {
        wait(&there, &|| tell.send(false).unwrap());
        tell.send(true).unwrap();
    });
    room.use_up();
    while !told.recv().unwrap() {
        room.nudged();
    }
    waits.join().unwrap();
}

#[test]
fn loom_one_who_waits_after_a_nudge_was_heard_nudges_again() {
    check(|| {
        wait_beside_keeper(
            |room| {
                assert!(gives_up(room, || {}));
                room.nudged();
            },
            |room, nudge| room.wait_for_place(nudge),
        );
    });
}

#[test]
fn loom_one_who_waits_while_a_nudge_is_under_way_is_seen_by_who_hears_it() {
    check(|| {
        wait_beside_keeper(
            |_| {},
            |room, nudge| {
                // The earlier nudge may still be in flight.
                if gives_up(room, nudge) {
                    room.wait_for_place(nudge);
                }
            },
        );
    });
}

#[test]
fn loom_one_who_waits_goes_on_when_the_room_is_closed() {
    check(|| {
        let room = Room::with(1, WhenFull::Wait);
        assert_eq!(room.take_some(|_| 1), 1);
        let there = room.clone();
        // Nobody answers a nudge any more.
        let waits = spawn(move || there.wait_for_place(|| {}));
        room.close();
        waits.join().unwrap();
    });
}

#[test]
fn loom_what_was_done_with_a_place_is_seen_by_who_has_it_next() {
    check(|| {
        let (room, guarded) = (Room::with(1, WhenFull::Fail), super::rooms::Guarded::new());
        assert_eq!(room.take_some(|_| 1), 1);
        let (there, shared) = (room.clone(), guarded.clone());
        let other = spawn(move || {
            if let Some(place) = there.try_take() {
                shared.add(&place);
            }
        });
        guarded.add_as_keeper();
        room.use_up();
        other.join().unwrap();
    });
}

/// Creates a task with a bounded mailbox. The task stops after `messages` messages.
fn bounded(
    here: &crate::runtime::sponsor::Here,
    capacity: usize,
    messages: usize,
    alive: &Alive,
) -> (Address<u32>, SharedLog) {
    let log = SharedLog::default();
    let note = Note::for_some(messages, Arc::clone(&log), alive.one_more());
    let address = here
        .handle()
        .spawn_bounded(capacity, WhenFull::Wait, note)
        .unwrap();
    (address, log)
}

#[test]
fn loom_a_thread_that_waits_for_room_sends_everything_in_order() {
    check_long(2, || {
        let (here, alive) = (here(), Alive::default());
        let (to, log) = bounded(&here, 1, usize::MAX, &alive);
        let sender = spawn(move || {
            to.send(1).unwrap();
            to.send(2).unwrap();
        });
        here.run_until(|| log.lock().unwrap().len() == 2);
        sender.join().unwrap();
        here.run();
        assert_eq!(*log.lock().unwrap(), [1, 2]);
        assert_eq!(alive.count(), 0, "nothing refers to it any more");
    });
}

#[test]
fn loom_a_thread_that_waits_for_room_goes_on_when_the_task_stops() {
    check_long(2, || {
        let (here, alive) = (here(), Alive::default());
        let (to, log) = bounded(&here, 1, 1, &alive);
        let sender = spawn(move || {
            to.send(1).unwrap();
            // Given back, or a dead letter.
            usize::from(to.send(2).is_ok())
        });
        here.run_until(|| log.lock().unwrap().len() == 1);
        let lost = sender.join().unwrap();
        here.run();
        assert_eq!(*log.lock().unwrap(), [1]);
        assert_eq!(here.handle().dead_letters() as usize, lost);
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn loom_one_who_gives_up_waiting_leaves_the_nudge_to_others() {
    check_with(1, || {
        let (here, alive) = (here(), Alive::default());
        let (to, log) = bounded(&here, 1, usize::MAX, &alive);
        to.send(1).unwrap();
        let waits = spawn(move || {
            // Polled once, and dropped with or without a place.
            let _ = pin!(to.place()).poll(&mut Context::from_waker(Waker::noop()));
            to.send(2).unwrap();
        });
        here.run_until(|| log.lock().unwrap().len() == 2);
        waits.join().unwrap();
        here.run();
        assert_eq!(alive.count(), 0);
    });
}

/// Task that sends two messages to another task in one turn, and records how many were accepted.
struct Sender {
    to: Option<Address<u32>>,
    sent: Arc<Mutex<Vec<u32>>>,
    undoes: bool,
}

impl Task for Sender {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        let to = self.to.take().unwrap();
        let sent: Vec<u32> = [11, 12]
            .into_iter()
            .filter(|&number| turn.send(&to, number).is_ok())
            .collect();
        if self.undoes {
            return Flow::Undo;
        }
        self.sent.lock().unwrap().extend(sent);
        Flow::Continue
    }
}

#[test]
fn loom_a_turn_and_a_thread_take_places_and_all_that_is_sent_is_handled() {
    for undoes in [false, true] {
        check_with(1, move || {
            let (here, alive) = (here(), Alive::default());
            let (to, log) = bounded(&here, 2, usize::MAX, &alive);
            let room = to.room().unwrap();
            let foreign = to.clone();
            let other = spawn(move || {
                [1, 2]
                    .into_iter()
                    .filter(|&number| foreign.try_send(number).is_ok())
                    .collect::<Vec<u32>>()
            });
            let sent = Arc::new(Mutex::default());
            let sender = Sender {
                to: Some(to),
                sent: sent.clone(),
                undoes,
            };
            here.spawn(sender).send(()).unwrap();
            here.run();
            let others = other.join().unwrap();
            here.run();
            let log = log.lock().unwrap();
            assert_eq!(
                (of(&log, 0), of(&log, 1)),
                (others, sent.lock().unwrap().clone())
            );
            // The task is gone, and with it its room.
            assert_eq!((room.taken(), Arc::strong_count(&room)), (0, 1));
            assert_eq!(alive.count(), 0);
        });
    }
}
