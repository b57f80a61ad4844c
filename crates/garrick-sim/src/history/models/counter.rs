//! The model of a number to which clients add.

use crate::history::model::Sequential;

/// An operation of a [`Counter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Adds to the number, and returns [`Ret::Added`].
    Add(i64),
    /// Returns the number, as [`Ret::Value`].
    Read,
}

/// The result of an operation of a [`Counter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ret {
    /// The number was changed.
    Added,
    /// The number that was read.
    Value(i64),
}

/// The model of a counter that begins with 0. Beyond the limits of `i64`, the counter wraps around.
///
/// # Examples
///
/// One of two additions is lost:
/// ```
/// use garrick_sim::history::History;
/// use garrick_sim::history::models::counter::{Counter, Op, Ret};
///
/// let mut history = History::new();
/// let (one, two) = (history.invoke(1, Op::Add(1)), history.invoke(2, Op::Add(1)));
/// history.complete(one, Ret::Added);
/// history.complete(two, Ret::Added);
/// let read = history.invoke(1, Op::Read);
/// history.complete(read, Ret::Value(1));
/// assert!(history.check(&Counter).is_not_linearizable());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter;

impl Sequential for Counter {
    type State = i64;
    type Op = Op;
    type Ret = Ret;
    type Key = ();

    fn init(&self) -> i64 {
        0
    }

    fn apply(&self, count: &mut i64, op: &Op) -> Ret {
        match op {
            Op::Add(amount) => {
                *count = count.wrapping_add(*amount);
                Ret::Added
            }
            Op::Read => Ret::Value(*count),
        }
    }
}
