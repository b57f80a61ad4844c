//! The model of a map from keys to values.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use crate::history::model::Sequential;

/// An operation of a [`KeyValue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op<K, V> {
    /// Returns the value of a key, as [`Ret::Value`].
    Get(K),
    /// Sets the value of a key, and returns [`Ret::Done`].
    Put(K, V),
    /// Removes a key and its value, and returns [`Ret::Done`].
    Delete(K),
    /// Sets the value of a key if the present value is the expected one. Returns [`Ret::Swapped`].
    CompareAndSwap {
        /// The key.
        key: K,
        /// The expected value, or `None` if the key must have no value.
        expected: Option<V>,
        /// The value that replaces the expected value.
        new: V,
    },
}

impl<K, V> Op<K, V> {
    fn key(&self) -> &K {
        match self {
            Op::Get(key) | Op::Put(key, _) | Op::Delete(key) => key,
            Op::CompareAndSwap { key, .. } => key,
        }
    }
}

/// The result of an operation of a [`KeyValue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ret<V> {
    /// The value that was read, or `None` if the key has no value.
    Value(Option<V>),
    /// The value was set or removed.
    Done,
    /// True if the value was the expected one, and was replaced.
    Swapped(bool),
}

/// The model of an initially empty map from keys to values. Each key is checked separately.
///
/// # Examples
/// ```
/// use garrick_sim::history::History;
/// use garrick_sim::history::models::key_value::{KeyValue, Op, Ret};
///
/// let mut history = History::new();
/// let put = history.invoke(1, Op::Put("a", 5));
/// let get = history.invoke(2, Op::Get("b"));
/// history.complete(get, Ret::Value(None));
/// history.complete(put, Ret::Done);
/// assert!(history.check(&KeyValue::new()).is_linearizable());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct KeyValue<K, V>(PhantomData<(K, V)>);

impl<K, V> KeyValue<K, V> {
    /// Returns the model of a map that is empty at first.
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K, V> Default for KeyValue<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Sequential for KeyValue<K, V>
where
    K: Clone + Ord + Hash + Debug,
    V: Clone + Eq + Hash + Debug,
{
    type State = BTreeMap<K, V>;
    type Op = Op<K, V>;
    type Ret = Ret<V>;
    type Key = K;

    fn init(&self) -> BTreeMap<K, V> {
        BTreeMap::new()
    }

    fn apply(&self, map: &mut BTreeMap<K, V>, op: &Op<K, V>) -> Ret<V> {
        match op {
            Op::Get(key) => return Ret::Value(map.get(key).cloned()),
            Op::Put(key, value) => map.insert(key.clone(), value.clone()),
            Op::Delete(key) => map.remove(key),
            Op::CompareAndSwap { key, expected, new } => {
                let is_expected = map.get(key) == expected.as_ref();
                if is_expected {
                    map.insert(key.clone(), new.clone());
                }
                return Ret::Swapped(is_expected);
            }
        };
        Ret::Done
    }

    fn key(&self, op: &Op<K, V>) -> Option<K> {
        Some(op.key().clone())
    }
}
