//! Tests of the explanations for histories that are not linearizable.

use super::script::Script;
use crate::history::models::register::{Op, Register, Ret};
use crate::history::{Explanation, History, Verdict};

fn explain(script: &Script<Register<u64>>) -> Explanation {
    match script.check() {
        Verdict::NotLinearizable(explanation) => explanation,
        verdict => panic!("{verdict}"),
    }
}

#[test]
fn an_explanation_shows_what_overlaps() {
    let mut script = Script::new(Register::new(0));
    script.alone(Op::Write(1), Ret::Written);
    script.pending(Op::Write(4));
    let write = script.pending(Op::Write(2));
    script.alone(Op::Read, Ret::Value(2));
    let read = script.pending(Op::Read);
    script.history.complete(write, Ret::Written);
    script.history.complete(read, Ret::Value(1));
    script.alone(Op::Write(5), Ret::Written);
    let expected = "\
The history is not linearizable. No order allows this operation of client 5:
    Read -> Value(1)
After the longest prefix in order (3 operations), the state is
    2
There, the operation would have to return
    Value(2)
Time goes from left to right:
    client 1  [-]                  Write(1) -> Written  (place 1)
    client 2      [------------->  Write(4) (pending)
    client 3        [-------]      Write(2) -> Written  (place 2)
    client 4          [-]          Read -> Value(2)  (place 3)
    client 5              [---]    Read -> Value(1)  (cannot be placed)
";
    let explanation = explain(&script);
    assert_eq!(explanation.to_string(), expected);
    assert_eq!(explanation.operation(), read);
    assert_eq!(explanation.prefix().len(), 3);
    assert_eq!(
        (explanation.state(), explanation.answer()),
        ("2", Some("Value(2)"))
    );
    assert_eq!(explanation.part(), None);
}

#[test]
fn an_operation_may_have_the_right_result_too_late() {
    let mut script = Script::new(Register::new(0));
    let one = script.pending(Op::Write(1));
    let two = script.pending(Op::Write(2));
    script.alone(Op::Read, Ret::Value(1));
    script.alone(Op::Read, Ret::Value(2));
    script.history.complete(one, Ret::Written);
    script.history.complete(two, Ret::Written);
    let read = script.alone(Op::Read, Ret::Value(1));
    assert_eq!(explain(&script).operation(), read);
}

#[test]
fn a_prefix_contains_overlapping_operations_if_it_can() {
    let mut script = Script::new(Register::new(0));
    script.together([(Op::Read, Ret::Value(2)), (Op::Write(1), Ret::Written)]);
    let explanation = explain(&script);
    assert_eq!((explanation.prefix().len(), explanation.state()), (1, "1"));
}

#[test]
fn explanations_of_long_histories_are_short() {
    let mut script = Script::new(Register::new(0));
    for n in 0..1000 {
        script.pending(Op::Read);
        script.alone(Op::Write(n), Ret::Written);
    }
    script.alone(Op::Read, Ret::Value(5000));
    let explanation = explain(&script);
    assert_eq!(explanation.prefix().len(), 1000);
    assert_eq!(explanation.timeline().lines().count(), 12);
    assert!(explanation.to_string().len() < 2000, "{explanation}");
}

#[test]
fn long_values_are_shortened() {
    let mut history = History::new();
    let call = history.invoke(1, Op::Write("x".repeat(1000)));
    history.complete(call, Ret::Swapped(true));
    let verdict = history.check(&Register::new("y".repeat(1000)));
    let text = verdict.to_string();
    assert!(text.len() < 1500, "{text}");
    assert!(text.contains("yyyyy.."), "{text}");
}

#[test]
#[should_panic(expected = "The history is not linearizable.")]
fn the_panic_of_an_expected_order_explains() {
    let mut script = Script::new(Register::new(0));
    script.alone(Op::Read, Ret::Value(1));
    let _ = script.check().expect_order();
}
