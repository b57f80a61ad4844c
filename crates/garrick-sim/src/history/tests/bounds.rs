//! Tests of the number of configurations (states of the search) that a check visits.

use super::execution::Execution;
use super::oracle;
use super::sample::Sample;
use super::script::Script;
use crate::history::models::bank::Bank;
use crate::history::models::counter::{self, Counter};
use crate::history::models::key_value::{self, KeyValue};
use crate::history::models::queue::Queue;
use crate::history::models::register::Register;
use crate::history::models::set::Set;
use crate::history::{Checker, Verdict};

const OPERATIONS: usize = 10_000;

/// Checks a long history in which few operations overlap. The search must succeed after at most
/// `configurations_max` configurations (states of the search). So the search seldom takes an
/// operation back.
fn check_long<M: Sample>(crash_every: u64, configurations_max: usize) {
    let execution = Execution {
        clients: 4,
        operations: OPERATIONS,
        crash_every,
    };
    let history = execution.run::<M>(1);
    let model = M::model();
    let checker = Checker::new(&model).configurations_max(configurations_max);
    let order = checker.check(&history).expect_order();
    oracle::assert_prefix(&model, &history, &order);
}

#[test]
fn long_histories_take_few_configurations() {
    for crash_every in [0, 200] {
        check_long::<Register<u8>>(crash_every, 2 * OPERATIONS);
        check_long::<Counter>(crash_every, 2 * OPERATIONS);
        check_long::<Set<u8>>(crash_every, 2 * OPERATIONS);
        check_long::<Bank>(crash_every, 2 * OPERATIONS);
        check_long::<KeyValue<u8, u8>>(crash_every, 2 * OPERATIONS);
        check_long::<Queue<u8>>(crash_every, 20 * OPERATIONS);
    }
}

/// Many additions at the same time, followed by a read that returns a wrong sum.
fn too_much() -> Script<Counter> {
    let mut script = Script::new(Counter);
    let add = |n: i64| (counter::Op::Add(1 << n), counter::Ret::Added);
    script.together([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(add));
    script.alone(counter::Op::Read, counter::Ret::Value(-1));
    script
}

#[test]
fn a_check_enters_each_configuration_once() {
    // Each set of additions has one state.
    let checker = Checker::new(&Counter).configurations_max(1 << 10);
    let verdict = checker.check(&too_much().history);
    assert!(verdict.is_not_linearizable(), "{verdict}");
}

#[test]
fn a_check_ends_at_its_limit() {
    for limit in [0, 1, 100, 1 << 9] {
        let checker = Checker::new(&Counter).configurations_max(limit);
        let verdict = checker.check(&too_much().history);
        assert_eq!(verdict, Verdict::Unknown { explored: limit });
        let text = format!("The check has reached its limit, after {limit} configurations.\n");
        assert_eq!(verdict.to_string(), text);
        assert!(!verdict.is_linearizable() && !verdict.is_not_linearizable());
    }
}

#[test]
fn the_limit_holds_for_all_parts_together() {
    let execution = Execution {
        clients: 3,
        operations: 300,
        crash_every: 0,
    };
    let history = execution.run::<KeyValue<u8, u8>>(1);
    let model = KeyValue::new();
    let checker = Checker::new(&model).configurations_max(250);
    assert_eq!(checker.check(&history), Verdict::Unknown { explored: 250 });
}

#[test]
fn small_parts_are_checked_before_the_limit_is_reached() {
    use key_value::{Op, Ret};
    let mut script = Script::new(KeyValue::new());
    let put = |value: u8| (Op::Put('a', value), Ret::Done);
    script.together([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(put));
    script.alone(Op::Get('a'), Ret::Value(None));
    script.alone(Op::Get('b'), Ret::Value(Some(1)));
    let model = KeyValue::new();
    let verdict = Checker::new(&model)
        .configurations_max(10)
        .check(&script.history);
    assert!(verdict.is_not_linearizable(), "{verdict}");
}

#[test]
fn pending_operations_do_not_exceed_the_limit() {
    let mut script = Script::new(Counter);
    for n in 0..30 {
        script.pending(counter::Op::Add(1 << n));
    }
    script.alone(counter::Op::Read, counter::Ret::Value(-1));
    for limit in [1, 20, 100] {
        let checker = Checker::new(&Counter).configurations_max(limit);
        let verdict = checker.check(&script.history);
        assert_eq!(verdict, Verdict::Unknown { explored: limit });
    }
}
