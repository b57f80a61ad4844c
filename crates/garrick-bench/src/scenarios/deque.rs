//! Pushing and popping by the owner of a work-stealing deque, compared with a deque from which no
//! thread can steal.

use std::collections::VecDeque;
use std::hint::black_box;

use garrick_measure::{
    Clock, Contender, Effort, Measured, Point, Result, Scenario, Stopwatch, Swept,
};
use garrick_steal::deque;

pub(super) const DEQUE: Scenario = Scenario {
    name: "deque",
    operation: "one push and one pop at the owner's end of a deque that already holds some values \
                (depth); a stealer exists, but does nothing",
    contenders,
};

/// Measured depths: how many other values the deque contains while a value is pushed and popped.
const DEPTHS: [u64; 2] = [0, 64];

/// Number of slots of the deque. A power of two that is larger than all depths.
const CAPACITY: usize = 256;

pub(super) const SWEPT: Swept = Swept {
    scenario: DEQUE.name,
    parameters: &[("depth", 0..=CAPACITY as u64 - 1)],
    contenders: at,
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    at(effort, &Point::default())
}

fn at(_: &Effort, point: &Point) -> Vec<Contender> {
    let pair = |depth| {
        [
            Contender::fitted("garrick", move |ops| stealable(ops, depth)).with("depth", depth),
            Contender::fitted("vecdeque", move |ops| plain(ops, depth)).with("depth", depth),
        ]
    };
    let depths = point
        .get("depth")
        .map_or(DEPTHS.to_vec(), |depth| vec![depth]);
    depths.into_iter().flat_map(pair).collect()
}

fn stealable(ops: u64, depth: u64) -> Result<Measured> {
    let mut worker = deque::bounded(CAPACITY);
    let _stealer = worker.stealer();
    let push = |worker: &mut deque::Worker<u64>, value| {
        worker
            .push(value)
            .expect("the deque has room for one more value than the depth");
    };
    Ok(pairs(ops, depth, &mut worker, push, deque::Worker::pop))
}

fn plain(ops: u64, depth: u64) -> Result<Measured> {
    let mut deque = VecDeque::with_capacity(CAPACITY);
    Ok(pairs(
        ops,
        depth,
        &mut deque,
        VecDeque::push_back,
        VecDeque::pop_back,
    ))
}

/// Pushes and pops `ops` times, with `depth` other values in the deque.
#[inline]
fn pairs<D>(
    ops: u64,
    depth: u64,
    deque: &mut D,
    push: impl Fn(&mut D, u64),
    pop: impl Fn(&mut D) -> Option<u64>,
) -> Measured {
    // Real code holds a deque in a struct: no field may stay in a register permanently.
    let deque = black_box(deque);
    (0..depth).for_each(|value| push(deque, value));
    let watch = Stopwatch::start(Clock::Thread);
    for value in 0..ops {
        push(deque, black_box(value));
        black_box(pop(deque));
    }
    let span = watch.stop();
    assert_eq!(
        pop(deque),
        depth.checked_sub(1),
        "the values below are still in the deque"
    );
    Measured::new(ops, span)
}
