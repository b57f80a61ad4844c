//! Tests with real threads. Each value is received exactly once. No thread sleeps while there is
//! work. "Empty" is never reported while there is a value.
//!
//! By default, the numbers of values are small, so that the tests are fast. `GARRICK_STEAL_STRESS`
//! sets the number of values for the test that checks that each value is received exactly once. For
//! example, `GARRICK_STEAL_STRESS=500000000` leads to 10^9 operations.
use std::{
    env,
    sync::{
        Arc, Barrier,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use super::*;

const WORKERS: u64 = 4;

fn values() -> u64 {
    let default = if cfg!(debug_assertions) {
        1_000_000
    } else {
        20_000_000
    };
    env::var("GARRICK_STEAL_STRESS").map_or(default, |count| {
        count
            .parse()
            .expect("GARRICK_STEAL_STRESS is a number of values")
    })
}

/// A summary of received values: their number, their sum, and the sum of their squares, all
/// wrapping. If a value was lost and another value was received twice, at least one of the three
/// results is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Account {
    count: u64,
    sum: u64,
    squares: u64,
}

impl Account {
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(value);
        self.squares = self.squares.wrapping_add(value.wrapping_mul(value));
    }

    fn join(mut self, other: Self) -> Self {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        self.squares = self.squares.wrapping_add(other.squares);
        self
    }
}

/// Sends `each` values in bursts of different sizes, and receives about as many values in between.
/// Returns the summaries of the sent and the received values.
fn work(worker: &mut Worker<u64>, each: u64) -> (Account, Account) {
    let (mut sent, mut received) = (Account::default(), Account::default());
    let mut number = 0;
    while number < each {
        let burst = (1 + number % 700).min(each - number);
        for _ in 0..burst {
            // Distinct among all workers.
            let value = number * WORKERS + worker.id() as u64;
            sent.add(value);
            worker.send(value).expect("it is open");
            number += 1;
        }
        for _ in 0..burst - burst / 8 {
            if let Ok(value) = worker.try_recv() {
                received.add(value);
            }
        }
    }
    (sent, received)
}

#[test]
fn every_value_is_received_once() {
    let each = values() / WORKERS;
    let channel = channel(WORKERS as usize, 256, Capacity::Unbounded);
    let left = Arc::new(AtomicU64::new(WORKERS));
    let start = Arc::new(Barrier::new(WORKERS as usize));
    let threads = channel.workers.into_iter().map(|mut worker| {
        let (left, start) = (left.clone(), start.clone());
        thread::spawn(move || {
            start.wait();
            let (sent, mut received) = work(&mut worker, each);
            if left.fetch_sub(1, Relaxed) == 1 {
                worker.close();
            }
            while let Some(value) = worker.recv() {
                received.add(value);
            }
            (sent, received)
        })
    });
    let threads: Vec<_> = threads.collect();
    let (mut sent, mut received) = (Account::default(), Account::default());
    for thread in threads {
        let account = thread.join().unwrap();
        sent = sent.join(account.0);
        received = received.join(account.1);
    }
    assert_eq!(sent.count, each * WORKERS);
    assert_eq!(sent, received);
    let stats = channel.receiver.stats();
    assert_eq!(
        stats.iter().map(|stats| stats.sent).sum::<u64>(),
        sent.count
    );
    assert_eq!(
        stats.iter().map(|stats| stats.received).sum::<u64>(),
        sent.count
    );
}

/// Tests producers that never receive, consumers that only wait, and a bounded queue whose
/// producers wait for room. If a sleeping thread is not woken, the test hangs.
#[test]
fn those_who_wait_are_woken() {
    const EACH: u64 = if cfg!(debug_assertions) {
        20_000
    } else {
        300_000
    };
    for global in [Capacity::Unbounded, Capacity::Bounded(64)] {
        let mut channel = channel(4, 8, global);
        let consumers = channel.workers.split_off(2).into_iter().map(|mut worker| {
            thread::spawn(move || std::iter::from_fn(|| worker.recv()).count() as u64)
        });
        let consumers: Vec<_> = consumers.collect();
        let mut outside = channel.receiver.clone();
        let outside = thread::spawn(move || std::iter::from_fn(|| outside.recv()).count() as u64);
        let producers = channel.workers.into_iter().map(|mut worker| {
            thread::spawn(move || {
                (0..EACH).for_each(|value| worker.send(value).expect("it is open"));
            })
        });
        let producers: Vec<_> = producers.collect();
        channel.sender.send_many(0..EACH).expect("it is open");
        producers
            .into_iter()
            .for_each(|producer| producer.join().unwrap());
        channel.sender.close();
        let received: u64 = consumers
            .into_iter()
            .map(|consumer| consumer.join().unwrap())
            .sum();
        assert_eq!(received + outside.join().unwrap(), 3 * EACH);
    }
}

/// Tests one value that goes from worker to worker. Each worker that is woken for the value must
/// find it.
#[test]
fn one_value_wakes_one_after_the_other() {
    const ROUNDS: u64 = if cfg!(debug_assertions) {
        5_000
    } else {
        50_000
    };
    let channel = channel(3, 4, Capacity::Unbounded);
    channel.sender.send(0).unwrap();
    let threads = channel.workers.into_iter().map(|mut worker| {
        thread::spawn(move || {
            let mut count = 0;
            while let Some(value) = worker.recv() {
                count += 1;
                if value == ROUNDS {
                    worker.close();
                } else {
                    worker.send(value + 1).expect("only the last value closes");
                }
            }
            count
        })
    });
    let threads: Vec<_> = threads.collect();
    let count: u64 = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum();
    assert_eq!(count, ROUNDS + 1);
}

/// Tests a thread that always sends a value before it takes one out. No other thread must ever find
/// the channel empty.
#[test]
fn empty_is_never_said_of_a_channel_that_is_not() {
    const ROUNDS: u64 = if cfg!(debug_assertions) {
        20_000
    } else {
        300_000
    };
    let mut channel = channel(8, 4, Capacity::Unbounded);
    // More values than the looking threads hold at a time.
    channel.workers[0].send_many(0..4).unwrap();
    let mut lookers = channel.workers.split_off(6);
    let juggling = thread::spawn(move || {
        for round in 0..ROUNDS {
            let to = (round % 6) as usize;
            channel.workers[to].send(round).unwrap();
            let from = (round * 5 + 1) as usize % 6;
            assert_ne!(channel.workers[from].try_recv(), Err(TryRecvError::Empty));
        }
        channel.workers[0].close();
    });
    thread::scope(|scope| {
        for looker in &mut lookers {
            scope.spawn(|| {
                // A value taken is given back first, so that four values are in the channel or in
                // two threads' hands.
                while let Ok(value) = looker.try_recv() {
                    if looker.send(value).is_err() {
                        return;
                    }
                }
                assert!(looker.is_closed(), "there was something at all times");
            });
        }
    });
    juggling.join().unwrap();
}

/// Tests that the last handle drops each remaining value once.
#[test]
fn values_are_dropped_once() {
    let values: Vec<Arc<u64>> = (0..3000).map(Arc::new).collect();
    let mut channel = channel(3, 16, Capacity::Unbounded);
    let thieves: Vec<_> = channel
        .workers
        .split_off(1)
        .into_iter()
        .map(|mut worker| {
            thread::spawn(move || {
                let mut taken = 0;
                while taken < 500 {
                    taken += u64::from(worker.try_recv().is_ok());
                }
            })
        })
        .collect();
    let worker = &mut channel.workers[0];
    worker.send_many(values.iter().cloned()).unwrap();
    thieves.into_iter().for_each(|thief| thief.join().unwrap());
    drop(channel);
    assert!(values.iter().all(|value| Arc::strong_count(value) == 1));
}
