//! The model of a register that holds one value.

use std::fmt::Debug;
use std::hash::Hash;

use crate::history::model::Sequential;

/// An operation of a [`Register`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op<V> {
    /// Returns the value, as [`Ret::Value`].
    Read,
    /// Replaces the value, and returns [`Ret::Written`].
    Write(V),
    /// Replaces the value if it is the expected one. Returns [`Ret::Swapped`].
    CompareAndSwap {
        /// The expected value.
        expected: V,
        /// The value that replaces the expected value.
        new: V,
    },
}

/// The result of an operation of a [`Register`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ret<V> {
    /// The value that was read.
    Value(V),
    /// The value was written.
    Written,
    /// True if the value was the expected one, and was replaced.
    Swapped(bool),
}

/// The model of a register that holds one value.
///
/// # Examples
///
/// A read that returns an old value after a newer one was written:
/// ```
/// use garrick_sim::history::History;
/// use garrick_sim::history::models::register::{Op, Register, Ret};
///
/// let mut history = History::new();
/// let write = history.invoke(1, Op::Write(5));
/// history.complete(write, Ret::Written);
/// let read = history.invoke(2, Op::Read);
/// history.complete(read, Ret::Value(0));
/// assert!(history.check(&Register::new(0)).is_not_linearizable());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Register<V> {
    initial: V,
}

impl<V> Register<V> {
    /// Returns a register with the given value.
    pub fn new(initial: V) -> Self {
        Self { initial }
    }
}

impl<V: Clone + Eq + Hash + Debug> Sequential for Register<V> {
    type State = V;
    type Op = Op<V>;
    type Ret = Ret<V>;
    type Key = ();

    fn init(&self) -> V {
        self.initial.clone()
    }

    fn apply(&self, value: &mut V, op: &Op<V>) -> Ret<V> {
        match op {
            Op::Read => Ret::Value(value.clone()),
            Op::Write(new) => {
                value.clone_from(new);
                Ret::Written
            }
            Op::CompareAndSwap { expected, new } => {
                let is_expected = value == expected;
                if is_expected {
                    value.clone_from(new);
                }
                Ret::Swapped(is_expected)
            }
        }
    }
}
