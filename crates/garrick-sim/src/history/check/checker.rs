//! The check of a history against a model.

use super::explanation::Explanation;
use super::part::{self, Part};
use super::search::{Found, Search};
use super::verdict::Verdict;
use crate::history::model::Model;
use crate::history::record::{Call, History};

/// Default limit for a check: the number of configurations that it may visit.
/// [`Checker::configurations_max`] changes the limit.
pub const CONFIGURATIONS_MAX: usize = 1_000_000;

/// A checker that compares histories with a model.
///
/// # Examples
/// ```
/// use garrick_sim::history::{Checker, History, Verdict};
/// use garrick_sim::history::models::counter::{Counter, Op, Ret};
///
/// let mut history = History::new();
/// let adds: Vec<_> = (0..20).map(|n| history.invoke(n, Op::Add(1 << n))).collect();
/// for add in adds {
///     history.complete(add, Ret::Added);
/// }
/// let read = history.invoke(0, Op::Read);
/// history.complete(read, Ret::Value(-1));
///
/// // All orders of 20 additions fail, but to try them would take too long.
/// let checker = Checker::new(&Counter).configurations_max(1000);
/// assert_eq!(checker.check(&history), Verdict::Unknown { explored: 1000 });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Checker<'m, M> {
    model: &'m M,
    configurations_max: usize,
}

impl<'m, M: Model> Checker<'m, M> {
    /// Returns a checker with the limit [`CONFIGURATIONS_MAX`].
    pub fn new(model: &'m M) -> Self {
        Self {
            model,
            configurations_max: CONFIGURATIONS_MAX,
        }
    }

    /// Sets the maximum number of configurations that a check visits. A configuration is a set of
    /// operations that have taken effect, together with a state. Until the check ends, each
    /// configuration takes the memory of a state and about 150 more bytes.
    #[must_use]
    pub fn configurations_max(mut self, configurations_max: usize) -> Self {
        self.configurations_max = configurations_max;
        self
    }

    /// Searches for an order of the operations in which the model allows all their results.
    ///
    /// The verdict for a history is the same in every process. The limit of configurations applies
    /// to all parts of the history together. Small parts are checked first.
    #[must_use]
    pub fn check(&self, history: &History<M::Op, M::Ret>) -> Verdict {
        let mut orders = Vec::new();
        let mut explored = 0;
        for part in part::split(self.model, history) {
            let limit = self.configurations_max - explored;
            let mut search = Search::new(self.model, &part, limit);
            let found = search.run();
            explored += search.explored();
            match found {
                Found::Order(order) => orders.push(calls(&part, &order)),
                Found::Stuck(dead_end) => {
                    let explanation = Explanation::new(self.model, &part, &dead_end);
                    return Verdict::NotLinearizable(explanation);
                }
                Found::Limit => return Verdict::Unknown { explored },
            }
        }
        Verdict::Linearizable(part::merge(history, &orders))
    }
}

fn calls<M: Model>(part: &Part<'_, M>, order: &[usize]) -> Vec<Call> {
    order.iter().map(|number| part.call(*number)).collect()
}

impl<Op, Ret> History<Op, Ret> {
    /// Checks that the history is linearizable, with a [`Checker`] that has the default limit.
    #[must_use]
    pub fn check<M: Model<Op = Op, Ret = Ret>>(&self, model: &M) -> Verdict {
        Checker::new(model).check(self)
    }
}
