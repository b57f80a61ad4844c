use std::collections::BTreeMap;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;

const YEAR_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;

fn fired(wheel: &mut Wheel<u32>, now_ns: u64) -> Vec<u32> {
    let mut fired = Vec::new();
    wheel.advance(now_ns, |payload| fired.push(payload));
    fired
}

#[test]
fn never_early_and_at_most_a_tick_late() {
    let mut wheel = Wheel::new(5 * TICK_NS + 17);
    wheel.insert(6 * TICK_NS + 1, 1);
    assert!(fired(&mut wheel, 6 * TICK_NS + 1).is_empty());
    assert!(fired(&mut wheel, 7 * TICK_NS - 1).is_empty());
    assert_eq!(fired(&mut wheel, 7 * TICK_NS), [1]);
}

#[test]
fn a_deadline_now_or_in_the_past_fires_at_once() {
    let mut wheel = Wheel::new(1000 * TICK_NS);
    wheel.insert(1000 * TICK_NS, 1);
    wheel.insert(0, 2);
    assert_eq!(wheel.next_deadline(), Some(1000 * TICK_NS));
    assert_eq!(fired(&mut wheel, 1000 * TICK_NS), [1, 2]);
}

#[test]
fn time_does_not_go_back() {
    let mut wheel = Wheel::new(0);
    assert!(fired(&mut wheel, 100 * TICK_NS).is_empty());
    wheel.insert(150 * TICK_NS, 1);
    assert!(fired(&mut wheel, 3).is_empty());
    assert!(fired(&mut wheel, 149 * TICK_NS).is_empty());
    assert_eq!(fired(&mut wheel, 150 * TICK_NS), [1]);
}

#[test]
fn stale_keys_are_harmless() {
    let mut wheel = Wheel::new(0);
    let first = wheel.insert(0, 1);
    assert_eq!(fired(&mut wheel, 0), [1]);
    let second = wheel.insert(0, 2);
    assert_eq!(wheel.cancel(first), None);
    assert_eq!(wheel.cancel(second), Some(2));
    assert_eq!(wheel.cancel(second), None);
    assert!(wheel.is_empty());
    assert_eq!(wheel.next_deadline(), None);
}

#[test]
fn years_ahead_still_fire_right() {
    let mut wheel = Wheel::new(0);
    wheel.insert(500 * YEAR_NS, 2);
    wheel.insert(YEAR_NS, 1);
    wheel.insert(u64::MAX, 3);
    assert!(fired(&mut wheel, YEAR_NS - 1).is_empty());
    assert_eq!(fired(&mut wheel, YEAR_NS + TICK_NS), [1]);
    assert_eq!(fired(&mut wheel, u64::MAX), [2]);
    assert_eq!(wheel.next_deadline(), Some(u64::MAX));
}

#[test]
fn parking_until_the_bound_takes_few_steps() {
    let mut wheel = Wheel::new(0);
    wheel.insert(584 * YEAR_NS, 1);
    let mut steps = 0;
    while let Some(next) = wheel.next_deadline() {
        fired(&mut wheel, next);
        steps += 1;
        assert!(steps <= LEVELS, "a bound did not come nearer");
    }
}

#[test]
fn what_is_left_is_dropped() {
    let payload = Rc::new(());
    let mut wheel = Wheel::new(0);
    for i in 0..100 {
        wheel.insert(i * 1_000_000, payload.clone());
    }
    wheel.advance(50_000_000, drop);
    assert!(Rc::strong_count(&payload) > 1);
    drop(wheel);
    assert_eq!(Rc::strong_count(&payload), 1);
}

#[test]
fn a_panic_in_fire_keeps_the_rest() {
    let mut wheel = Wheel::new(0);
    for i in 0..3 {
        wheel.insert(0, i);
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        wheel.advance(0, |payload| assert_ne!(payload, 1, "on purpose"));
    }));
    assert!(result.is_err());
    assert_eq!(fired(&mut wheel, 0), [2]);
    assert!(wheel.is_empty());
}

#[test]
fn a_periodic_entry_set_while_firing_keeps_its_rhythm() {
    let mut wheel = Wheel::new(0);
    wheel.insert(TICK_NS, TICK_NS);
    let mut beats = Vec::new();
    while let Some(deadline) = wheel.pop_due(5 * TICK_NS) {
        beats.push(deadline / TICK_NS);
        wheel.insert(deadline + TICK_NS, deadline + TICK_NS);
    }
    assert_eq!(beats, [1, 2, 3, 4, 5]);
}

/// Model of a wheel: a map that is sorted by tick, and within a tick by the sequence number of the
/// insertion.
#[derive(Default)]
struct Oracle {
    present: u64,
    entries: BTreeMap<(u64, u32), Key>,
}

impl Oracle {
    fn insert(&mut self, deadline_ns: u64, id: u32, key: Key) {
        let tick = deadline_ns.div_ceil(TICK_NS).max(self.present);
        self.entries.insert((tick, id), key);
    }

    fn cancel(&mut self, nth: usize) -> Option<(Key, u32)> {
        let nth = nth.checked_rem(self.entries.len())?;
        let (&place, &key) = self.entries.iter().nth(nth)?;
        self.entries.remove(&place);
        Some((key, place.1))
    }

    fn advance(&mut self, now_ns: u64) -> Vec<u32> {
        self.present = self.present.max(now_ns / TICK_NS);
        let later = self.entries.split_off(&(self.present + 1, 0));
        let due = std::mem::replace(&mut self.entries, later);
        due.into_keys().map(|(_, id)| id).collect()
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// Inserts a deadline at this distance from the present. A negative distance is in the past.
    Insert(i64),
    /// Cancels an entry. Its index is this number modulo the number of entries.
    Cancel(usize),
    Advance(u64),
    /// Advances to exactly the time that [`Wheel::next_deadline`] returns.
    AdvanceToNext,
}

/// Returns distances of all magnitudes, so that each level is used.
fn distance() -> impl Strategy<Value = u64> {
    (0u32..58, any::<u64>()).prop_map(|(bits, noise)| noise & ((1 << bits) - 1))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => distance().prop_map(|ns| Step::Insert(ns as i64)),
        2 => (0..100 * TICK_NS).prop_map(|ns| Step::Insert(ns as i64)),
        1 => (0..100 * TICK_NS).prop_map(|ns| Step::Insert(-(ns as i64))),
        2 => any::<usize>().prop_map(Step::Cancel),
        2 => distance().prop_map(Step::Advance),
        2 => (0..100 * TICK_NS).prop_map(Step::Advance),
        2 => Just(Step::AdvanceToNext),
    ]
}

fn check_next(wheel: &Wheel<u32>, oracle: &Oracle, now_ns: u64) {
    match (wheel.next_deadline(), oracle.entries.first_key_value()) {
        (None, None) => {}
        (Some(bound), Some((&(tick, _), _))) => {
            assert!(bound <= tick.saturating_mul(TICK_NS), "slept too long");
            assert!(bound / TICK_NS >= now_ns / TICK_NS, "a bound in the past");
        }
        (bound, first) => panic!("{bound:?} against {first:?}"),
    }
}

fn compare(start_ns: u64, steps: Vec<Step>) {
    let mut now_ns = start_ns;
    let mut wheel = Wheel::new(now_ns);
    let mut oracle = Oracle {
        present: now_ns / TICK_NS,
        ..Oracle::default()
    };
    for (id, step) in (0u32..).zip(steps) {
        match step {
            Step::Insert(offset) => {
                let deadline_ns = now_ns.saturating_add_signed(offset);
                let key = wheel.insert(deadline_ns, id);
                oracle.insert(deadline_ns, id, key);
            }
            Step::Cancel(nth) => {
                if let Some((key, id)) = oracle.cancel(nth) {
                    assert_eq!(wheel.cancel(key), Some(id));
                    assert_eq!(wheel.cancel(key), None);
                }
            }
            Step::Advance(step_ns) => now_ns = now_ns.saturating_add(step_ns),
            Step::AdvanceToNext => now_ns = now_ns.max(wheel.next_deadline().unwrap_or(0)),
        }
        if matches!(step, Step::Advance(_) | Step::AdvanceToNext) {
            assert_eq!(fired(&mut wheel, now_ns), oracle.advance(now_ns));
        }
        assert_eq!(wheel.len(), oracle.entries.len());
        check_next(&wheel, &oracle, now_ns);
    }
}

proptest! {
    #[test]
    fn behaves_like_a_sorted_map(start_ns in distance(), steps in prop::collection::vec(step(), 0..200)) {
        compare(start_ns, steps);
    }
}

#[test]
fn a_reserved_place_takes_one_deadline_unless_it_is_cancelled() {
    let mut wheel = Wheel::new(0);
    let (first, second) = (wheel.reserve(), wheel.reserve());
    assert!(wheel.is_empty());
    assert_eq!(wheel.next_deadline(), None);
    assert_eq!(wheel.set(first, 5 * TICK_NS, 1), Ok(()));
    assert_eq!(wheel.set(first, 5 * TICK_NS, 2), Err(2));
    assert_eq!(wheel.cancel(second), None);
    assert_eq!(wheel.set(second, 5 * TICK_NS, 3), Err(3));
    // The place belongs to another entry by now.
    let third = wheel.insert(6 * TICK_NS, 4);
    assert_eq!(wheel.set(second, 5 * TICK_NS, 5), Err(5));
    assert_eq!(wheel.cancel(third), Some(4));
    assert_eq!(fired(&mut wheel, 6 * TICK_NS), [1]);
    assert_eq!(wheel.set(first, 7 * TICK_NS, 6), Err(6));
}

#[test]
fn an_empty_wheel_may_begin_anew_at_any_time() {
    let mut wheel = Wheel::new(0);
    wheel.insert(3 * TICK_NS, 1);
    assert_eq!(fired(&mut wheel, 1000 * TICK_NS), [1]);
    wheel.restart(5 * TICK_NS, Precision::Tick);
    wheel.insert(7 * TICK_NS, 2);
    assert_eq!(fired(&mut wheel, 6 * TICK_NS), []);
    assert_eq!(fired(&mut wheel, 7 * TICK_NS), [2]);
}

#[test]
fn an_exact_wheel_fires_at_the_nanosecond_of_a_deadline() {
    let mut wheel = Wheel::with_precision(7, Precision::Exact);
    let mut deadlines: Vec<u64> = (0..64).map(|bit| 1 << bit).collect();
    deadlines.extend([u64::MAX, u64::MAX - 1, 100_000, 100_001]);
    for &deadline in &deadlines {
        wheel.insert(deadline, deadline);
    }
    deadlines.sort_unstable();
    for deadline in deadlines {
        let due = deadline.max(7);
        assert_eq!(wheel.earliest(), Some(due));
        if deadline > 7 {
            assert_eq!(wheel.pop_due(deadline - 1), None);
        }
        assert_eq!(wheel.pop_due(due), Some(deadline));
    }
    assert_eq!(wheel.earliest(), None);
}

#[test]
fn the_earliest_deadline_is_known_before_it_is_near() {
    let mut wheel = Wheel::new(0);
    wheel.insert(100 * TICK_NS + 1, ());
    wheel.insert(99 * TICK_NS, ());
    assert_eq!(wheel.earliest(), Some(99 * TICK_NS));
    assert!(wheel.next_deadline() < Some(99 * TICK_NS));
}

#[test]
fn a_wheel_that_restarts_may_become_exact() {
    let mut wheel = Wheel::new(0);
    wheel.restart(TICK_NS + 1, Precision::Exact);
    wheel.insert(TICK_NS + 3, ());
    assert_eq!(wheel.pop_due(TICK_NS + 2), None);
    assert_eq!(wheel.pop_due(TICK_NS + 3), Some(()));
}
