//! Tests with real threads and real fences: each value is seen exactly once.
//!
//! A run stops when enough values were stolen. If the machine is too busy to run the thieves at the
//! same time as the owner, the run stops after a maximum number of values. Such a run takes about a
//! second in a release build. The owner keeps the deque almost empty, because the owner and the
//! thieves race only for the last values. Without the heavy side of the fence, one in five stolen
//! values is seen twice.
use std::{
    collections::HashSet,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use super::*;

const VALUES_MAX: u64 = if cfg!(debug_assertions) {
    4_000_000
} else {
    20_000_000
};
/// Number of stolen values after which a run stops. With a broken fence, hundreds of errors would
/// occur before this number is reached.
const STOLEN_ENOUGH: u64 = 50_000;
const CAPACITY: usize = 64;
/// Maximum number of values that the owner pushes before it pops about the same number.
const BURST_MAX: u64 = 4;

/// Method by which a thief steals.
#[derive(Clone, Copy)]
enum Theft {
    One,
    Half,
    HalfInto,
}

/// Records each value that was seen, and detects if a value is seen twice.
struct Ledger {
    /// One bit for each value, which is set when the value is seen.
    marks: Vec<AtomicU64>,
    seen_twice: AtomicU64,
    stolen: AtomicU64,
}

impl Ledger {
    fn new() -> Self {
        let words = VALUES_MAX.div_ceil(64);
        Self {
            marks: (0..words).map(|_| AtomicU64::new(0)).collect(),
            seen_twice: AtomicU64::new(0),
            stolen: AtomicU64::new(0),
        }
    }

    fn mark(&self, value: u64) {
        let bit = 1 << (value % 64);
        let before = self.marks[value as usize / 64].fetch_or(bit, Relaxed);
        if before & bit != 0 {
            self.seen_twice.fetch_add(1, Relaxed);
        }
    }

    fn seen(&self) -> u64 {
        let ones = |word: &AtomicU64| u64::from(word.load(Relaxed).count_ones());
        self.marks.iter().map(ones).sum()
    }

    fn check(&self, pushed: u64) {
        let (twice, lost) = (self.seen_twice.load(Relaxed), pushed - self.seen());
        assert_eq!((twice, lost), (0, 0), "values seen twice, values lost");
    }
}

/// Pushes values in small bursts, and pops values in between. Returns the number of values pushed.
fn own(worker: &mut Worker<u64>, ledger: &Ledger) -> u64 {
    let mut value = 0;
    while value < VALUES_MAX && ledger.stolen.load(Relaxed) < STOLEN_ENOUGH {
        let burst = 1 + value % BURST_MAX;
        let end = (value + burst).min(VALUES_MAX);
        while value < end && worker.push(value).is_ok() {
            value += 1;
        }
        for _ in 0..burst {
            worker
                .pop()
                .into_iter()
                .for_each(|value| ledger.mark(value));
        }
    }
    while let Some(value) = worker.pop() {
        ledger.mark(value);
    }
    value
}

/// Steals until `stop` is set.
fn rob(stealer: &Stealer<u64>, theft: Theft, ledger: &Ledger, stop: &AtomicBool) {
    let mut mine = growing(1);
    let mut loot = Vec::new();
    while !stop.load(Relaxed) {
        match theft {
            Theft::One => loot.extend(stealer.steal().success()),
            Theft::Half => {
                loot.extend(stealer.steal_half(&mut mine).success());
                loot.extend(std::iter::from_fn(|| mine.pop()));
            }
            Theft::HalfInto => {
                let _ = stealer.steal_half_into(&mut loot, CAPACITY);
            }
        }
        ledger.stolen.fetch_add(loot.len() as u64, Relaxed);
        loot.drain(..).for_each(|value| ledger.mark(value));
    }
}

/// Runs one owner, and one thief for each of `thefts`.
fn run(mut worker: Worker<u64>, thefts: &[Theft]) {
    let (ledger, stop) = (Ledger::new(), AtomicBool::new(false));
    let start = Barrier::new(thefts.len() + 1);
    let pushed = thread::scope(|scope| {
        for &theft in thefts {
            let stealer = worker.stealer();
            let (ledger, stop, start) = (&ledger, &stop, &start);
            scope.spawn(move || {
                start.wait();
                rob(&stealer, theft, ledger, stop);
            });
        }
        start.wait();
        let pushed = own(&mut worker, &ledger);
        stop.store(true, Relaxed);
        pushed
    });
    ledger.check(pushed);
}

fn both_fences() -> [Asymmetric; 2] {
    [Asymmetric::detect(), Asymmetric::symmetric()]
}

#[test]
fn one_thief() {
    for fence in both_fences() {
        run(bounded_with_fence(CAPACITY, fence), &[Theft::One]);
    }
}

#[test]
fn one_thief_of_halves() {
    for fence in both_fences() {
        run(bounded_with_fence(CAPACITY, fence), &[Theft::HalfInto]);
    }
}

#[test]
fn two_thieves() {
    for fence in both_fences() {
        run(
            bounded_with_fence(CAPACITY, fence),
            &[Theft::Half, Theft::One],
        );
    }
}

#[test]
fn three_thieves_and_a_growing_deque() {
    for fence in both_fences() {
        let thefts = [Theft::Half, Theft::HalfInto, Theft::One];
        run(growing_with_fence(1, fence), &thefts);
    }
}

/// Tests growth during thefts. Each round starts a new deque with one slot, so that growth and
/// thefts often happen at the same time.
#[test]
fn growth_beside_two_thieves() {
    const DEQUES: u64 = 100;
    const EACH: u64 = 200;
    for fence in both_fences() {
        let seen: u64 = (0..DEQUES).map(|_| grow_once(fence, EACH)).sum();
        assert_eq!(seen, DEQUES * EACH);
    }
}

/// Fills one growing deque while two thieves steal from it. Returns the number of different values
/// seen.
fn grow_once(fence: Asymmetric, count: u64) -> u64 {
    let mut worker = growing_with_fence(1, fence);
    let stop = AtomicBool::new(false);
    let rob = |stealer: Stealer<u64>| {
        let mut loot = Vec::new();
        while !stop.load(Relaxed) || !stealer.is_empty() {
            let _ = stealer.steal_half_into(&mut loot, CAPACITY);
        }
        loot
    };
    let loot: Vec<u64> = thread::scope(|scope| {
        let thieves =
            [worker.stealer(), worker.stealer()].map(|stealer| scope.spawn(|| rob(stealer)));
        (0..count).for_each(|value| worker.push(value).unwrap());
        stop.store(true, Relaxed);
        thieves
            .into_iter()
            .flat_map(|thief| thief.join().unwrap())
            .collect()
    });
    let left = std::iter::from_fn(|| worker.pop());
    let all: Vec<u64> = loot.into_iter().chain(left).collect();
    assert_eq!(
        all.len(),
        HashSet::<u64>::from_iter(all.iter().copied()).len()
    );
    all.len() as u64
}

/// Tests that the last handle drops each remaining value once.
#[test]
fn values_are_dropped_once() {
    let values: Vec<Arc<u64>> = (0..2000).map(Arc::new).collect();
    let mut worker: Worker<Arc<u64>> = growing(1);
    let stealer = worker.stealer();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut mine = bounded(CAPACITY);
            while !matches!(stealer.steal_half(&mut mine), Steal::Success(last) if *last > 1000) {
                mine.pop();
            }
        });
        for value in &values {
            worker.push(value.clone()).unwrap();
        }
        drop(worker);
    });
    assert!(values.iter().all(|value| Arc::strong_count(value) == 1));
}
