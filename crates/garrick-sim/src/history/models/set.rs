//! The model of a set of elements.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use crate::history::model::Sequential;

/// An operation of a [`Set`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op<V> {
    /// Inserts an element. Returns true if the set did not contain the element before.
    Insert(V),
    /// Removes an element. Returns true if the set contained the element.
    Remove(V),
    /// Returns true if the set contains the element.
    Contains(V),
}

impl<V> Op<V> {
    fn element(&self) -> &V {
        match self {
            Op::Insert(element) | Op::Remove(element) | Op::Contains(element) => element,
        }
    }
}

/// The model of a set that is empty at first. Each element is checked separately.
///
/// # Examples
///
/// Two clients cannot both insert the same element:
/// ```
/// use garrick_sim::history::History;
/// use garrick_sim::history::models::set::{Op, Set};
///
/// let mut history = History::new();
/// let (one, two) = (history.invoke(1, Op::Insert('a')), history.invoke(2, Op::Insert('a')));
/// history.complete(one, true);
/// history.complete(two, true);
/// assert!(history.check(&Set::new()).is_not_linearizable());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Set<V>(PhantomData<V>);

impl<V> Set<V> {
    /// Returns the model of a set that is empty at first.
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<V> Default for Set<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Clone + Ord + Hash + Debug> Sequential for Set<V> {
    type State = BTreeSet<V>;
    type Op = Op<V>;
    type Ret = bool;
    type Key = V;

    fn init(&self) -> BTreeSet<V> {
        BTreeSet::new()
    }

    fn apply(&self, set: &mut BTreeSet<V>, op: &Op<V>) -> bool {
        match op {
            Op::Insert(element) => set.insert(element.clone()),
            Op::Remove(element) => set.remove(element),
            Op::Contains(element) => set.contains(element),
        }
    }

    fn key(&self, op: &Op<V>) -> Option<V> {
        Some(op.element().clone())
    }
}
