//! Tests of pending operations, which may have had an effect, and of failed operations, which had
//! none.

use super::script::Script;
use crate::history::models::counter::{self, Counter};
use crate::history::models::register::{Op, Register, Ret};
use crate::history::{Checker, Verdict};

fn script() -> Script<Register<u8>> {
    Script::new(Register::new(0))
}

#[test]
fn a_pending_write_may_have_had_an_effect() {
    let mut script = script();
    let write = script.pending(Op::Write(1));
    let read = script.alone(Op::Read, Ret::Value(1));
    let order = script.check().expect_order();
    assert_eq!(order, [write, read]);
}

#[test]
fn a_pending_write_may_have_had_no_effect() {
    let mut script = script();
    script.pending(Op::Write(1));
    let read = script.alone(Op::Read, Ret::Value(0));
    let order = script.check().expect_order();
    assert_eq!(order, [read]);
}

#[test]
fn a_pending_write_may_take_effect_late() {
    let mut script = script();
    let write = script.pending(Op::Write(1));
    let early = script.alone(Op::Read, Ret::Value(0));
    let late = script.alone(Op::Read, Ret::Value(1));
    let order = script.check().expect_order();
    assert_eq!(order, [early, write, late]);
}

#[test]
fn a_pending_write_takes_effect_once() {
    let mut script = script();
    script.pending(Op::Write(1));
    script.alone(Op::Read, Ret::Value(1));
    script.alone(Op::Write(2), Ret::Written);
    let read = script.alone(Op::Read, Ret::Value(1));
    script.rejected_at(read);
}

#[test]
fn a_pending_write_has_no_effect_before_its_invocation() {
    let mut script = script();
    let read = script.alone(Op::Read, Ret::Value(1));
    script.pending(Op::Write(1));
    script.rejected_at(read);
}

#[test]
fn a_failed_write_has_no_effect() {
    let mut script = script();
    script.failed(Op::Write(1));
    script.alone(Op::Read, Ret::Value(0));
    script.accepted();
    let read = script.alone(Op::Read, Ret::Value(1));
    script.rejected_at(read);
}

#[test]
fn histories_without_any_return_are_linearizable() {
    let mut script = script();
    script.accepted();
    script.pending(Op::Write(1));
    script.failed(Op::Read);
    script.accepted();
}

#[test]
fn equal_pending_operations_are_not_tried_in_all_orders() {
    let mut script = Script::new(Counter);
    for _ in 0..200 {
        script.pending(counter::Op::Add(1));
    }
    let read = script.alone(counter::Op::Read, counter::Ret::Value(201));
    script.rejected_at(read);
    let mut script = Script::new(Counter);
    for _ in 0..200 {
        script.pending(counter::Op::Add(1));
    }
    script.alone(counter::Op::Read, counter::Ret::Value(200));
    script.accepted();
}

#[test]
fn most_sets_of_pending_writes_are_not_tried() {
    let mut script = script();
    for value in 1..=100 {
        script.pending(Op::Write(value));
        script.alone(Op::Read, Ret::Value(0));
    }
    script.alone(Op::Read, Ret::Value(50));
    script.alone(Op::Read, Ret::Value(70));
    script.accepted();
    let read = script.alone(Op::Read, Ret::Value(50));
    let model = Register::new(0);
    let checker = Checker::new(&model).configurations_max(50_000);
    let verdict = checker.check(&script.history);
    let Verdict::NotLinearizable(explanation) = verdict else {
        panic!("{verdict}");
    };
    assert_eq!(explanation.operation(), read);
}
