//! Loom models of cells (tasks) that move to another sponsor while other threads send messages to
//! these cells.

use super::{Alive, Log, Sink, check, here, of, spawn};
use crate::cell::{Chain, Push};
use crate::parcel;
use crate::remote::Remote;
use crate::runtime::address::Address;
use crate::runtime::current;
use crate::runtime::sponsor::Handle;
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Task that records the messages that it receives. It can run on any thread.
struct Traveller(Arc<Mutex<Vec<u32>>>, #[allow(dead_code)] super::Lives);

impl Task for Traveller {
    type Message = u32;

    fn receive(&mut self, message: u32, _: &Turn<'_, u32>) -> Flow {
        self.0.lock().unwrap().push(message);
        Flow::Continue
    }
}

/// Task that moves another task to another sponsor (group of workers).
struct Mover {
    whom: Address<u32>,
    to: Handle,
}

impl Task for Mover {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        self.whom.send(1).unwrap();
        turn.send_on(&self.to, &self.whom, 2).unwrap();
        self.whom.send(3).unwrap();
        Flow::Stop
    }
}

#[test]
fn loom_a_task_that_moves_handles_each_senders_messages_in_order() {
    check(|| {
        let (log, alive): (Arc<Mutex<Vec<u32>>>, _) = (Arc::default(), Alive::default());
        let there = here();
        let handle = there.handle();
        let (seen, lives) = (log.clone(), alive.one_more());
        let other = spawn(move || {
            let here = super::here();
            let whom = here.handle().spawn(Traveller(seen, lives)).unwrap();
            let stranger = whom.clone();
            here.spawn(Mover { whom, to: handle }).send(()).unwrap();
            here.run();
            stranger.send(11).unwrap();
            drop(stranger);
            here.run();
        });
        there.run_until(|| log.lock().unwrap().len() >= 3);
        other.join().unwrap();
        there.run();
        let log = log.lock().unwrap();
        assert_eq!(
            (super::of(&log, 0), super::of(&log, 1)),
            (vec![1, 2, 3], vec![11])
        );
        assert_eq!(alive.count(), 0);
    });
}

/// Task that sends a message, moves to the sponsor (group of workers) of its receiver, and sends
/// again.
struct Wanderer {
    to: Address<u32>,
    there: Handle,
    sent: Arc<AtomicUsize>,
}

impl Task for Wanderer {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        self.to.send(number).unwrap();
        self.sent.fetch_add(1, Ordering::Relaxed);
        if number == 1 {
            turn.send_on(&self.there, &turn.address(), 2).unwrap();
        }
        Flow::Continue
    }
}

/// Runs a task that sends a message, moves to the sponsor (group of workers) of the receiver, and
/// sends again. If `with_stranger` is true, a thread outside of both sponsors has the receiver's
/// token (the right to notify the receiver's worker) during this time. This thread notifies the
/// worker only at the end.
fn wander(with_stranger: bool) {
    let (here, log, alive) = (here(), Log::default(), Alive::default());
    let to = here.spawn(Sink::new(&log, &alive));
    let there = here.handle();
    let carrier = with_stranger.then(|| {
        let envelope = current::with_pool(|pool| parcel::alone(pool, 11_u32));
        // SAFETY: the envelope is ours, and so is the address.
        unsafe {
            (*envelope).set_token_of(Some(to.cell()));
            assert_eq!(to.cell().push(Chain::of_one(envelope)), Push::Token);
        }
        envelope
    });
    let home = Remote::of(to.cell().home());
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let other = spawn(move || {
        let away = super::here();
        let wanderer = Wanderer {
            to,
            there,
            sent: counted,
        };
        let wanderer = away.handle().spawn(wanderer).unwrap();
        wanderer.send(1).unwrap();
        drop(wanderer);
        away.run();
    });
    here.run_until(|| sent.load(Ordering::Relaxed) == 2);
    other.join().unwrap();
    if let Some(carrier) = carrier {
        // SAFETY: it carries the token, which is ours.
        unsafe { home.notify(carrier, false) }.call();
    }
    here.run();
    assert_eq!(of(&log.borrow(), 0), [1, 2]);
    assert_eq!(log.borrow().len(), 2 + usize::from(with_stranger));
    assert_eq!(alive.count(), 0);
}

#[test]
fn loom_a_sender_that_moves_keeps_its_order() {
    check(|| wander(false));
}

#[test]
fn loom_a_sender_that_moves_keeps_its_order_behind_a_stranger() {
    check(|| wander(true));
}

#[test]
fn loom_a_task_that_moves_to_a_sponsor_that_ends_is_somewhere() {
    check(|| {
        let (log, alive): (Arc<Mutex<Vec<u32>>>, _) = (Arc::default(), Alive::default());
        let there = here();
        let handle = there.handle();
        let (seen, lives) = (log.clone(), alive.one_more());
        let other = spawn(move || {
            let here = super::here();
            let whom = here.handle().spawn(Traveller(seen, lives)).unwrap();
            here.spawn(Mover { whom, to: handle }).send(()).unwrap();
            here.run();
            here.handle().dead_letters()
        });
        let handle = there.handle();
        there.run();
        drop(there);
        let dead = other.join().unwrap() + handle.dead_letters();
        assert_eq!(log.lock().unwrap().len() as u64 + dead, 3);
        assert_eq!(alive.count(), 0);
    });
}
