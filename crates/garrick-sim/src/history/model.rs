//! The sequential specification of an object: its states, and the results of its operations.

use std::fmt::Debug;
use std::hash::Hash;

/// Specifies an object whose operations happen one at a time.
///
/// A model may be nondeterministic: an operation may lead to several states. If the result of an
/// operation follows from the state, implement [`Sequential`] instead, which is simpler.
///
/// # Examples
///
/// A bag from which clients take an arbitrary element:
/// ```
/// use std::collections::BTreeSet;
/// use garrick_sim::history::{History, Model};
///
/// #[derive(Clone, Debug, PartialEq)]
/// enum Op { Put(u8), Take }
///
/// struct Bag;
///
/// impl Model for Bag {
///     type State = BTreeSet<u8>;
///     type Op = Op;
///     type Ret = Option<u8>;
///     type Key = ();
///
///     fn init(&self) -> BTreeSet<u8> {
///         BTreeSet::new()
///     }
///
///     fn step(
///         &self,
///         bag: &BTreeSet<u8>,
///         op: &Op,
///         ret: Option<&Option<u8>>,
///     ) -> impl IntoIterator<Item = BTreeSet<u8>> {
///         let without = |taken: &u8| bag.iter().filter(|e| *e != taken).copied().collect();
///         match (op, ret) {
///             (Op::Put(element), _) => vec![bag.iter().chain([element]).copied().collect()],
///             (Op::Take, Some(Some(taken))) if bag.contains(taken) => vec![without(taken)],
///             (Op::Take, Some(Some(_))) => vec![],
///             (Op::Take, Some(None)) => Vec::from_iter(bag.is_empty().then(BTreeSet::new)),
///             (Op::Take, None) => bag.iter().map(without).collect(),
///         }
///     }
/// }
///
/// let mut history = History::new();
/// for element in [1, 2] {
///     let call = history.invoke(1, Op::Put(element));
///     history.complete(call, None);
/// }
/// let call = history.invoke(2, Op::Take);
/// history.complete(call, Some(2));
/// assert!(history.check(&Bag).is_linearizable());
/// ```
pub trait Model {
    /// A state of the object. Equal states must behave the same in the future.
    type State: Clone + Eq + Hash + Debug;
    /// An operation with its arguments. Equal operations must have the same effects.
    type Op: Clone + Debug + PartialEq;
    /// The value that an operation returns.
    type Ret: Clone + Debug + PartialEq;
    /// The name of a part of the object, see [`key`](Self::key). Use `()` if there are no parts.
    type Key: Ord + Debug;

    /// Returns the initial state of the object.
    fn init(&self) -> Self::State;

    /// Returns the states to which the operation can lead if it returns `ret`. Returns no states if
    /// the operation cannot return `ret` in this state. If `ret` is `None`, the operation never
    /// returned, so its result may be anything. The order of the states must not differ from call
    /// to call.
    fn step(
        &self,
        state: &Self::State,
        op: &Self::Op,
        ret: Option<&Self::Ret>,
    ) -> impl IntoIterator<Item = Self::State>;

    /// Returns the part of the object to which the operation belongs, or `None` if the operation
    /// may concern several parts.
    ///
    /// Parts must be independent: the effect and the result of an operation depend only on earlier
    /// operations of its part. Then a history is linearizable if and only if the operations of each
    /// part are linearizable. Checking one part after another is much faster than checking the
    /// whole history. If an operation of the history has no key, the history is checked as a whole.
    ///
    /// Each part begins in the state [`init`](Self::init).
    fn key(&self, op: &Self::Op) -> Option<Self::Key> {
        let _ = op;
        None
    }

    /// Returns the value that the operation would return in this state, if only one value is
    /// possible. Used only in explanations.
    fn answer(&self, state: &Self::State, op: &Self::Op) -> Option<Self::Ret> {
        let _ = (state, op);
        None
    }
}

/// Specifies an object whose operations happen one at a time, and whose results follow from the
/// earlier operations. A type that implements `Sequential` also implements [`Model`].
///
/// # Examples
///
/// A ticket machine:
/// ```
/// use garrick_sim::history::{History, Sequential};
///
/// struct Tickets;
///
/// impl Sequential for Tickets {
///     type State = u64;
///     type Op = ();
///     type Ret = u64;
///     type Key = ();
///
///     fn init(&self) -> u64 {
///         1
///     }
///
///     fn apply(&self, next: &mut u64, _: &()) -> u64 {
///         *next += 1;
///         *next - 1
///     }
/// }
///
/// let mut history = History::new();
/// let (first, second) = (history.invoke(1, ()), history.invoke(2, ()));
/// history.complete(first, 2);
/// history.complete(second, 1);
/// assert!(history.check(&Tickets).is_linearizable());
/// ```
pub trait Sequential {
    /// A state of the object. Equal states must behave the same in the future.
    type State: Clone + Eq + Hash + Debug;
    /// An operation with its arguments. Equal operations must have the same effects.
    type Op: Clone + Debug + PartialEq;
    /// The value that an operation returns.
    type Ret: Clone + Debug + PartialEq;
    /// The name of a part of the object, see [`Model::key`]. Use `()` if there are no parts.
    type Key: Ord + Debug;

    /// Returns the initial state of the object.
    fn init(&self) -> Self::State;

    /// Applies the operation to the state, and returns the result of the operation.
    fn apply(&self, state: &mut Self::State, op: &Self::Op) -> Self::Ret;

    /// Returns the part of the object to which the operation belongs, or `None` if the operation
    /// may concern several parts. See [`Model::key`].
    fn key(&self, op: &Self::Op) -> Option<Self::Key> {
        let _ = op;
        None
    }
}

impl<S: Sequential> Model for S {
    type State = S::State;
    type Op = S::Op;
    type Ret = S::Ret;
    type Key = S::Key;

    fn init(&self) -> S::State {
        Sequential::init(self)
    }

    fn step(
        &self,
        state: &S::State,
        op: &S::Op,
        ret: Option<&S::Ret>,
    ) -> impl IntoIterator<Item = S::State> {
        let mut next = state.clone();
        let answer = self.apply(&mut next, op);
        ret.is_none_or(|ret| *ret == answer).then_some(next)
    }

    fn key(&self, op: &S::Op) -> Option<S::Key> {
        Sequential::key(self, op)
    }

    fn answer(&self, state: &S::State, op: &S::Op) -> Option<S::Ret> {
        Some(self.apply(&mut state.clone(), op))
    }
}
