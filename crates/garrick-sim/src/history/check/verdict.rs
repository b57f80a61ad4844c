//! The result of checking a history.

use std::fmt;

use super::explanation::Explanation;
use crate::history::record::Call;

/// The result of checking whether a history is linearizable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The history is linearizable, for example in this order. A pending operation that is not in
    /// the order has had no effect.
    Linearizable(Vec<Call>),
    /// The history is not linearizable, for this reason.
    NotLinearizable(Explanation),
    /// The check has reached its limit. It has neither found an order nor shown that there is none.
    Unknown {
        /// The number of configurations that the check has visited.
        explored: usize,
    },
}

impl Verdict {
    /// Returns true if the history is linearizable.
    #[must_use]
    pub fn is_linearizable(&self) -> bool {
        matches!(self, Self::Linearizable(_))
    }

    /// Returns true if the history is not linearizable. If the check has reached its limit, both
    /// this method and [`is_linearizable`](Self::is_linearizable) return false.
    #[must_use]
    pub fn is_not_linearizable(&self) -> bool {
        matches!(self, Self::NotLinearizable(_))
    }

    /// Returns the order of a linearizable history.
    ///
    /// # Panics
    /// Panics with the explanation if the history is not linearizable, or if the check has reached
    /// its limit.
    ///
    /// # Examples
    /// ```
    /// use garrick_sim::history::History;
    /// use garrick_sim::history::models::counter::{Counter, Op, Ret};
    ///
    /// let mut history = History::new();
    /// let add = history.invoke(1, Op::Add(2));
    /// let read = history.invoke(2, Op::Read);
    /// history.complete(add, Ret::Added);
    /// history.complete(read, Ret::Value(0));
    /// assert_eq!(history.check(&Counter).expect_order(), [read, add]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn expect_order(self) -> Vec<Call> {
        match self {
            Self::Linearizable(order) => order,
            Self::NotLinearizable(_) | Self::Unknown { .. } => panic!("{self}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linearizable(order) => {
                writeln!(
                    f,
                    "The history is linearizable, with {} effects.",
                    order.len()
                )
            }
            Self::NotLinearizable(explanation) => write!(f, "{explanation}"),
            Self::Unknown { explored } => writeln!(
                f,
                "The check has reached its limit, after {explored} configurations."
            ),
        }
    }
}
