//! A counter that counts up and down, the PN-Counter (Shapiro, Preguica, Baquero and Zawirski, "A
//! comprehensive study of convergent and commutative replicated data types", 2011). Each replica
//! has a number of increments and a number of decrements. A merge takes the greater of two numbers.

use garrick_sim::Sim;

use crate::gossip::{Data, FAIR, Held, REPLICAS, SAME_STATES, UpdateId, replicate};
use crate::{assert_found, assert_right};

/// Mistakes of an implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// A merge adds the numbers of both states, so it is not idempotent.
    AddsInMerge,
    /// A merge takes the numbers that have arrived last, so it is not commutative.
    TakesNewest,
    /// All replicas change the numbers of the first replica.
    SharesNumbers,
}

#[derive(Debug, Clone, PartialEq)]
struct Counter {
    up: [u64; REPLICAS],
    down: [u64; REPLICAS],
    mistake: Mistake,
}

impl Counter {
    fn value(&self) -> i64 {
        self.up.iter().sum::<u64>() as i64 - self.down.iter().sum::<u64>() as i64
    }

    fn merge_numbers(&self, mine: &mut [u64; REPLICAS], theirs: &[u64; REPLICAS]) {
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            *mine = match self.mistake {
                Mistake::AddsInMerge => *mine + theirs,
                Mistake::TakesNewest => *theirs,
                Mistake::None | Mistake::SharesNumbers => *theirs.max(mine),
            };
        }
    }
}

impl Data for Counter {
    /// A change of the value.
    type Op = i64;

    fn update(&mut self, change: &i64, (replica, _): UpdateId) {
        let shares = self.mistake == Mistake::SharesNumbers;
        let replica = if shares { 0 } else { replica };
        let numbers = if *change > 0 {
            &mut self.up
        } else {
            &mut self.down
        };
        numbers[replica] += change.unsigned_abs();
    }

    fn merge(&mut self, other: &Self) {
        let (mut up, mut down) = (self.up, self.down);
        self.merge_numbers(&mut up, &other.up);
        self.merge_numbers(&mut down, &other.down);
        (self.up, self.down) = (up, down);
    }
}

const EACH_ONCE: &str = "each update counts once";

fn counter(sim: &mut Sim, mistake: Mistake) {
    let zero = Counter {
        up: [0; REPLICAS],
        down: [0; REPLICAS],
        mistake,
    };
    replicate(sim, &zero, [&[1, 2], &[4, -8], &[-16]]);
    sim.always(EACH_ONCE, |facts| {
        let is_right = |held: &Held<Counter>| {
            let sum: i64 = held.log.values().map(|update| update.op).sum();
            held.data.value() == sum
        };
        facts.last().is_none_or(is_right)
    });
}

#[test]
fn a_counter_is_right() {
    assert_right("counter", FAIR, |sim| counter(sim, Mistake::None));
}

#[test]
fn a_merge_that_is_not_idempotent_is_found() {
    assert_found(
        "counter, sums",
        FAIR,
        &[SAME_STATES, EACH_ONCE],
        25,
        |sim| {
            counter(sim, Mistake::AddsInMerge);
        },
    );
}

#[test]
fn a_merge_that_is_not_commutative_is_found() {
    assert_found("counter, newest", FAIR, &[EACH_ONCE], 25, |sim| {
        counter(sim, Mistake::TakesNewest);
    });
}

#[test]
fn shared_numbers_are_found() {
    assert_found("counter, shared numbers", FAIR, &[EACH_ONCE], 25, |sim| {
        counter(sim, Mistake::SharesNumbers);
    });
}
