//! Compares all operations of the deque, on one thread, with those of a `VecDeque`. The tests also
//! count the drops of values.
use std::{
    cell::Cell,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
};

use proptest::prelude::*;

use super::*;
use crate::testing::Counted;

#[derive(Debug, Clone, Copy)]
enum Step {
    Push,
    Pop,
    PopOldest,
    PopOldestInto { count_max: usize },
    Steal,
    StealHalf,
    StealHalfInto { count_max: usize },
    StealFromSelf,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => Just(Step::Push),
        3 => Just(Step::Pop),
        1 => Just(Step::PopOldest),
        1 => (0..9_usize).prop_map(|count_max| Step::PopOldestInto { count_max }),
        1 => Just(Step::Steal),
        1 => Just(Step::StealHalf),
        1 => (0..9_usize).prop_map(|count_max| Step::StealHalfInto { count_max }),
        1 => Just(Step::StealFromSelf),
    ]
}

/// The deque under test with its expected values, and a thief's deque with its expected values.
struct Pair {
    worker: Worker<Counted>,
    oracle: VecDeque<u32>,
    /// Capacity of the deque, or `None` if the deque grows.
    capacity: Option<usize>,
    thief: Worker<Counted>,
    thief_oracle: VecDeque<u32>,
    alive: Rc<Cell<usize>>,
    next: u32,
}

/// Capacity of the thief's deque. The capacity is so small that thefts fill the deque.
const THIEF_CAPACITY: usize = 5;

impl Pair {
    fn new(worker: Worker<Counted>, capacity: Option<usize>) -> Self {
        Self {
            worker,
            oracle: VecDeque::new(),
            capacity,
            thief: bounded(THIEF_CAPACITY),
            thief_oracle: VecDeque::new(),
            alive: Rc::default(),
            next: 0,
        }
    }

    fn check(mut self, steps: &[Step]) {
        for &step in steps {
            self.take(step);
            self.check_counts();
        }
        let alive = self.alive.clone();
        drop(self);
        assert_eq!(alive.get(), 0, "the last handle must drop what is left");
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Push => self.push(),
            Step::Pop => assert_eq!(number(self.worker.pop()), self.oracle.pop_back()),
            Step::PopOldest => {
                assert_eq!(number(self.worker.pop_oldest()), self.oracle.pop_front());
            }
            Step::PopOldestInto { count_max } => {
                let mut oldest = Vec::new();
                let count = self.worker.pop_oldest_into(&mut oldest, count_max);
                assert_eq!(count, count_max.min(self.oracle.len()));
                let oldest: Vec<u32> = oldest.iter().map(|value| value.number).collect();
                assert_eq!(oldest, Vec::from_iter(self.oracle.drain(..count)));
            }
            Step::Steal => {
                let stolen = self.worker.stealer().steal();
                assert_eq!(number(stolen.success()), self.oracle.pop_front());
            }
            Step::StealHalf => self.steal_half(),
            Step::StealHalfInto { count_max } => self.steal_half_into(count_max),
            Step::StealFromSelf => {
                let stolen = self.worker.stealer().steal_half(&mut self.worker);
                assert_eq!(number(stolen.success()), self.oracle.pop_front());
            }
        }
    }

    fn push(&mut self) {
        let pushed = self.worker.push(Counted::new(self.next, &self.alive));
        if Some(self.oracle.len()) == self.capacity {
            assert_eq!(pushed.unwrap_err().0.number, self.next);
        } else {
            pushed.unwrap();
            self.oracle.push_back(self.next);
        }
        self.next += 1;
    }

    fn steal_half(&mut self) {
        let room = THIEF_CAPACITY - self.thief_oracle.len();
        let count = self.oracle.len().div_ceil(2).min(room + 1);
        let oldest = self.worker.stealer().steal_half(&mut self.thief);
        let mut expected = self.oracle.drain(..count);
        assert_eq!(number(oldest.success()), expected.next());
        self.thief_oracle.extend(expected);
        // The thief works off some of it.
        assert_eq!(number(self.thief.pop()), self.thief_oracle.pop_back());
    }

    fn steal_half_into(&mut self, count_max: usize) {
        let count = self.oracle.len().div_ceil(2).min(count_max);
        let mut loot = Vec::new();
        let stolen = self.worker.stealer().steal_half_into(&mut loot, count_max);
        assert_eq!(
            stolen,
            if count == 0 {
                Steal::Empty
            } else {
                Steal::Success(count)
            }
        );
        let loot: Vec<u32> = loot.iter().map(|value| value.number).collect();
        assert_eq!(loot, Vec::from_iter(self.oracle.drain(..count)));
    }

    fn check_counts(&self) {
        assert_eq!(self.worker.len(), self.oracle.len());
        assert_eq!(self.worker.stealer().len(), self.oracle.len());
        assert_eq!(self.worker.is_empty(), self.oracle.is_empty());
        assert_eq!(self.thief.len(), self.thief_oracle.len());
        assert_eq!(
            self.alive.get(),
            self.oracle.len() + self.thief_oracle.len(),
            "every value is in a deque or dropped"
        );
    }
}

fn number(value: Option<Counted>) -> Option<u32> {
    value.map(|value| value.number)
}

proptest! {
    #[test]
    fn a_bounded_deque_is_a_bounded_vec_deque(
        capacity in 1..20_usize,
        steps in prop::collection::vec(step(), 0..300),
    ) {
        Pair::new(bounded(capacity), Some(capacity)).check(&steps);
    }

    #[test]
    fn a_growing_deque_is_a_vec_deque(
        capacity_min in 0..20_usize,
        steps in prop::collection::vec(step(), 0..300),
    ) {
        Pair::new(growing(capacity_min), None).check(&steps);
    }

    #[test]
    fn the_symmetric_pair_makes_no_difference(
        capacity in 1..20_usize,
        steps in prop::collection::vec(step(), 0..300),
    ) {
        let worker = bounded_with_fence(capacity, Asymmetric::symmetric());
        Pair::new(worker, Some(capacity)).check(&steps);
    }
}

#[test]
fn handles_may_move_and_stealers_be_shared() {
    fn sent(_: &impl Send) {}
    fn shared(_: &impl Sync) {}
    let worker = bounded::<Cell<u8>>(1);
    sent(&worker);
    sent(&worker.stealer());
    shared(&worker.stealer());
}

#[test]
fn values_without_a_size_are_counted() {
    let mut worker = growing(1);
    (0..100).for_each(|_| worker.push(()).unwrap());
    assert_eq!(worker.stealer().steal(), Steal::Success(()));
    assert_eq!(std::iter::from_fn(|| worker.pop()).count(), 99);
}

#[test]
fn stealers_outlive_the_worker() {
    let mut worker = bounded(4);
    worker.push(Box::new(1)).unwrap();
    worker.push(Box::new(2)).unwrap();
    let stealer = worker.stealer();
    drop(worker);
    assert_eq!(stealer.steal().success(), Some(Box::new(1)));
    assert_eq!(stealer.len(), 1);
}

/// A value that counts its drops, and panics in its destructor if its flag is set.
struct Fuse<'a>(&'a Cell<u32>, bool);

impl Drop for Fuse<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        if self.1 {
            resume_unwind(Box::new("planned"));
        }
    }
}

#[test]
fn what_is_left_is_dropped_although_a_drop_panics() {
    for blows in 0..4 {
        let drops = Cell::new(0);
        let mut worker = bounded(4);
        for index in 0..4 {
            assert!(worker.push(Fuse(&drops, index == blows)).is_ok());
        }
        assert!(catch_unwind(AssertUnwindSafe(|| drop(worker))).is_err());
        assert_eq!(drops.get(), 4, "each was dropped once");
    }
}

/// Tests that no value is dropped twice if the closure of `take_oldest` panics.
#[test]
fn a_panic_amid_the_oldest_doubles_no_value() {
    let drops = Cell::new(0);
    let mut worker = bounded(4);
    for _ in 0..3 {
        assert!(worker.push(Fuse(&drops, false)).is_ok());
    }
    let taken = catch_unwind(AssertUnwindSafe(|| {
        let mut count = 0;
        worker.take_oldest(3, |value| {
            count += 1;
            drop(value);
            if count == 2 {
                resume_unwind(Box::new("planned"));
            }
        })
    }));
    assert!(taken.is_err());
    assert_eq!((drops.get(), worker.len()), (2, 0), "the third is leaked");
    assert!(worker.push(Fuse(&drops, false)).is_ok());
    assert!(worker.pop().is_some() && worker.pop().is_none());
    drop(worker);
    assert_eq!(drops.get(), 3);
}

#[test]
fn counts_may_wrap() {
    let mut worker = bounded(2);
    worker.start_at(usize::MAX - 1);
    for value in 0..8 {
        worker.push(value).unwrap();
        worker.push(value + 100).unwrap();
        assert_eq!(worker.push(0), Err(Full(0)));
        assert_eq!(worker.stealer().steal(), Steal::Success(value));
        assert_eq!(worker.pop(), Some(value + 100));
        assert_eq!(worker.pop(), None);
    }
}

#[test]
#[should_panic(expected = "the capacity of a deque must be at least 1")]
fn no_capacity_is_refused() {
    drop(bounded::<u8>(0));
}

#[test]
fn debug_shows_no_values() {
    let worker = bounded::<u8>(3);
    let text = format!("{worker:?} {:?} {:?}", worker.stealer(), Full(1));
    assert!(text.starts_with("Worker { len: 0, capacity: 3"), "{text}");
}
