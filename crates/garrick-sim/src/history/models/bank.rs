//! The model of a bank with accounts between which clients transfer money.

use crate::history::model::Sequential;

/// An operation of a [`Bank`]. Accounts are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Moves money from one account to another. Returns [`Ret::Moved`], or [`Ret::Refused`] if the
    /// balance of the account `from` is less than `amount`, or if one of the accounts does not
    /// exist.
    Transfer {
        /// The account that pays.
        from: usize,
        /// The account that receives the money.
        to: usize,
        /// The amount of money.
        amount: u64,
    },
    /// Returns the money in one account, as [`Ret::Amount`]. An account that does not exist is
    /// empty.
    Balance(usize),
    /// Returns the money in all accounts, as [`Ret::Amount`].
    Total,
}

/// The result of an operation of a [`Bank`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ret {
    /// The money was moved.
    Moved,
    /// No money was moved.
    Refused,
    /// The amount of money that was read.
    Amount(u64),
}

/// The model of a bank whose accounts never have a negative balance, and whose money is neither
/// created nor lost.
///
/// # Examples
///
/// A total that counts the money of an unfinished transfer twice:
/// ```
/// use garrick_sim::history::History;
/// use garrick_sim::history::models::bank::{Bank, Op, Ret};
///
/// let mut history = History::new();
/// let transfer = history.invoke(1, Op::Transfer { from: 0, to: 1, amount: 30 });
/// let total = history.invoke(2, Op::Total);
/// history.complete(total, Ret::Amount(130));
/// history.complete(transfer, Ret::Moved);
/// assert!(history.check(&Bank::new([100, 0])).is_not_linearizable());
/// ```
#[derive(Clone, Debug)]
pub struct Bank {
    balances: Vec<u64>,
}

impl Bank {
    /// Returns a bank whose accounts have the given balances at first.
    ///
    /// # Panics
    /// Panics if the sum of the balances exceeds `u64::MAX`.
    #[track_caller]
    pub fn new(balances: impl Into<Vec<u64>>) -> Self {
        let balances = balances.into();
        let total = balances.iter().try_fold(0, |a: u64, b| a.checked_add(*b));
        assert!(total.is_some(), "the sum of all balances fits into a u64");
        Self { balances }
    }
}

impl Sequential for Bank {
    type State = Vec<u64>;
    type Op = Op;
    type Ret = Ret;
    type Key = ();

    fn init(&self) -> Vec<u64> {
        self.balances.clone()
    }

    fn apply(&self, balances: &mut Vec<u64>, op: &Op) -> Ret {
        match *op {
            Op::Transfer { from, to, amount } => transfer(balances, from, to, amount),
            Op::Balance(account) => Ret::Amount(balances.get(account).copied().unwrap_or(0)),
            Op::Total => Ret::Amount(balances.iter().sum()),
        }
    }
}

fn transfer(balances: &mut [u64], from: usize, to: usize, amount: u64) -> Ret {
    let accounts = balances.len();
    if from >= accounts || to >= accounts || balances[from] < amount {
        return Ret::Refused;
    }
    balances[from] -= amount;
    balances[to] += amount;
    Ret::Moved
}
