//! Models of common objects.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use super::model::Model;

/// A value that a model may keep.
pub trait Value: Clone + Eq + Ord + Hash + Debug {}

impl<V: Clone + Eq + Ord + Hash + Debug> Value for V {}

/// A register: a value that is read, written, and compared and swapped.
#[derive(Debug, Clone)]
pub struct Register<V>(
    /// Value at the beginning.
    pub V,
);

/// An operation of a [`Register`]. The result is the value before the operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisterOp<V> {
    /// Reads the value.
    Read,
    /// Writes a value.
    Write(V),
    /// Writes the second value if the register has the first one.
    CompareAndSwap(V, V),
}

impl<V: Value> Model for Register<V> {
    type State = V;
    type Op = RegisterOp<V>;
    /// The value before the operation. `None` if the client does not learn it.
    type Ret = Option<V>;

    fn init(&self) -> V {
        self.0.clone()
    }

    fn step(&self, value: &V, op: &RegisterOp<V>, ret: Option<&Option<V>>) -> Option<V> {
        if ret.is_some_and(|before| before.as_ref().is_some_and(|before| before != value)) {
            return None;
        }
        Some(match op {
            RegisterOp::Write(new) => new.clone(),
            RegisterOp::CompareAndSwap(old, new) if old == value => new.clone(),
            RegisterOp::Read | RegisterOp::CompareAndSwap(..) => value.clone(),
        })
    }
}

/// A counter that begins at zero.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counter;

/// An operation of a [`Counter`]. The result is the number after the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterOp {
    /// Adds a number, which may be negative.
    Add(i64),
    /// Reads the number.
    Read,
}

impl Model for Counter {
    type State = i64;
    type Op = CounterOp;
    /// The number after the operation. `None` if the client does not learn it.
    type Ret = Option<i64>;

    fn init(&self) -> i64 {
        0
    }

    fn step(&self, number: &i64, op: &CounterOp, ret: Option<&Option<i64>>) -> Option<i64> {
        let after = match op {
            CounterOp::Add(by) => number + by,
            CounterOp::Read => *number,
        };
        let fits = ret.is_none_or(|ret| ret.is_none_or(|ret| ret == after));
        fits.then_some(after)
    }
}

/// A set, which is empty at the beginning.
#[derive(Debug, Clone)]
pub struct Set<T>(PhantomData<T>);

/// An operation of a [`Set`]. The result is true if the set contained the element before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetOp<T> {
    /// Inserts an element.
    Insert(T),
    /// Removes an element.
    Remove(T),
    /// Returns true if the set contains an element.
    Contains(T),
}

impl<T> Set<T> {
    /// Creates the model.
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Set<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Value> Model for Set<T> {
    type State = BTreeSet<T>;
    type Op = SetOp<T>;
    type Ret = bool;

    fn init(&self) -> BTreeSet<T> {
        BTreeSet::new()
    }

    fn step(&self, set: &BTreeSet<T>, op: &SetOp<T>, ret: Option<&bool>) -> Option<BTreeSet<T>> {
        let (SetOp::Insert(element) | SetOp::Remove(element) | SetOp::Contains(element)) = op;
        let contained = set.contains(element);
        if ret.is_some_and(|ret| *ret != contained) {
            return None;
        }
        let mut after = set.clone();
        match op {
            SetOp::Insert(_) => drop(after.insert(element.clone())),
            SetOp::Remove(_) => drop(after.remove(element)),
            SetOp::Contains(_) => {}
        }
        Some(after)
    }
}

/// A queue, which is empty at the beginning.
#[derive(Debug, Clone)]
pub struct Queue<T>(PhantomData<T>);

/// An operation of a [`Queue`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueOp<T> {
    /// Appends an element. The result is `None`.
    Enqueue(T),
    /// Removes the oldest element, and returns it. The result is `None` if the queue is empty.
    Dequeue,
}

impl<T> Queue<T> {
    /// Creates the model.
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Value> Model for Queue<T> {
    type State = VecDeque<T>;
    type Op = QueueOp<T>;
    type Ret = Option<T>;

    fn init(&self) -> VecDeque<T> {
        VecDeque::new()
    }

    fn step(
        &self,
        queue: &VecDeque<T>,
        op: &QueueOp<T>,
        ret: Option<&Option<T>>,
    ) -> Option<VecDeque<T>> {
        let mut after = queue.clone();
        let result = match op {
            QueueOp::Enqueue(element) => {
                after.push_back(element.clone());
                None
            }
            QueueOp::Dequeue => after.pop_front(),
        };
        ret.is_none_or(|ret| *ret == result).then_some(after)
    }
}

/// Accounts with numbers, each with the same amount at the beginning.
#[derive(Debug, Clone, Copy)]
pub struct Bank {
    /// Number of accounts.
    pub accounts: u32,
    /// Amount on each account at the beginning.
    pub amount: u64,
}

/// An operation of a [`Bank`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BankOp {
    /// Transfers an amount between two accounts, if there is enough.
    Transfer {
        /// Account from which the amount is taken.
        from: u32,
        /// Account to which it is added.
        to: u32,
        /// Amount.
        amount: u64,
    },
    /// Returns the amount on an account.
    Balance(u32),
    /// Returns the sum of all accounts.
    Total,
}

/// The result of a [`BankOp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BankRet {
    /// True if the transfer was made.
    Transferred(bool),
    /// Amount on an account, or the sum of all accounts.
    Amount(u64),
}

impl Model for Bank {
    /// Accounts whose amount has changed.
    type State = BTreeMap<u32, u64>;
    type Op = BankOp;
    type Ret = BankRet;

    fn init(&self) -> BTreeMap<u32, u64> {
        (0..self.accounts)
            .map(|account| (account, self.amount))
            .collect()
    }

    fn step(
        &self,
        accounts: &BTreeMap<u32, u64>,
        op: &BankOp,
        ret: Option<&BankRet>,
    ) -> Option<BTreeMap<u32, u64>> {
        let of = |account: u32| accounts.get(&account).copied().unwrap_or(0);
        let mut after = accounts.clone();
        let result = match *op {
            BankOp::Transfer { from, to, amount } => {
                let is_enough = of(from) >= amount;
                if is_enough {
                    *after.entry(from).or_default() -= amount;
                    *after.entry(to).or_default() += amount;
                }
                BankRet::Transferred(is_enough)
            }
            BankOp::Balance(account) => BankRet::Amount(of(account)),
            BankOp::Total => BankRet::Amount(accounts.values().sum()),
        };
        ret.is_none_or(|ret| *ret == result).then_some(after)
    }
}
