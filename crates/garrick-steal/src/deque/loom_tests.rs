//! Loom models of small deques. Loom runs each model in all interleavings with a limited number of
//! preemptions, and with all stale reads that the memory model allows.
//!
//! Each value is a [`Track`], so that loom reports leaks. Each slot is a loom cell, which fails if
//! two threads access it without synchronization. At the end, each model checks that every value
//! was taken exactly once.
use std::iter;

use garrick_core::fence::Asymmetric;
use loom::{alloc::Track, model::Builder, thread};

use super::{Full, Steal, Stealer, Worker, bounded_with_fence, growing_with_fence};
use crate::testing::{assert_each_once, long};

const FENCE: Asymmetric = Asymmetric::symmetric();

fn model(f: impl Fn() + Sync + Send + 'static) {
    model_with(3, f);
}

/// Runs `f` in all schedules with at most `preemptions_max` preemptions in total, or fewer if the
/// environment variable `LOOM_MAX_PREEMPTIONS` is lower.
fn model_with(preemptions_max: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    let bound = builder.preemption_bound.unwrap_or(preemptions_max);
    builder.preemption_bound = Some(bound.min(preemptions_max));
    builder.check(f);
}

type Value = Track<u32>;

fn bounded(capacity: usize) -> Worker<Value> {
    bounded_with_fence(capacity, FENCE)
}

fn growing(capacity_min: usize) -> Worker<Value> {
    growing_with_fence(capacity_min, FENCE)
}

fn push(worker: &mut Worker<Value>, value: u32) -> bool {
    match worker.push(Track::new(value)) {
        Ok(()) => true,
        Err(Full(value)) => {
            drop(value);
            false
        }
    }
}

fn push_all(worker: &mut Worker<Value>, values: impl IntoIterator<Item = u32>) {
    for value in values {
        assert!(
            push(worker, value),
            "the models make room for what they push"
        );
    }
}

fn pop_all(worker: &mut Worker<Value>) -> Vec<u32> {
    iter::from_fn(|| worker.pop())
        .map(Track::into_inner)
        .collect()
}

fn steal(stealer: &Stealer<Value>) -> Vec<u32> {
    stealer
        .steal()
        .success()
        .map(Track::into_inner)
        .into_iter()
        .collect()
}

/// Steals half of the values into a deque of the thief.
fn steal_half(stealer: &Stealer<Value>) -> Vec<u32> {
    let mut mine = bounded(4);
    let oldest = stealer
        .steal_half(&mut mine)
        .success()
        .map(Track::into_inner);
    oldest.into_iter().chain(pop_all(&mut mine)).collect()
}

fn spawn(
    worker: &Worker<Value>,
    f: impl FnOnce(&Stealer<Value>) -> Vec<u32> + 'static,
) -> thread::JoinHandle<Vec<u32>> {
    let stealer = worker.stealer();
    thread::spawn(move || f(&stealer))
}

/// Returns true if a deque's only value can be taken twice or get lost when the owner pops it while
/// a thief steals it.
fn last_value_goes_astray(fence: Asymmetric) -> bool {
    // Not a panic in the model: loom cannot unwind through a model that is meant to fail.
    let astray = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = astray.clone();
    model(move || {
        let mut worker = bounded_with_fence(1, fence);
        worker.push(0).unwrap();
        let stealer = worker.stealer();
        let thief = thread::spawn(move || stealer.steal().success());
        let popped = worker.pop();
        if thief.join().unwrap().is_some() == popped.is_some() {
            seen.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    astray.load(std::sync::atomic::Ordering::Relaxed)
}

#[test]
fn the_last_value_goes_to_one() {
    assert!(!last_value_goes_astray(FENCE));
}

/// Shows that the heavy fence, which is the thief's fence, is needed.
#[test]
fn the_last_value_goes_astray_without_the_heavy_side() {
    assert!(last_value_goes_astray(Asymmetric::heavy_missing()));
}

/// Shows that the light fence, which is the owner's fence, is needed. The light fence is a hardware
/// fence or, with `membarrier(2)`, a compiler fence.
#[test]
fn the_last_value_goes_astray_without_the_light_side() {
    assert!(last_value_goes_astray(Asymmetric::light_missing()));
}

#[test]
fn the_last_value_goes_to_one_of_three() {
    model_with(2, || {
        let mut worker = bounded(2);
        push_all(&mut worker, [0]);
        let thieves = [spawn(&worker, steal), spawn(&worker, steal)];
        let popped = pop_all(&mut worker);
        let stolen = thieves.map(|thief| thief.join().unwrap());
        assert_each_once(stolen.into_iter().chain([popped]), 1);
    });
}

#[test]
fn two_thieves_and_an_owner_share_two() {
    model_with(long(2), || {
        let mut worker = bounded(4);
        push_all(&mut worker, 0..2);
        let thieves = [spawn(&worker, steal), spawn(&worker, steal)];
        let popped = pop_all(&mut worker);
        let stolen = thieves.map(|thief| thief.join().unwrap());
        assert_each_once(stolen.into_iter().chain([popped]), 2);
    });
}

/// Tests a thief that claims two of three values. If the owner pops one of these two values first,
/// the thief gives this value up.
#[test]
fn a_claim_shrinks() {
    model(|| {
        let mut worker = bounded(4);
        push_all(&mut worker, 0..3);
        let thief = spawn(&worker, steal_half);
        let popped = pop_all(&mut worker);
        assert_each_once([thief.join().unwrap(), popped], 3);
    });
}

/// Tests that the owner's store of the tail, in a push or in a pop, makes the slots visible to a
/// thief. The owner's fence is not needed for this purpose, so the owner has no fence in this
/// model. The missing fence does no harm here, because the thief steals only value 0, and the owner
/// pops only value 1.
#[test]
fn a_lowered_tail_publishes_the_slots_below() {
    model(|| {
        let mut worker = bounded_with_fence(2, Asymmetric::light_missing());
        let stealer = worker.stealer();
        let thief = thread::spawn(move || stealer.steal().success());
        worker.push(0).unwrap();
        worker.push(1).unwrap();
        assert_ne!(worker.pop(), None);
        assert!(matches!(thief.join().unwrap(), None | Some(0)));
    });
}

/// Tests that a thief never confuses two values if the owner pops a value and pushes another value
/// to the same slot.
#[test]
fn a_slot_is_filled_again_by_the_owner() {
    model(|| {
        let mut worker = bounded(2);
        push_all(&mut worker, [0]);
        let thief = spawn(&worker, steal);
        let mut popped = pop_all(&mut worker);
        push_all(&mut worker, [1]);
        popped.extend(pop_all(&mut worker));
        assert_each_once([thief.join().unwrap(), popped], 2);
    });
}

/// Tests that a push to a full deque with one slot does not overwrite a value that a thief is
/// copying out.
#[test]
fn a_full_deque_waits_for_done() {
    model(|| {
        let mut worker = bounded(1);
        push_all(&mut worker, [0]);
        let thief = spawn(&worker, steal);
        let pushed = push(&mut worker, 1);
        let stolen = thief.join().unwrap();
        let popped = pop_all(&mut worker);
        assert_each_once([stolen, popped], if pushed { 2 } else { 1 });
    });
}

/// Tests a thief that steals from the old or the new buffer while the owner moves the values to a
/// larger buffer.
#[test]
fn growth_beside_a_thief() {
    model(|| {
        let mut worker = growing(1);
        push_all(&mut worker, [0]);
        let thief = spawn(&worker, |stealer| {
            let mut stolen = steal(stealer);
            stolen.extend(steal(stealer));
            stolen
        });
        push_all(&mut worker, [1]);
        let popped = pop_all(&mut worker);
        assert_each_once([thief.join().unwrap(), popped], 2);
    });
}

#[test]
fn growth_beside_two_thieves() {
    model(|| {
        let mut worker = growing(1);
        push_all(&mut worker, [0]);
        let thieves = [spawn(&worker, steal), spawn(&worker, steal)];
        push_all(&mut worker, [1]);
        let stolen = thieves.map(|thief| thief.join().unwrap());
        let popped = pop_all(&mut worker);
        assert_each_once(stolen.into_iter().chain([popped]), 2);
    });
}

#[test]
fn the_owner_takes_the_oldest_beside_a_thief() {
    model(|| {
        let mut worker = bounded(2);
        push_all(&mut worker, 0..2);
        let thief = spawn(&worker, steal);
        let popped: Vec<u32> = iter::from_fn(|| worker.pop_oldest())
            .map(Track::into_inner)
            .collect();
        assert!(popped.is_sorted(), "the oldest must come first");
        assert_each_once([thief.join().unwrap(), popped], 2);
    });
}

/// Tests two workers that steal from each other while both deques grow. The workers must not wait
/// for each other's locks.
#[test]
fn two_workers_steal_from_each_other() {
    model(|| {
        let (mut here, mut there) = (growing(1), growing(1));
        push_all(&mut here, [0]);
        push_all(&mut there, [1]);
        let (from_here, from_there) = (here.stealer(), there.stealer());
        let other = thread::spawn(move || {
            let stolen = from_here
                .steal_half(&mut there)
                .success()
                .map(Track::into_inner);
            stolen.into_iter().chain(pop_all(&mut there)).collect()
        });
        let stolen = from_there
            .steal_half(&mut here)
            .success()
            .map(Track::into_inner);
        let kept = stolen.into_iter().chain(pop_all(&mut here)).collect();
        assert_each_once([other.join().unwrap(), kept], 2);
    });
}

/// Tests that dropping the last handle, on any thread, drops the remaining values. Loom counts the
/// tracked values.
#[test]
fn the_last_handle_drops_the_rest() {
    model(|| {
        let mut worker = bounded(4);
        let stealer = worker.stealer();
        let thief = thread::spawn(move || matches!(stealer.steal(), Steal::Success(_)));
        push_all(&mut worker, 0..2);
        drop(worker.pop());
        drop(worker);
        thief.join().unwrap();
    });
}
