//! Loom models of the slot between an asker and a replier. The models check all interleavings of
//! the two sides, and that the slot is not used after the last side has left.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Poll, Wake, Waker};

use garrick_core::prim::{Arc as Shared, thread};

use super::slot::{Left, Slot};

/// A slot for the models. The models check that the slot is freed exactly once, after all other
/// accesses.
struct Block {
    slot: Slot<Box<u32>>,
    /// Number of times that the slot was freed. The atomic is not a loom atomic, so that it orders
    /// nothing in the model.
    freed: AtomicUsize,
}

impl Block {
    fn new() -> Shared<Self> {
        Shared::new(Self {
            slot: Slot::new(),
            freed: AtomicUsize::new(0),
        })
    }

    /// Records that one side has given up the slot. If the other side has given it up before,
    /// accesses all memory of the slot, as a new user of this memory would, and counts the slot as
    /// freed.
    fn after(&self, left: &Left<Box<u32>>) {
        if left.last {
            self.slot.touch_all();
            self.freed.fetch_add(1, Relaxed);
        }
    }

    fn answer(&self, value: u32) {
        // SAFETY: the only replier, once.
        let left = unsafe {
            self.slot.put(Box::new(value));
            self.slot.publish()
        };
        self.after(&left);
        if let Some(waker) = left.waker {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<()> {
        // SAFETY: the only asker, before it leaves.
        unsafe { self.slot.poll(waker) }
    }

    fn leave(&self) -> Option<u32> {
        // SAFETY: the only asker, once.
        let left = unsafe { self.slot.leave() };
        self.after(&left);
        left.value.map(|value| *value)
    }
}

/// A waker that unparks a thread of the model.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn waker() -> Waker {
    Waker::from(Arc::new(Unpark(thread::current())))
}

/// Runs an asker and a replier that answers 7.
fn model(ask: impl Fn(&Block) + Sync + Send + 'static) {
    loom::model(move || {
        let block = Block::new();
        let replier = {
            let block = block.clone();
            thread::spawn(move || block.answer(7))
        };
        ask(&block);
        replier.join().unwrap();
        assert_eq!(
            block.freed.load(Relaxed),
            1,
            "the last one to leave frees the slot, once"
        );
    });
}

#[test]
fn an_asker_that_parks_is_woken() {
    model(|block| {
        let waker = waker();
        while block.poll(&waker).is_pending() {
            thread::park();
        }
        assert_eq!(block.leave(), Some(7));
    });
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    model(|block| {
        // The first waker wakes nobody: only the second one can end the wait.
        let ready = block.poll(Waker::noop()).is_ready();
        let waker = waker();
        while !ready && block.poll(&waker).is_pending() {
            thread::park();
        }
        assert_eq!(block.leave(), Some(7));
    });
}

#[test]
fn an_asker_may_leave_before_it_polls() {
    model(|block| assert!(matches!(block.leave(), None | Some(7))));
}

#[test]
fn an_asker_may_leave_after_it_polled() {
    model(|block| {
        let ready = block.poll(Waker::noop()).is_ready();
        let value = block.leave();
        assert!(value == Some(7) || value.is_none() && !ready);
    });
}

#[test]
fn an_asker_may_change_its_waker_and_leave() {
    model(|block| {
        let ready = (0..2).any(|_| block.poll(Waker::noop()).is_ready());
        let value = block.leave();
        assert!(value == Some(7) || value.is_none() && !ready);
    });
}

#[test]
fn wakers_and_values_are_dropped_once() {
    struct Counted;
    impl Wake for Counted {
        fn wake(self: Arc<Self>) {}
    }
    loom::model(|| {
        let block = Block::new();
        let counted = Arc::new(Counted);
        let replier = {
            let block = block.clone();
            thread::spawn(move || block.answer(7))
        };
        let _ = block.poll(&Waker::from(counted.clone()));
        let _ = block.leave();
        replier.join().unwrap();
        assert_eq!(Arc::strong_count(&counted), 1);
    });
}
