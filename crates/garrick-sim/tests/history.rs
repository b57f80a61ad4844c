//! Tests of the check that histories are linearizable.

use std::collections::BTreeSet;

use garrick_sim::history::{
    Bank, BankOp, BankRet, Counter, CounterOp, History, Model, Queue, QueueOp, Register,
    RegisterOp, Set, SetOp, Verdict, check,
};
use garrick_sim::search::Rng;
use proptest::prelude::*;

fn is_linearizable<M: Model>(model: &M, history: &History<M::Op, M::Ret>) -> bool {
    match check(model, history) {
        Verdict::Linearizable(_) => true,
        Verdict::NotLinearizable(_) => false,
        Verdict::Unknown { explored } => panic!("gave up after {explored} configurations"),
    }
}

/// Creates a history of calls without concurrency.
fn sequence<Op, Ret>(calls: impl IntoIterator<Item = (Op, Ret)>) -> History<Op, Ret> {
    let mut history = History::new();
    for (op, ret) in calls {
        let call = history.call(op);
        history.complete(call, ret);
    }
    history
}

#[test]
fn a_stale_read_is_found() {
    let (read, write) = (RegisterOp::Read, RegisterOp::Write);
    let good = sequence([(write(1), None), (read.clone(), Some(1))]);
    assert!(is_linearizable(&Register(0), &good));
    let bad = sequence([(write(1), None), (read, Some(0))]);
    let Verdict::NotLinearizable(why) = check(&Register(0), &bad) else {
        panic!("the read is stale");
    };
    assert_eq!(why.prefix, [0]);
    let text = why.to_string();
    assert!(text.contains("leads to the state 1"), "{text}");
    assert!(text.contains("1: Read = Some(0)"), "{text}");
}

#[test]
fn concurrent_operations_may_come_in_any_order() {
    for seen in [0, 1, 2] {
        let mut history = History::new();
        let writes = [1, 2].map(|value| history.call(RegisterOp::Write(value)));
        let read = history.call(RegisterOp::Read);
        for write in writes {
            history.complete(write, None);
        }
        history.complete(read, Some(seen));
        assert!(is_linearizable(&Register(0), &history), "{seen}");
    }
}

#[test]
fn reads_do_not_go_back() {
    let mut history = History::new();
    let write = history.call(RegisterOp::Write(1));
    for seen in [1, 0] {
        let read = history.call(RegisterOp::Read);
        history.complete(read, Some(seen));
    }
    history.complete(write, None);
    assert!(!is_linearizable(&Register(0), &history));
}

#[test]
fn a_call_without_a_return_may_have_had_an_effect_or_not() {
    for seen in [0, 1] {
        let mut history = History::new();
        history.call(RegisterOp::Write(1));
        let read = history.call(RegisterOp::Read);
        history.complete(read, Some(seen));
        assert!(is_linearizable(&Register(0), &history), "{seen}");
    }
    // A call that has failed has had no effect.
    let mut history = History::new();
    let write = history.call(RegisterOp::Write(1));
    history.fail(write);
    let read = history.call(RegisterOp::Read);
    history.complete(read, Some(1));
    assert!(!is_linearizable(&Register(0), &history));
}

#[test]
fn a_lost_update_is_found() {
    let add = |after| (CounterOp::Add(1), Some(after));
    assert!(is_linearizable(
        &Counter,
        &sequence([add(1), add(2), (CounterOp::Read, Some(2))])
    ));
    assert!(!is_linearizable(&Counter, &sequence([add(1), add(1)])));
}

#[test]
fn swaps_exclude_each_other() {
    let swap = |new| RegisterOp::CompareAndSwap(0, new);
    let mut history = History::new();
    let [one, other] = [1, 2].map(|new| history.call(swap(new)));
    history.complete(one, Some(0));
    history.complete(other, Some(0));
    assert!(!is_linearizable(&Register(0), &history));
}

#[test]
fn an_element_is_taken_once_and_in_order() {
    let (put, take) = (QueueOp::Enqueue, QueueOp::Dequeue);
    let puts = [(put(1), None), (put(2), None)];
    let taken = |values: [Option<i32>; 2]| values.map(|value| (take.clone(), value));
    let of = |values| sequence(puts.clone().into_iter().chain(taken(values)));
    assert!(is_linearizable(&Queue::new(), &of([Some(1), Some(2)])));
    assert!(!is_linearizable(&Queue::new(), &of([Some(1), Some(1)])));
    assert!(!is_linearizable(&Queue::new(), &of([Some(2), Some(1)])));
    assert!(!is_linearizable(&Queue::new(), &of([None, Some(1)])));
}

#[test]
fn elements_are_inserted_and_removed_once() {
    let calls = |second| {
        [
            (SetOp::Insert(7), false),
            (SetOp::Remove(7), true),
            (SetOp::Remove(7), second),
        ]
    };
    assert!(is_linearizable(&Set::new(), &sequence(calls(false))));
    assert!(!is_linearizable(&Set::new(), &sequence(calls(true))));
}

#[test]
fn money_is_neither_made_nor_lost() {
    let bank = Bank {
        accounts: 2,
        amount: 10,
    };
    let transfer = BankOp::Transfer {
        from: 0,
        to: 1,
        amount: 7,
    };
    let calls = |balance, total| {
        sequence([
            (transfer, BankRet::Transferred(true)),
            (transfer, BankRet::Transferred(false)),
            (BankOp::Balance(1), BankRet::Amount(balance)),
            (BankOp::Total, BankRet::Amount(total)),
        ])
    };
    assert!(is_linearizable(&bank, &calls(17, 20)));
    assert!(!is_linearizable(&bank, &calls(10, 20)));
    assert!(!is_linearizable(&bank, &calls(17, 13)));
}

#[test]
#[should_panic(expected = "call 0 has already ended")]
fn a_call_ends_once() {
    let mut history = History::new();
    let call = history.call(CounterOp::Read);
    history.complete(call, Some(0));
    history.fail(call);
}

/// Many registers, with or without parts.
struct Registers {
    has_parts: bool,
}

impl Model for Registers {
    type State = std::collections::BTreeMap<u8, u8>;
    /// A register, and the value to write if there is one.
    type Op = (u8, Option<u8>);
    type Ret = u8;

    fn init(&self) -> Self::State {
        Self::State::new()
    }

    fn step(&self, state: &Self::State, op: &Self::Op, ret: Option<&u8>) -> Option<Self::State> {
        let before = state.get(&op.0).copied().unwrap_or(0);
        let mut after = state.clone();
        if let (register, Some(value)) = *op {
            after.insert(register, value);
        }
        ret.is_none_or(|ret| *ret == before).then_some(after)
    }

    fn part(&self, op: &Self::Op) -> u64 {
        if self.has_parts { op.0.into() } else { 0 }
    }
}

/// Calls of some clients of registers, in random order. With `correct`, the results are those of an
/// order that exists.
fn registers(seed: u64, calls: usize, correct: bool) -> History<(u8, Option<u8>), u8> {
    let mut rng = Rng::new(seed);
    let mut history = History::new();
    let mut state = std::collections::BTreeMap::new();
    // For each client, its call, the operation, and the result once the operation has happened.
    let mut clients = [None; 3];
    let mut made = 0;
    while made < calls || clients.iter().any(Option::is_some) {
        let client = rng.below(clients.len());
        match clients[client] {
            None if made < calls => {
                made += 1;
                let value = (rng.below(2) == 0).then(|| rng.below(3) as u8);
                let op = (rng.below(2) as u8, value);
                clients[client] = Some((history.call(op), op, None));
            }
            None => {}
            Some((call, op, None)) => {
                let before = state.get(&op.0).copied().unwrap_or(0);
                if let Some(value) = op.1 {
                    state.insert(op.0, value);
                }
                let result = if correct { before } else { rng.below(3) as u8 };
                clients[client] = Some((call, op, Some(result)));
            }
            Some((call, _, Some(result))) => {
                history.complete(call, result);
                clients[client] = None;
            }
        }
    }
    history
}

/// A call: operation, result, time of the call and of the return.
type Timed = ((u8, Option<u8>), u8, usize, usize);

/// Tries all orders of the calls.
fn by_force(model: &Registers, calls: &[Timed]) -> bool {
    fn place(
        model: &Registers,
        calls: &[Timed],
        placed: &mut BTreeSet<usize>,
        state: &<Registers as Model>::State,
    ) -> bool {
        if placed.len() == calls.len() {
            return true;
        }
        for (at, (op, ret, called, _)) in calls.iter().enumerate() {
            let waits = calls
                .iter()
                .enumerate()
                .any(|(other, call)| !placed.contains(&other) && other != at && call.3 < *called);
            if waits || placed.contains(&at) {
                continue;
            }
            if let Some(after) = model.step(state, op, Some(ret)) {
                placed.insert(at);
                if place(model, calls, placed, &after) {
                    return true;
                }
                placed.remove(&at);
            }
        }
        false
    }
    place(model, calls, &mut BTreeSet::new(), &model.init())
}

proptest! {
    #[test]
    fn histories_of_a_right_object_are_linearizable(seed: u64) {
        let history = registers(seed, 60, true);
        let verdict = is_linearizable(&Registers { has_parts: true }, &history);
        prop_assert!(verdict);
    }

    #[test]
    fn parts_do_not_change_the_verdict(seed: u64) {
        let history = registers(seed, 8, false);
        let whole = is_linearizable(&Registers { has_parts: false }, &history);
        prop_assert_eq!(is_linearizable(&Registers { has_parts: true }, &history), whole);
    }

    #[test]
    fn the_search_agrees_with_all_orders(seed: u64, results in prop::collection::vec(0..3_u8, 6)) {
        let mut rng = Rng::new(seed);
        let mut history = History::new();
        let (mut open, mut calls, mut time) = (Vec::new(), Vec::new(), 0);
        for &result in &results {
            let value = (rng.below(2) == 0).then(|| rng.below(3) as u8);
            let op = (rng.below(2) as u8, value);
            time += 1;
            open.push((history.call(op), calls.len()));
            calls.push((op, result, time, usize::MAX));
            while open.len() > rng.below(4) {
                let (call, at) = open.swap_remove(rng.below(open.len()));
                time += 1;
                history.complete(call, calls[at].1);
                calls[at].3 = time;
            }
        }
        for (call, at) in open {
            time += 1;
            history.complete(call, calls[at].1);
            calls[at].3 = time;
        }
        let model = Registers { has_parts: true };
        prop_assert_eq!(is_linearizable(&model, &history), by_force(&model, &calls));
    }
}

#[test]
fn a_long_history_is_checked() {
    let history = registers(1, 5000, true);
    assert!(is_linearizable(&Registers { has_parts: false }, &history));
}
