//! Tests of all three queues. Most tests use each queue through its traits.

use std::collections::VecDeque;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

const LONG: Duration = Duration::from_secs(3600);

/// Number of values in a test: enough to fill several chunks of each length class.
const MANY: usize = 5_000;

/// A value that counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn in_order<Q: Queue>() {
    let (sender, mut receiver) = Q::channel();
    assert!(receiver.is_empty());
    assert_eq!(receiver.try_pop(), None);
    for i in 0..MANY {
        sender.push(i).unwrap();
    }
    assert_eq!(receiver.len(), MANY);
    assert_eq!(receiver.try_pop(), Some(0));
    assert_eq!(receiver.len(), MANY - 1);
    sender.push_many(MANY..2 * MANY).unwrap();
    for i in 1..2 * MANY {
        assert!(!receiver.is_empty());
        assert_eq!(receiver.try_pop(), Some(i));
    }
    assert!(receiver.is_empty());
    assert_eq!(receiver.try_pop(), None);
}

fn batches<Q: Queue>() {
    let (sender, mut receiver) = Q::channel();
    sender.push_many(Vec::<String>::new()).unwrap();
    assert!(receiver.is_empty());
    sender.push_many((0..10).map(|i| i.to_string())).unwrap();
    let mut into = vec!["before".to_string()];
    assert_eq!(receiver.pop_many(&mut into, 4), 4);
    assert_eq!(into, ["before", "0", "1", "2", "3"]);
    assert_eq!(receiver.pop_many(&mut into, 0), 0);
    assert_eq!(receiver.pop_many(&mut into, usize::MAX), 6);
    assert_eq!(into.last().unwrap(), "9");
}

fn closing_gives_back<Q: Queue>() {
    let (sender, mut receiver) = Q::channel();
    sender.push(Box::new(0)).unwrap();
    assert_eq!(receiver.try_pop(), Some(Box::new(0)));
    assert!(!sender.is_closed());
    drop(receiver);
    assert!(sender.is_closed());
    for i in 0..MANY {
        assert_eq!(sender.push(Box::new(i)).unwrap_err().0, Box::new(i));
    }
    let many: Vec<_> = (0..MANY).map(Box::new).collect();
    assert_eq!(sender.push_many(many.clone()).unwrap_err().0, many);
    assert_eq!(sender.clone().push(Box::new(1)).unwrap_err().0, Box::new(1));
}

fn the_last_sender_ends_it<Q: Queue>() {
    let (sender, mut receiver) = Q::channel();
    let second = sender.clone();
    sender.push(1).unwrap();
    drop(sender);
    assert!(!receiver.is_closed());
    second.push(2).unwrap();
    drop(second);
    assert!(receiver.is_closed());
    assert_eq!(receiver.blocking_pop(), Some(1));
    assert_eq!(receiver.pop_timeout(Duration::ZERO), Ok(2));
    assert_eq!(receiver.blocking_pop(), None);
    assert_eq!(receiver.pop_timeout(LONG), Err(PopTimeoutError::Closed));
    assert_eq!(receiver.try_pop(), None);
}

fn every_value_is_dropped_once<Q: Queue>() {
    for popped in [0, 1, 100, MANY] {
        let drops = Arc::new(AtomicUsize::new(0));
        let (sender, mut receiver) = Q::channel();
        for _ in 0..MANY {
            sender.push(Counted(drops.clone())).unwrap();
        }
        for _ in 0..popped {
            drop(receiver.try_pop().unwrap());
        }
        assert_eq!(drops.load(Relaxed), popped);
        drop(receiver);
        assert_eq!(drops.load(Relaxed), MANY, "closing drops what is left");
        drop(sender.push(Counted(drops.clone())));
        drop(sender);
        assert_eq!(drops.load(Relaxed), MANY + 1);
    }
}

/// A value whose destructor panics if the flag is set.
struct Fragile(bool);

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(!self.0 || thread::panicking(), "on purpose");
    }
}

fn a_panic_in_drop_breaks_nothing<Q: Queue>() {
    let (sender, mut receiver) = Q::channel();
    for i in 0..MANY {
        sender.push(Fragile(i == MANY / 2)).unwrap();
    }
    for _ in 0..MANY / 3 {
        drop(receiver.try_pop());
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(receiver)));
    assert!(result.is_err());
    assert!(sender.push(Fragile(false)).is_err());
}

/// A value that counts its drop, and whose destructor panics if the flag is set.
struct Fuse(Arc<AtomicUsize>, bool);

impl Drop for Fuse {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
        assert!(!self.1, "on purpose");
    }
}

fn all_are_dropped_although_a_drop_panics<Q: Queue>() {
    for blows in [1, 2, 500, 999] {
        let drops = Arc::new(AtomicUsize::new(0));
        let (sender, mut receiver) = Q::channel();
        let fuses = (0..1000).map(|index| Fuse(drops.clone(), index == blows));
        assert!(sender.push_many(fuses).is_ok());
        drop(receiver.try_pop());
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(receiver)));
        assert!(dropped.is_err());
        drop(sender);
        assert_eq!(drops.load(Relaxed), 1000, "each was dropped once");
    }
}

/// Tests a destructor that panics when the last handle of a queue is dropped. An earlier panic has
/// left most values to the last handle.
#[test]
fn a_panic_in_the_last_drop_leaks_nothing() {
    for blows in [2, 127, 128, 500, 999] {
        let drops = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = Chunked::channel();
        let fuses = (0..1000).map(|index| Fuse(drops.clone(), index == 1 || index == blows));
        assert!(sender.push_many(fuses).is_ok());
        let by_receiver = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(receiver)));
        assert!(by_receiver.is_err());
        assert_eq!(drops.load(Relaxed), 2, "the last handle drops the others");
        let by_sender = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(sender)));
        assert!(by_sender.is_err());
        assert_eq!(drops.load(Relaxed), 1000, "each was dropped once");
        assert_eq!(Arc::strong_count(&drops), 1, "no value is left");
    }
}

fn timeouts<Q: Queue>() {
    let (sender, mut receiver) = Q::channel::<u32>();
    let start = Instant::now();
    let timeout = Duration::from_millis(2);
    assert_eq!(receiver.pop_timeout(timeout), Err(PopTimeoutError::Timeout));
    assert!(start.elapsed() >= timeout);
    sender.push(1).unwrap();
    assert_eq!(receiver.pop_timeout(LONG), Ok(1));
    let late = thread::spawn(move || sender.push(2));
    assert_eq!(receiver.pop_timeout(LONG), Ok(2));
    late.join().unwrap().unwrap();
}

/// Tests two threads that exchange requests and replies. Each thread waits for the other, so both
/// threads really sleep. A lost wake-up makes the test hang.
fn waking<Q: Queue>() {
    let rounds = if cfg!(debug_assertions) {
        5_000
    } else {
        50_000
    };
    let (ask, mut asked) = Q::channel();
    let (answer, mut answered) = Q::channel();
    let echo = thread::spawn(move || {
        while let Some(i) = asked.blocking_pop() {
            answer.push(i).unwrap();
        }
    });
    for i in 0..rounds {
        ask.push(i).unwrap();
        assert_eq!(answered.pop_timeout(LONG), Ok(i));
    }
    drop(ask);
    assert_eq!(answered.blocking_pop(), None);
    echo.join().unwrap();
}

/// Tests three senders, and one receiver that sometimes sleeps. No value may be lost, duplicated or
/// out of order.
fn stress<Q: Queue>() {
    const SENDERS: usize = 3;
    let count = if cfg!(debug_assertions) {
        50_000
    } else {
        1_000_000
    };
    let (sender, mut receiver) = Q::channel();
    let senders: Vec<_> = (0..SENDERS)
        .map(|me| {
            let sender = sender.clone();
            thread::spawn(move || send_mixed(&sender, me, count))
        })
        .collect();
    drop(sender);
    let mut expected = [0; SENDERS];
    let mut batch = Vec::new();
    while let Some(first) = receiver.blocking_pop() {
        batch.push(first);
        receiver.pop_many(&mut batch, 100);
        for value in batch.drain(..) {
            let (from, number): (usize, Box<usize>) = value;
            assert_eq!(*number, expected[from]);
            expected[from] += 1;
        }
    }
    assert_eq!(expected, [count; SENDERS]);
    for sender in senders {
        sender.join().unwrap();
    }
}

/// Sends the numbers below `count`, some of them singly and some in batches.
fn send_mixed(sender: &impl Sender<(usize, Box<usize>)>, me: usize, count: usize) {
    let mut next = 0;
    while next < count {
        let batch = (next % 40).min(count - next);
        sender
            .push_many((next..next + batch).map(|i| (me, Box::new(i))))
            .unwrap();
        next += batch;
        if next < count {
            sender.push((me, Box::new(next))).unwrap();
            next += 1;
        }
    }
}

/// Tests a receiver that is dropped during pushes: each value is either dropped once or returned to
/// its sender.
fn closing_under_load<Q: Queue>() {
    let rounds = if cfg!(debug_assertions) { 50 } else { 500 };
    for round in 0..rounds {
        let drops = Arc::new(AtomicUsize::new(0));
        let (sender, mut receiver) = Q::channel();
        let senders: Vec<_> = [sender.clone(), sender]
            .into_iter()
            .map(|sender| {
                let drops = drops.clone();
                thread::spawn(move || push_until_closed(&sender, &drops))
            })
            .collect();
        for _ in 0..round {
            drop(receiver.blocking_pop());
        }
        drop(receiver);
        let made: usize = senders.into_iter().map(|s| s.join().unwrap()).sum();
        assert_eq!(drops.load(Relaxed), made);
    }
}

/// Pushes values until the queue is closed. Returns the number of values created.
fn push_until_closed(sender: &impl Sender<Counted>, drops: &Arc<AtomicUsize>) -> usize {
    for made in 1.. {
        if sender.push(Counted(drops.clone())).is_err() {
            return made;
        }
    }
    unreachable!("the receiver goes away before the numbers end")
}

#[derive(Debug, Clone)]
enum Step {
    Push,
    PushMany(usize),
    TryPop,
    PopMany(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Push),
        1 => (0usize..400).prop_map(Step::PushMany),
        3 => Just(Step::TryPop),
        1 => (0usize..400).prop_map(Step::PopMany),
    ]
}

fn compare<Q: Queue>(steps: &[Step]) {
    let (sender, mut receiver) = Q::channel();
    let mut oracle = VecDeque::new();
    let mut fresh = 0..;
    for step in steps {
        match *step {
            Step::Push => {
                let value = fresh.next().unwrap();
                oracle.push_back(value);
                sender.push(value).unwrap();
            }
            Step::PushMany(count) => {
                let values: Vec<usize> = fresh.by_ref().take(count).collect();
                oracle.extend(&values);
                sender.push_many(values).unwrap();
            }
            Step::TryPop => assert_eq!(receiver.try_pop(), oracle.pop_front()),
            Step::PopMany(count) => {
                let mut popped = Vec::new();
                receiver.pop_many(&mut popped, count);
                let count = count.min(oracle.len());
                assert!(popped.into_iter().eq(oracle.drain(..count)));
            }
        }
        assert_eq!(receiver.len(), oracle.len());
        assert_eq!(receiver.is_empty(), oracle.is_empty());
    }
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

            proptest! {
                #[test]
                fn behaves_like_a_deque(steps in prop::collection::vec(step(), 0..100)) {
                    compare::<$queue>(&steps);
                }
            }
        }
    };
    ($($name:ident: $queue:ty),+) => {
        $(
            suite!(
                $name, $queue,
                in_order, batches, closing_gives_back, the_last_sender_ends_it,
                every_value_is_dropped_once, a_panic_in_drop_breaks_nothing,
                all_are_dropped_although_a_drop_panics, timeouts, waking, stress, closing_under_load
            );
        )+
    };
}

suite!(on_banker: Banker, on_chunked: Chunked, on_locked: Locked);

#[test]
fn a_bounded_queue_makes_senders_wait() {
    let (sender, mut receiver) = locked::bounded(3);
    let senders = [sender.clone(), sender.clone()].map(|sender| {
        thread::spawn(move || {
            for i in 0..MANY {
                sender.push(i).unwrap();
            }
            sender.push_many(0..MANY).unwrap();
        })
    });
    drop(sender);
    let mut sum = 0;
    while let Some(value) = receiver.blocking_pop() {
        assert!(receiver.len() <= 3);
        sum += value;
    }
    assert_eq!(sum, 4 * (0..MANY).sum::<usize>());
    for sender in senders {
        sender.join().unwrap();
    }
}

#[test]
fn closing_frees_senders_that_wait_for_room() {
    let (sender, receiver) = locked::bounded(1);
    sender.push(0).unwrap();
    let blocked = thread::spawn(move || sender.push_many([1, 2]));
    drop(receiver);
    assert_eq!(blocked.join().unwrap().unwrap_err().0, [1, 2]);
}

#[test]
fn used_nodes_and_chunks_come_back() {
    fn reuse<Q: Queue>() {
        let (sender, mut receiver) = Q::channel();
        for i in 0..20 * MANY {
            sender.push(i).unwrap();
            assert_eq!(receiver.try_pop(), Some(i));
        }
    }
    reuse::<Banker>();
    reuse::<Chunked>();
}
