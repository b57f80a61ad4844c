//! The shapes of the benchmarks: which threads send, and which threads receive.

use garrick_measure::{Measured, Result, Stopwatch};

use super::team::Team;
use crate::crowd::Crowd;

/// Maximum number of threads. Except in uneven shapes, the number of operations is a multiple of
/// this number. So the operations are divided evenly among the threads, and all contenders of a
/// scenario perform the same number of operations.
const THREADS_MAX: u64 = 8;

/// In uneven shapes, the number of operations is a multiple of this number. An uneven shape is a
/// benchmark in which one thread sends four fifths of the values, and one or seven other threads
/// send the remaining fifth.
const UNEVENLY: u64 = 5 * 7;

/// The count and sum of the values that one thread has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Received {
    count: u64,
    sum: u64,
}

impl Received {
    #[inline]
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += value;
    }

    /// Receives values until all senders have ended and no value is left.
    fn drain<T: Team>(&mut self, hand: &mut T::Hand) {
        while let Some(value) = T::recv(hand) {
            self.add(value);
        }
    }
}

/// Minimum number of values if threads have to wait for one another. With fewer values, the
/// operating system's scheduler would dominate the result. A thread that loses its core for one
/// time slice costs as much time as a hundred thousand values.
const VALUES_MIN: u64 = 1 << 18;

/// Sends values from `producers` threads, and receives them in `consumers` other threads.
pub(super) fn roles<T: Team>(producers: u64, consumers: u64, ops: u64) -> Result<Measured> {
    let each = ops.max(VALUES_MIN).next_multiple_of(THREADS_MAX) / producers;
    let mut hands = T::open(producers + consumers, producers).into_iter();
    let crowd = Crowd::gather(producers + consumers, |number| {
        let mut hand = hands.next().expect("there is one handle for each thread");
        move || {
            let mut received = Received::default();
            if number < producers {
                (0..each).for_each(|value| T::send(&mut hand, value));
                T::retire(&mut hand);
            } else {
                received.drain::<T>(&mut hand);
            }
            received
        }
    })?;
    let watch = crowd.begin();
    Ok(account(crowd, &watch, &vec![each; producers as usize]))
}

/// Makes each of `workers` threads alternately send `batch` values and receive up to `batch`
/// values. At the end, the threads receive the remaining values.
pub(super) fn both<T: Team>(workers: u64, batch: u64, ops: u64) -> Result<Measured> {
    let each = ops.next_multiple_of(THREADS_MAX * batch) / workers;
    let mut hands = T::open(workers, workers).into_iter();
    let crowd = Crowd::gather(workers, |_| {
        let mut hand = hands.next().expect("there is one handle for each thread");
        move || {
            let mut received = Received::default();
            let mut value = 0;
            while value < each {
                for _ in 0..batch {
                    T::send(&mut hand, value);
                    value += 1;
                }
                for _ in 0..batch {
                    if let Some(value) = T::try_recv(&mut hand) {
                        received.add(value);
                    }
                }
            }
            T::retire(&mut hand);
            while let Some(value) = T::try_recv(&mut hand) {
                received.add(value);
            }
            received
        }
    })?;
    let watch = crowd.begin();
    Ok(account(crowd, &watch, &vec![each; workers as usize]))
}

/// Makes the first of `workers` threads send four fifths of the values, and the other threads the
/// rest. Then all threads receive.
pub(super) fn imbalanced<T: Team>(workers: u64, ops: u64) -> Result<Measured> {
    let others = ops.max(VALUES_MIN).next_multiple_of(UNEVENLY) / (5 * (workers - 1));
    let sent: Vec<u64> = (0..workers)
        .map(|number| {
            if number == 0 {
                4 * others * (workers - 1)
            } else {
                others
            }
        })
        .collect();
    let mut hands = T::open(workers, workers).into_iter();
    let crowd = Crowd::gather(workers, |number| {
        let mut hand = hands.next().expect("there is one handle for each thread");
        let each = sent[number as usize];
        move || {
            (0..each).for_each(|value| T::send(&mut hand, value));
            T::retire(&mut hand);
            let mut received = Received::default();
            received.drain::<T>(&mut hand);
            received
        }
    })?;
    let watch = crowd.begin();
    Ok(account(crowd, &watch, &sent))
}

/// Waits for all threads, and checks that each value sent was received once.
fn account(crowd: Crowd<Received>, watch: &Stopwatch, sent: &[u64]) -> Measured {
    let received = crowd.disperse();
    let span = watch.stop();
    let count: u64 = sent.iter().sum();
    let sum: u64 = sent
        .iter()
        .map(|each| each * each.saturating_sub(1) / 2)
        .sum();
    let counted: u64 = received.iter().map(|received| received.count).sum();
    let summed: u64 = received.iter().map(|received| received.sum).sum();
    assert_eq!(
        (counted, summed),
        (count, sum),
        "every value was received once"
    );
    Measured::new(count, span)
}
