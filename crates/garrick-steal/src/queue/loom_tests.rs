//! Loom models of the two lock-free queues. The models use each queue through its traits. Under
//! loom, a chunk has only one or two slots, and the banker's queue passes back each empty node
//! separately. So a few pushes reach all code paths.

use garrick_core::prim::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use loom::thread;

use super::*;
use crate::testing::long;

/// Runs `model` in all schedules with at most three preemptions. With more preemptions, a model
/// takes minutes. Such models have found no other errors.
fn check(model: impl Fn() + Sync + Send + 'static) {
    check_with(3, model);
}

fn check_with(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Lets the threads that were just spawned run first. Loom remembers only the last access to each
/// atomic. Suppose that this thread reads an atomic, and then a pusher reads and exchanges the same
/// atomic. Loom then does not try the order in which the exchange precedes the read by this thread.
/// If the pusher runs first, loom tries all orders.
fn let_pushers_begin() {
    thread::yield_now();
}

/// A value that counts its drops. The value is boxed, so that the test detects a read of a stale
/// value.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Tries `tries` times to pop a value, and asserts that the values are consecutive numbers. Returns
/// the next expected number.
fn pop_some(receiver: &mut impl Receiver<Box<usize>>, tries: usize, mut next: usize) -> usize {
    for _ in 0..tries {
        if let Some(value) = receiver.try_pop() {
            assert_eq!(*value, next);
            next += 1;
        }
    }
    next
}

fn push_against_pop<Q: Queue>() {
    check(|| {
        let (sender, mut receiver) = Q::channel();
        let pusher = thread::spawn(move || {
            for i in 0..4 {
                sender.push(Box::new(i)).unwrap();
            }
        });
        let_pushers_begin();
        let next = pop_some(&mut receiver, 3, 0);
        pusher.join().unwrap();
        assert_eq!(pop_some(&mut receiver, 4, next), 4);
        assert!(receiver.is_empty());
    });
}

fn two_pushers<Q: Queue>() {
    check(|| {
        let (sender, mut receiver) = Q::channel();
        let pushers = [(0, sender.clone()), (1, sender)].map(|(me, sender)| {
            thread::spawn(move || {
                for i in 0..2 {
                    sender.push((me, Box::new(i))).unwrap();
                }
            })
        });
        let mut next = [0; 2];
        let mut pop = || {
            if let Some((from, number)) = receiver.try_pop() {
                assert_eq!(*number, next[from]);
                next[from] += 1;
            }
        };
        let_pushers_begin();
        pop();
        for pusher in pushers {
            pusher.join().unwrap();
        }
        (0..4).for_each(|_| pop());
        assert_eq!(next, [2, 2]);
    });
}

fn batches<Q: Queue>() {
    check(|| {
        let (sender, mut receiver) = Q::channel();
        let pusher = thread::spawn(move || sender.push_many((0..3).map(Box::new)).unwrap());
        let_pushers_begin();
        let next = pop_some(&mut receiver, 2, 0);
        pusher.join().unwrap();
        assert_eq!(pop_some(&mut receiver, 3, next), 3);
    });
}

/// Tests two batches that race for the same chunks.
fn two_batches<Q: Queue>() {
    check(|| {
        let (sender, mut receiver) = Q::channel();
        let pushers = [sender.clone(), sender]
            .map(|sender| thread::spawn(move || sender.push_many([0, 1].map(Box::new)).unwrap()));
        for pusher in pushers {
            pusher.join().unwrap();
        }
        let sum: usize = std::iter::from_fn(|| receiver.try_pop().map(|value| *value)).sum();
        assert_eq!(sum, 2);
    });
}

/// Tests the reuse of memory. After `pushed` pushes and `popped` pops, three more pops make some
/// memory available for reuse. At the same time, another thread pushes, and may reuse this memory.
fn recycling<Q: Queue>(pushed: usize, popped: usize) {
    loom::model(move || {
        let (sender, mut receiver) = Q::channel();
        sender.push_many((0..pushed).map(Box::new)).unwrap();
        assert_eq!(pop_some(&mut receiver, popped, 0), popped);
        let pusher = thread::spawn(move || {
            sender.push(Box::new(pushed)).unwrap();
            sender.push(Box::new(pushed + 1)).unwrap();
        });
        let_pushers_begin();
        let next = pop_some(&mut receiver, 3, popped);
        pusher.join().unwrap();
        assert_eq!(pop_some(&mut receiver, pushed + 2, next), pushed + 2);
    });
}

#[test]
fn nodes_are_recycled() {
    recycling::<Banker>(2, 0);
}

#[test]
fn chunks_are_recycled() {
    recycling::<Chunked>(5, 2);
}

/// Tests that `len` can follow the links of nodes while other nodes are pushed.
fn counting<Q: Queue>() {
    loom::model(|| {
        let (sender, receiver) = Q::channel();
        let pusher = thread::spawn(move || {
            sender.push(Box::new(0)).unwrap();
            sender.push(Box::new(1)).unwrap();
        });
        let_pushers_begin();
        assert!(receiver.len() <= 2);
        pusher.join().unwrap();
        assert_eq!(receiver.len(), 2);
    });
}

/// Tests that pushes wake the receiver, and that the receiver gets `None` after the last sender was
/// dropped.
fn waiting<Q: Queue>() {
    check(|| {
        let (sender, mut receiver) = Q::channel();
        let held = sender.clone();
        let pusher = thread::spawn(move || {
            sender.push(Box::new(0)).unwrap();
            sender.push(Box::new(1)).unwrap();
        });
        assert_eq!(receiver.blocking_pop(), Some(Box::new(0)));
        assert_eq!(receiver.blocking_pop(), Some(Box::new(1)));
        drop(held);
        assert_eq!(receiver.blocking_pop(), None);
        pusher.join().unwrap();
    });
}

/// Tests two senders that are dropped at the same time. The last drop must not hide the value of
/// the other sender.
fn ending<Q: Queue>() {
    check_with(long(3), || {
        let (sender, mut receiver) = Q::channel();
        let pushers = [sender.clone(), sender]
            .map(|sender| thread::spawn(move || sender.push(Box::new(7)).unwrap()));
        let mut count = 0;
        while receiver.blocking_pop().is_some() {
            count += 1;
        }
        assert_eq!(count, 2);
        for pusher in pushers {
            pusher.join().unwrap();
        }
    });
}

fn closing<Q: Queue>() {
    check(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (sender, mut receiver) = Q::channel();
        let pusher = {
            let drops = drops.clone();
            thread::spawn(move || {
                for _ in 0..3 {
                    // Pushed or returned, the value is dropped once.
                    drop(sender.push(Box::new(Counted(drops.clone()))));
                }
            })
        };
        let_pushers_begin();
        drop(receiver.try_pop());
        drop(receiver);
        pusher.join().unwrap();
        assert_eq!(drops.load(Relaxed), 3);
    });
}

macro_rules! suite {
    ($name:ident, $queue:ty, $($test:ident),+) => {
        mod $name {
            use super::*;

            $(
                #[test]
                fn $test() {
                    super::$test::<$queue>();
                }
            )+
        }
    };
    ($($name:ident: $queue:ty),+) => {
        $(suite!(
            $name, $queue,
            push_against_pop, two_pushers, batches, two_batches, counting, waiting, ending, closing
        );)+
    };
}

suite!(on_banker: Banker, on_chunked: Chunked);
