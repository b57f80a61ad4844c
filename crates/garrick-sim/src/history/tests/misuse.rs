//! Tests of mistakes in the recording of a history.

use crate::history::record::{History, Outcome};

#[test]
fn times_count_the_events() {
    let mut history = History::new();
    let (one, two) = (history.invoke(7, 'a'), history.invoke(8, 'b'));
    history.complete(two, 2);
    history.fail(one);
    let three = history.invoke(7, 'c');
    let times = history.operations().iter().map(|o| (o.invoked, o.ended()));
    assert_eq!(
        times.collect::<Vec<_>>(),
        [(0, Some(3)), (1, Some(2)), (4, None)]
    );
    let outcome = |call| history.operation(call).map(|o| o.outcome.clone());
    assert_eq!(outcome(one), Some(Outcome::Failed { time: 3 }));
    assert_eq!(outcome(two), Some(Outcome::Returned { time: 2, ret: 2 }));
    assert_eq!(outcome(three), Some(Outcome::Pending));
    assert_eq!(History::<char, u8>::new().operation(one), None);
}

#[test]
#[should_panic(expected = "an operation ends once: call 0 has ended")]
fn an_operation_is_completed_once() {
    let mut history = History::new();
    let call = history.invoke(1, 'a');
    history.complete(call, ());
    history.complete(call, ());
}

#[test]
#[should_panic(expected = "an operation ends once: call 0 has ended")]
fn a_completed_operation_does_not_fail() {
    let mut history = History::new();
    let call = history.invoke(1, 'a');
    history.complete(call, ());
    history.fail(call);
}

#[test]
#[should_panic(expected = "a call ends in the history that has recorded it: call 1 of 1 calls")]
fn a_call_belongs_to_its_history() {
    let mut other = History::<_, ()>::new();
    other.invoke(1, 'a');
    let call = other.invoke(1, 'b');
    let mut history = History::new();
    history.invoke(1, 'a');
    history.complete(call, ());
}
