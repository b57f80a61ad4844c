//! Models of objects.

use std::fmt::Debug;
use std::hash::Hash;

/// The sequential behavior of an object: its states and the results of its operations.
///
/// # Examples
/// ```
/// use garrick_sim::history::{History, Model, Verdict, check};
///
/// /// A flag that can be raised once.
/// struct Flag;
///
/// impl Model for Flag {
///     type State = bool;
///     type Op = ();
///     /// True if this call has raised the flag.
///     type Ret = bool;
///
///     fn init(&self) -> bool {
///         false
///     }
///
///     fn step(&self, is_raised: &bool, (): &(), raised: Option<&bool>) -> Option<bool> {
///         raised.is_none_or(|raised| *raised != *is_raised).then_some(true)
///     }
/// }
///
/// let mut history = History::new();
/// let (one, other) = (history.call(()), history.call(()));
/// history.complete(one, true);
/// history.complete(other, true);
/// assert!(matches!(check(&Flag, &history), Verdict::NotLinearizable(_)));
/// ```
pub trait Model {
    /// The state of the object.
    type State: Clone + Eq + Hash + Debug;
    /// An operation with its arguments.
    type Op: Clone + Debug;
    /// The result of an operation.
    type Ret: Clone + Debug;

    /// Returns the state of a new object.
    fn init(&self) -> Self::State;

    /// Returns the state after an operation. Returns `None` if the operation cannot have the result
    /// `ret` in this state. If `ret` is `None`, the result is unknown, because the call has not
    /// returned.
    fn step(
        &self,
        state: &Self::State,
        op: &Self::Op,
        ret: Option<&Self::Ret>,
    ) -> Option<Self::State>;

    /// Returns the part of the object that an operation uses, for example a key of a map. Each part
    /// behaves like a separate object. By default, there is one part.
    fn part(&self, op: &Self::Op) -> u64 {
        let _ = op;
        0
    }
}
