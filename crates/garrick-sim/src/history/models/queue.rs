//! The model of a queue: elements leave in the order in which they entered.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use crate::history::model::Sequential;

/// An operation of a [`Queue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op<V> {
    /// Appends an element, and returns [`Ret::Enqueued`].
    Enqueue(V),
    /// Removes the oldest element. Returns [`Ret::Dequeued`].
    Dequeue,
}

/// The result of an operation of a [`Queue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ret<V> {
    /// The element was appended.
    Enqueued,
    /// The oldest element, or `None` if the queue was empty.
    Dequeued(Option<V>),
}

/// The model of a queue that is empty at first, and is never full.
///
/// The order of two overlapping [`Op::Enqueue`] operations shows only when their elements leave the
/// queue.
/// Until then, the check must try both orders. So check histories in which the queue stays short,
/// and in which few operations are pending. Otherwise, the check often reaches its limit.
///
/// # Examples
///
/// Two clients cannot both take the same element:
/// ```
/// use garrick_sim::history::History;
/// use garrick_sim::history::models::queue::{Op, Queue, Ret};
///
/// let mut history = History::new();
/// let enqueue = history.invoke(1, Op::Enqueue('a'));
/// let (one, two) = (history.invoke(2, Op::Dequeue), history.invoke(3, Op::Dequeue));
/// history.complete(enqueue, Ret::Enqueued);
/// history.complete(one, Ret::Dequeued(Some('a')));
/// history.complete(two, Ret::Dequeued(Some('a')));
/// assert!(history.check(&Queue::new()).is_not_linearizable());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Queue<V>(PhantomData<V>);

impl<V> Queue<V> {
    /// Returns the model of a queue that is empty at first.
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<V> Default for Queue<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Clone + Eq + Hash + Debug> Sequential for Queue<V> {
    type State = VecDeque<V>;
    type Op = Op<V>;
    type Ret = Ret<V>;
    type Key = ();

    fn init(&self) -> VecDeque<V> {
        VecDeque::new()
    }

    fn apply(&self, queue: &mut VecDeque<V>, op: &Op<V>) -> Ret<V> {
        match op {
            Op::Enqueue(element) => {
                queue.push_back(element.clone());
                Ret::Enqueued
            }
            Op::Dequeue => Ret::Dequeued(queue.pop_front()),
        }
    }
}
