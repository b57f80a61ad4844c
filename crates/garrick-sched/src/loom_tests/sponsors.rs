//! Loom models of two workers of one sponsor (group of workers). The workers give cells (tasks)
//! away, claim cells, sleep, and end when there is no more work.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

use garrick_core::prim::UnsafeCell;

use super::{Alive, Note, SharedLog, check, check_long, check_with, spawn};
use crate::cell::{Kind, Notice, Ready};
use crate::driver::Driver;
use crate::remote::Remote;
use crate::runtime::address::Address;
use crate::runtime::current;
use crate::runtime::sponsor::{
    Handle, LeftInModel, Shared, Sponsor, guest, serve_in_model, serve_rounds_in_model,
};
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;

/// Creates a sponsor (a group of workers) whose threads are added later. Each thread may run any of
/// the workers.
fn sponsor(workers: usize) -> (Arc<Shared>, Handle) {
    sponsor_of(workers, true)
}

/// Creates a sponsor (a group of workers) whose threads are added later. If `roams` is true, each
/// thread may run any of the workers.
fn sponsor_of(workers: usize, roams: bool) -> (Arc<Shared>, Handle) {
    let shared = Sponsor::builder().workers(workers).share_in_model(roams);
    (shared.clone(), Handle::new(shared))
}

/// Runs the sponsor (a group of workers) on this thread and on another thread until the sponsor
/// stops.
fn serve_both(shared: &Arc<Shared>) {
    let second = shared.clone();
    let other = spawn(move || serve_in_model(second, 1, None));
    serve_in_model(shared.clone(), 0, None);
    other.join().unwrap();
}

#[test]
fn loom_cells_are_given_to_a_worker_that_is_idle_and_nothing_is_left_at_the_end() {
    check_long(1, || {
        let (shared, handle) = sponsor(2);
        let (log, alive) = (Arc::new(Mutex::default()), Alive::default());
        // Both at the first worker, so that it has a cell to give.
        for number in [1, 11] {
            let note = Note::new(Arc::clone(&log), alive.one_more());
            let note = handle.spawn_at(shared.homes[0], note, true).unwrap();
            note.send(number).unwrap();
            note.send(number + 1).unwrap();
        }
        shared.drain();
        serve_both(&shared);
        let log = log.lock().unwrap();
        assert_eq!(
            (super::of(&log, 0), super::of(&log, 1)),
            (vec![1, 2], vec![11, 12])
        );
        assert_eq!(alive.count(), 0);
        assert_eq!(handle.dead_letters(), 0);
    });
}

/// Task (a player) that sends messages to the next player, a limited number of times.
struct Player {
    other: Option<Address<u32>>,
    handled: Arc<AtomicUsize>,
}

impl Task for Player {
    type Message = u32;

    fn receive(&mut self, left: u32, _: &Turn<'_, u32>) -> Flow {
        self.handled.fetch_add(1, Relaxed);
        if left > 0
            && let Some(other) = &self.other
        {
            other.send(left - 1).unwrap();
        }
        Flow::Continue
    }
}

/// Creates players on the given workers. Each player sends messages to the next one. Returns the
/// first player.
fn relay(
    shared: &Shared,
    handle: &Handle,
    handled: &Arc<AtomicUsize>,
    workers: &[usize],
) -> Address<u32> {
    let place = |other, &worker: &usize| {
        let handled = Arc::clone(handled);
        let player = Player { other, handled };
        Some(handle.spawn_at(shared.homes[worker], player, true).unwrap())
    };
    workers.iter().rev().fold(None, place).unwrap()
}

#[test]
fn loom_the_end_waits_for_what_goes_to_and_fro_between_workers() {
    check_long(1, || {
        let (shared, handle) = sponsor(2);
        let handled = Arc::new(AtomicUsize::new(0));
        let first = relay(&shared, &handle, &handled, &[0, 1, 0]);
        first.send(2).unwrap();
        drop(first);
        shared.drain();
        serve_both(&shared);
        assert_eq!(
            handled.load(Relaxed),
            3,
            "all of them are handled before the end"
        );
        assert_eq!(handle.dead_letters(), 0);
    });
}

/// Gives away one of two cells of a worker. At the same time, another thread sends messages to this
/// cell, drops references to it, and claims cells (takes cells that the worker has given away).
fn given_away_while(second: fn(Address<u32>) -> usize) {
    check_long(1, move || {
        let (shared, handle) = sponsor(2);
        let (log, alive) = (Arc::new(Mutex::default()), Alive::default());
        let note = || Note::new(Arc::clone(&log), alive.one_more());
        // Both at the first worker, so that it has a cell to give; the second worker counts as idle
        // until it serves.
        let kept = handle.spawn_at(shared.homes[0], note(), true).unwrap();
        let given = handle.spawn_at(shared.homes[0], note(), true).unwrap();
        given.send(1).unwrap();
        kept.send(11).unwrap();
        let other = {
            let shared = shared.clone();
            spawn(move || {
                let sent = second(given);
                serve_rounds_in_model(shared, 1, 1);
                sent
            })
        };
        serve_rounds_in_model(shared, 0, 1);
        let sent = 2 + other.join().unwrap();
        drop(kept);
        let log = log.lock().unwrap();
        let heard = super::of(&log, 0);
        assert!(heard.is_sorted(), "in order: {heard:?}");
        let handled = log.len() + handle.dead_letters() as usize;
        assert_eq!(handled, sent, "handled, counted, or given back");
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn loom_a_cell_is_given_away_and_claimed_while_others_send_to_it() {
    given_away_while(|given| usize::from(given.send(2).is_ok()));
}

#[test]
fn loom_a_cell_is_given_away_and_claimed_while_others_clone_and_drop_references() {
    given_away_while(|given| {
        let second = given.clone();
        drop(given);
        drop(second);
        0
    });
}

/// Task that moves the task `player` to the group of workers (sponsor) of the task `to`, sends a
/// message to `player`, and stops.
struct Mover {
    player: Address<u32>,
    to: Handle,
}

impl Task for Mover {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        turn.send_on(&self.to, &self.player, 0).unwrap();
        Flow::Stop
    }
}

/// Moves a cell from another sponsor (group of workers), through the shared queue, to a worker that
/// goes to sleep. Then the sponsor of this worker handles the remaining messages and stops.
fn published_to_a_worker_in(preemptions: usize, driver: fn() -> Option<Box<dyn Driver>>) {
    check_with(preemptions, move || {
        let (shared, to) = sponsor_of(1, false);
        let handled = Arc::new(AtomicUsize::new(0));
        let player = Player {
            other: None,
            handled: Arc::clone(&handled),
        };
        let giver = {
            let shared = shared.clone();
            spawn(move || {
                let here = super::here();
                let player = here.handle().spawn(player).unwrap();
                here.spawn(Mover { player, to }).send(()).unwrap();
                here.run();
                drop(here);
                // Every message or cell that it was given is handled before the end.
                shared.drain();
            })
        };
        serve_in_model(shared, 0, driver());
        giver.join().unwrap();
        assert_eq!(handled.load(Relaxed), 1);
    });
}

#[test]
fn loom_published_work_is_seen_or_the_sleeper_is_woken() {
    published_to_a_worker_in(3, || None);
}

/// A driver in which a worker sleeps. A wake by this driver synchronizes only with a sleeping
/// thread. Loom's `unpark`, in contrast, makes all earlier writes visible to the thread, even if
/// that thread is awake.
#[derive(Default)]
struct Bed {
    is_woken: loom::sync::Mutex<bool>,
    bell: loom::sync::Condvar,
}

impl Wake for Bed {
    fn wake(self: Arc<Self>) {
        *self.is_woken.lock().unwrap() = true;
        self.bell.notify_one();
    }
}

struct InBed(Arc<Bed>);

fn in_bed() -> Box<dyn Driver> {
    Box::new(InBed(Arc::default()))
}

impl Driver for InBed {
    fn waker(&self) -> Waker {
        Waker::from(self.0.clone())
    }

    fn surround(&self, life: &mut dyn FnMut()) {
        life();
    }

    fn park(&self, _: Option<Duration>) {
        let mut is_woken = self.0.is_woken.lock().unwrap();
        while !*is_woken {
            is_woken = self.0.bell.wait(is_woken).unwrap();
        }
        *is_woken = false;
    }

    fn poll(&self) {}
}

#[test]
fn loom_published_work_is_seen_by_a_worker_that_looks_for_the_end() {
    published_to_a_worker_in(2, || Some(in_bed()));
}

#[test]
fn loom_the_end_waits_for_what_a_worker_sends_before_it_sleeps() {
    // The worker that looks for the end is the first one. It may still take itself for parked when
    // a message has come.
    check_with(1, || {
        let (shared, handle) = sponsor_of(2, false);
        let handled = Arc::new(AtomicUsize::new(0));
        let first = relay(&shared, &handle, &handled, &[1, 0]);
        first.send(1).unwrap();
        drop(first);
        shared.drain();
        let second = shared.clone();
        let other = spawn(move || serve_in_model(second, 1, Some(in_bed())));
        serve_in_model(shared, 0, Some(in_bed()));
        other.join().unwrap();
        assert_eq!(handled.load(Relaxed), 2);
    });
}

/// Creates a sponsor (a group of workers) with one worker. The sponsor refuses messages from
/// threads that do not belong to it.
fn refuses_strangers() -> (Arc<Shared>, Handle) {
    let builder = Sponsor::builder().workers(1).refuse_strangers(true);
    let shared = builder.share_in_model(true);
    (shared.clone(), Handle::new(shared))
}

#[test]
fn loom_what_was_taken_from_a_stranger_is_handled() {
    check_with(3, || {
        let (shared, handle) = refuses_strangers();
        let (log, alive) = (SharedLog::default(), Alive::default());
        let note = Note::new(log.clone(), alive.one_more());
        let task = handle.spawn(note).unwrap();
        let stranger = spawn(move || usize::from(task.send(1).is_ok()));
        shared.drain();
        serve_in_model(shared, 0, None);
        drop(handle);
        let taken = stranger.join().unwrap();
        assert_eq!(log.lock().unwrap().len(), taken);
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn loom_what_was_taken_from_a_stranger_is_handled_if_the_cell_is_in_the_shared_queue() {
    check_with(2, || {
        let (shared, to) = refuses_strangers();
        let handled = Arc::new(AtomicUsize::new(0));
        let player = Player {
            other: None,
            handled: Arc::clone(&handled),
        };
        let stranger = spawn(move || {
            let here = super::here();
            let player = here.handle().spawn(player).unwrap();
            let mover = Mover {
                player: player.clone(),
                to,
            };
            here.spawn(mover).send(()).unwrap();
            here.run();
            drop(here);
            // The player is in the shared queue now, or has been claimed, or was refused and has
            // ended.
            usize::from(player.send(0).is_ok())
        });
        shared.drain();
        serve_in_model(shared, 0, None);
        let taken = stranger.join().unwrap();
        // The player handles the mover's message wherever it is.
        assert_eq!(handled.load(Relaxed), 1 + taken);
    });
}

#[test]
fn loom_a_worker_that_is_to_stop_closes_whole_newborns() {
    check_with(2, || {
        let (shared, handle) = sponsor(1);
        let alive = Alive::default();
        let note = Note::new(Arc::default(), alive.one_more());
        let maker = {
            let (shared, handle) = (shared.clone(), handle.clone());
            spawn(move || {
                let newborn = handle.spawn(note);
                shared.stop();
                // Its last address goes when it is closed.
                newborn
            })
        };
        serve_in_model(shared, 0, None);
        assert!(
            maker.join().unwrap().is_ok(),
            "nobody else ends the sponsor"
        );
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn loom_a_pool_with_threads_of_its_own_begins_and_ends() {
    check_long(1, || {
        let pool = Sponsor::pool(2).unwrap();
        let handled = Arc::new(AtomicUsize::new(0));
        let player = Player {
            other: None,
            handled: Arc::clone(&handled),
        };
        pool.handle().spawn(player).unwrap().send(0).unwrap();
        pool.shutdown();
        assert_eq!(handled.load(Relaxed), 1);
    });
}

#[test]
fn loom_a_hand_sits_where_another_one_has_just_left() {
    check_with(1, || {
        // The thread that finds that no work is left wakes all threads, itself as well, and either
        // hand is given either seat.
        let (shared, _handle) = sponsor(2);
        shared.drain();
        serve_both(&shared);
    });
}

/// Gives a task to a sponsor (a group of workers) through its shared queue, on a separate thread.
fn give_one(shared: &Arc<Shared>) -> loom::thread::JoinHandle<()> {
    let to = Handle::new(shared.clone());
    spawn(move || {
        let here = super::here();
        let player = Player {
            other: None,
            handled: Arc::default(),
        };
        let player = here.handle().spawn(player).unwrap();
        here.spawn(Mover { player, to }).send(()).unwrap();
        here.run();
    })
}

/// Panics if work waits in the shared queue, although no thread runs the worker with the index
/// `home` and no thread was woken to run it.
fn check_nothing_waits(shared: &Shared, home: usize) {
    let is_left = Remote::of(shared.homes[home]).ready.is_parked();
    assert!(!is_left || shared.queued() == 0, "somebody is told");
}

#[test]
fn loom_published_work_is_seen_by_a_guest_that_leaves() {
    check(|| {
        let (shared, handle) = sponsor(1);
        let hand = LeftInModel::new(&shared, &[0]);
        let handled = Arc::new(AtomicUsize::new(0));
        let player = Player {
            other: None,
            handled: Arc::clone(&handled),
        };
        let player = handle.spawn_at(shared.homes[0], player, true).unwrap();
        let giver = give_one(&shared);
        guest::send_and_run(&player, 0, true, || false);
        giver.join().unwrap();
        check_nothing_waits(&shared, 0);
        drop(player);
        shared.stop();
        hand.serve();
    });
}

#[test]
fn loom_published_work_is_seen_by_a_hand_that_goes_to_another_seat() {
    check(|| {
        let (shared, _handle) = sponsor(2);
        let hand = LeftInModel::new(&shared, &[1]);
        let giver = give_one(&shared);
        let hand = hand.goes(0, 1);
        giver.join().unwrap();
        check_nothing_waits(&shared, 0);
        check_nothing_waits(&shared, 1);
        shared.stop();
        hand.serve();
    });
}

#[test]
fn loom_a_cell_that_is_brought_over_gets_what_another_thread_sends() {
    // Not the model's: in some of its runs there must be a cell to bring.
    let brought = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counts = brought.clone();
    check(move || {
        let (shared, handle) = sponsor(2);
        let hand = LeftInModel::new(&shared, &[1]);
        let (log, alive) = (SharedLog::default(), Alive::default());
        let note = Note::new(log.clone(), alive.one_more());
        let cell = handle.spawn_at(shared.homes[1], note, true).unwrap();
        let sender = spawn({
            let cell = cell.clone();
            move || {
                cell.send(20).unwrap();
                cell.send(21).unwrap();
            }
        });
        let hand = hand.brings(0, 1);
        if cell.cell().home() == shared.homes[0] {
            counts.fetch_add(1, Relaxed);
        }
        sender.join().unwrap();
        drop(cell);
        shared.drain();
        hand.serve();
        assert_eq!(*log.lock().unwrap(), [20, 21]);
        assert_eq!(alive.count(), 0);
    });
    assert!(brought.load(Relaxed) > 0);
}

/// Task that forwards its messages.
struct Passes(Address<u32>);

impl Task for Passes {
    type Message = u32;

    fn receive(&mut self, message: u32, turn: &Turn<'_, u32>) -> Flow {
        turn.send(&self.0, message).unwrap();
        Flow::Continue
    }
}

/// Runs a worker that has only short turns. A task of this worker sends messages to a cell of a
/// second worker. No thread runs the second worker.
///
/// At the same time, another thread sends messages to a cell of the second worker: to the same
/// cell, or to another cell. If `ends` is true, the sending task is dropped at the end. Returns the
/// number of runs after which the first worker owns the cell, because it has *gathered* the cell
/// (taken it over from the second worker) and has not given it away.
fn gathers(other_sends_to_it: bool, ends: bool) -> usize {
    let gathered = Arc::new(AtomicUsize::new(0));
    let counts = gathered.clone();
    check_long(2, move || {
        let (shared, handle) = sponsor(2);
        let hand = LeftInModel::sits(&shared, 0, &[1]);
        let alive = Alive::default();
        let logs = [SharedLog::default(), SharedLog::default()];
        let [cell, second] = logs.clone().map(|log| {
            let note = Note::new(log, alive.one_more());
            handle.spawn_at(shared.homes[1], note, true).unwrap()
        });
        let passes = handle
            .spawn_at(shared.homes[0], Passes(cell.clone()), true)
            .unwrap();
        for message in [1, 2] {
            passes.send(message).unwrap();
        }
        let passes = (!ends).then_some(passes);
        let to = if other_sends_to_it {
            cell.clone()
        } else {
            second.clone()
        };
        let sender = spawn(move || {
            to.send(11).unwrap();
            to.send(12).unwrap();
        });
        hand.runs_fine(0);
        if cell.cell().home() == shared.homes[0] {
            counts.fetch_add(1, Relaxed);
        }
        sender.join().unwrap();
        drop((passes, cell, second));
        shared.drain();
        hand.serve_from(0);
        let [first, second] = logs.map(|log| log.lock().unwrap().clone());
        let (own, others) = (super::of(&first, 0), super::of(&first, 1));
        assert_eq!(own, [1, 2]);
        let others = if other_sends_to_it { others } else { second };
        assert_eq!(others, [11, 12]);
        assert_eq!(alive.count(), 0);
    });
    gathered.load(Relaxed)
}

#[test]
fn loom_a_cell_that_is_gathered_gets_what_another_thread_sends() {
    assert!(gathers(true, false) > 0);
}

#[test]
fn loom_a_seat_whose_cell_is_gathered_gets_what_another_thread_sends() {
    assert!(gathers(false, false) > 0);
}

/// Checks that a worker gives a gathered cell (a cell taken over from another worker) away before
/// it drops the sending task. The reason is that the destructor of a dropped value may wait for
/// this cell.
#[test]
fn loom_a_cell_that_was_gathered_is_given_away_before_something_is_dropped() {
    assert_eq!(gathers(false, true), 0);
}

/// Checks that a thread that removes a mark from a ready stack sees all writes that were made
/// before the mark was stored. This test and the next one use the ready stack directly, because a
/// thread that runs workers would see its own writes anyway.
#[test]
fn loom_who_sits_has_what_was_left() {
    check(|| {
        let seat = Arc::new((Ready::default(), UnsafeCell::new(())));
        let owned = |seat: &(Ready, UnsafeCell<()>)| seat.1.with_mut(|_| {});
        let other = {
            let seat = seat.clone();
            spawn(move || {
                if seat.0.sit() {
                    owned(&seat);
                }
            })
        };
        owned(&seat);
        assert!(seat.0.try_park());
        other.join().unwrap();
    });
}

#[test]
fn loom_who_watches_and_sits_has_what_another_one_left() {
    check(|| {
        let seat = Arc::new((Ready::default(), UnsafeCell::new(())));
        let owned = |seat: &(Ready, UnsafeCell<()>)| seat.1.with_mut(|_| {});
        let guest = {
            let seat = seat.clone();
            spawn(move || {
                if seat.0.sit_as_guest() {
                    owned(&seat);
                    assert!(seat.0.try_watch());
                }
            })
        };
        owned(&seat);
        assert!(seat.0.try_watch());
        if seat.0.sit_watched() {
            owned(&seat);
        }
        guest.join().unwrap();
    });
}

#[test]
fn loom_who_pushes_and_sits_has_what_was_left() {
    check(|| {
        let here = super::here();
        let (log, alive) = (Rc::default(), Alive::default());
        let sink = here.spawn(super::Sink::new(&log, &alive));
        let envelope = current::with_pool(|pool| pool.take_envelope(Kind::Wake, 0, 0));
        // SAFETY: ours alone.
        unsafe { (*envelope).set_token_of(Some(sink.cell())) };
        let seat = Arc::new((Ready::default(), UnsafeCell::new(())));
        let owned = |seat: &(Ready, UnsafeCell<()>)| seat.1.with_mut(|_| {});
        let sitter = {
            let seat = seat.clone();
            spawn(move || {
                owned(&seat);
                assert!(seat.0.try_park() || seat.0.has_some());
            })
        };
        // SAFETY: the envelope is ours, and is taken out again before it is freed.
        if unsafe { seat.0.push(envelope, true) } == Notice::Yours {
            owned(&seat);
        }
        sitter.join().unwrap();
        // SAFETY: as above.
        unsafe { current::with_pool(|pool| pool.give_envelope(envelope)) };
        drop(sink);
        here.run();
    });
}
