//! Loom models of the places in bounded mailboxes. The models check that a waiting sender gets a
//! place, and sees the writes of the previous owner of the place.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use loom::cell::UnsafeCell;
use loom::thread;

use super::{check, spawn};
use crate::runtime::room::{Place, Room};
use crate::waker::waker_of_thread;

/// A value that is accessed only by the thread that holds the only place of a mailbox.
pub(super) struct Guarded(UnsafeCell<u32>);

// SAFETY: loom checks that one thread after the other touches it.
unsafe impl Send for Guarded {}
// SAFETY: as above.
unsafe impl Sync for Guarded {}

impl Guarded {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    pub(super) fn add(&self, _place: &Place) {
        self.add_as_keeper();
    }

    /// Adds 1 to the value. Called by the task that owns the mailbox, while the mailbox's only
    /// place is taken.
    pub(super) fn add_as_keeper(&self) {
        // SAFETY: there is one place.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }
}

/// Takes a place by polling the future of [`Room::take`]. Parks the thread while this future is
/// pending.
fn take_as_future(room: &Arc<Room>) -> Place {
    let waker = waker_of_thread();
    let mut taking = pin!(room.take());
    loop {
        match taking.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(place) => return place,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn loom_who_waits_for_a_place_gets_the_one_that_is_given_back() {
    check(|| {
        let (room, guarded) = (Room::new(1), Guarded::new());
        let (there, shared) = (room.clone(), guarded.clone());
        let other = spawn(move || {
            let place = there.take_blocking();
            shared.add(&place);
        });
        let place = take_as_future(&room);
        guarded.add(&place);
        drop(place);
        other.join().unwrap();
        assert_eq!(room.taken(), 0);
    });
}

#[test]
fn loom_two_wait_for_one_place_each_after_the_other() {
    super::check_with(2, || {
        let (room, guarded) = (Room::new(1), Guarded::new());
        let place = room.try_take().unwrap();
        let others: Vec<_> = (0..2)
            .map(|_| {
                let (there, shared) = (room.clone(), guarded.clone());
                spawn(move || shared.add(&there.take_blocking()))
            })
            .collect();
        guarded.add(&place);
        drop(place);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(room.taken(), 0);
    });
}

#[test]
fn loom_one_who_gives_up_passes_its_wake_up_on() {
    super::check_with(2, || {
        let room = Room::new(1);
        let place = room.try_take().unwrap();
        let there = room.clone();
        let waits = spawn(move || drop(there.take_blocking()));
        let there = room.clone();
        let gives_up = spawn(move || {
            let waker = waker_of_thread();
            let mut taking = pin!(there.take());
            // Polled once, and dropped with or without a place.
            let _ = taking.as_mut().poll(&mut Context::from_waker(&waker));
        });
        drop(place);
        gives_up.join().unwrap();
        waits.join().unwrap();
        assert_eq!(room.taken(), 0);
    });
}
