//! Exhaustive search without stored states: each order of the steps is a run from the start.
//!
//! Orders have the same results if they differ only in the order of steps that commute. A class of
//! such orders is called a partial order, and one run of each class is enough. The search goes
//! depth-first and finds one run of each class by dynamic partial-order reduction: Abdulla, Aronis,
//! Jonsson and Sagonas, "Optimal dynamic partial order reduction" (POPL 2014), and "Source sets: a
//! foundation for optimal dynamic partial order reduction" (JACM 2017). At the end of a run, the
//! search examines each pair of steps that race. The later step could also have run before the
//! earlier step, preceded by those steps between the two that do not depend on the earlier step. If
//! no run has shown this order yet, the search adds it to the sequences to explore from the state
//! before the earlier step.
//!
//! Sleep sets (Godefroid, "Partial-order methods for the verification of concurrent systems", 1996)
//! keep the search from making a run whose partial order is known. The sequences to explore form
//! wakeup trees. If the trees contain whole sequences, no run is redundant. In the algorithm with
//! source sets, the trees contain only single actions. Then a run may reach a state in which all
//! enabled actions are in the sleep set. Such a run is redundant, and is ended.
//!
//! The happens-before relation of [`order`] needs the cause of each step, which
//! [`Strategy::caused`] reports.

mod causes;
mod order;
mod statistics;

mod sequence;

mod tree;

mod node;

pub use statistics::{Coverage, Statistics};

use super::action::{Action, Strategy};
use causes::Causes;
use node::Node;
use order::Order;
use sequence::Sequence;

/// Method by which an exhaustive search reduces the number of its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Explores every order.
    Plain,
    /// Explores every partial order by sleep sets, but begins many redundant runs.
    Sleep,
    /// Explores every partial order by source sets, and begins some redundant runs.
    Source,
    /// Explores every partial order by wakeup trees, and begins no redundant run. The trees may
    /// need more memory than source sets.
    Optimal,
}

/// A strategy that explores all orders of a system.
///
/// The system must be deterministic: the same choices must lead to the same enabled actions in the
/// same order. The caller must report the cause of each action by [`Strategy::caused`]. A caller
/// may end a run early, for example at a failure. The search then does not see the steps that would
/// have followed in this run, so it may miss orders that only these steps would have revealed.
///
/// # Examples
/// ```
/// use garrick_sim::search::{Action, Coverage, Exhaustive, Reduction, Strategy};
///
/// /// One of two steps, which change the same task.
/// #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
/// struct Step(u64);
///
/// impl Action for Step {
///     fn changes(&self) -> Option<u64> {
///         Some(0)
///     }
///     fn chain(&self) -> u64 {
///         self.0
///     }
/// }
///
/// let mut search = Exhaustive::new(Reduction::Optimal);
/// let mut orders = Vec::new();
/// while search.begin() {
///     let mut enabled = vec![Step(1), Step(2)];
///     let mut order = Vec::new();
///     enabled.iter().for_each(|&step| search.caused(step));
///     while !enabled.is_empty() {
///         let Some(index) = search.choose(&enabled) else { break };
///         order.push(enabled.remove(index).0);
///     }
///     orders.push(order);
/// }
/// assert_eq!(orders, [[1, 2], [2, 1]]);
/// assert_eq!(search.statistics().coverage, Coverage::Everything);
/// ```
#[derive(Clone, Debug)]
pub struct Exhaustive<A> {
    reduction: Reduction,
    steps_max: usize,
    runs_max: u64,
    statistics: Statistics,
    causes: Causes<A>,
    order: Order<A>,
    /// States of the current run, followed by unused states whose memory is reused.
    nodes: Vec<Node<A>>,
    /// Number of states on the path that is being explored.
    path: usize,
    /// Number of steps of the current run.
    step: usize,
    /// Number of initial steps that the current run shares with the previous run.
    known: usize,
}

impl<A: Action> Exhaustive<A> {
    /// Creates a search without bounds.
    #[must_use]
    pub fn new(reduction: Reduction) -> Self {
        Self {
            reduction,
            steps_max: usize::MAX,
            runs_max: u64::MAX,
            statistics: Statistics::new(),
            causes: Causes::new(),
            order: Order::new(),
            nodes: Vec::new(),
            path: 0,
            step: 0,
            known: 0,
        }
    }

    /// Ends each run after this number of steps.
    ///
    /// [`Reduction::Sleep`] still finds everything that can happen within the bound. The other
    /// reductions may miss states shortly before the bound, because they see a race only if both of
    /// its steps come before the bound in the same run. Within 8 steps of small random systems,
    /// [`Reduction::Source`] finds two thirds of the partial orders, and [`Reduction::Optimal`]
    /// half of them.
    #[must_use]
    pub fn with_steps_max(mut self, steps: usize) -> Self {
        self.steps_max = steps;
        self
    }

    /// Ends the search after this number of runs.
    #[must_use]
    pub fn with_runs_max(mut self, runs: u64) -> Self {
        self.runs_max = runs;
        self
    }

    /// Returns the statistics of the search.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    fn is_dynamic(&self) -> bool {
        matches!(self.reduction, Reduction::Source | Reduction::Optimal)
    }

    /// Ends the search, because the current run has taken the same steps as the previous run, but
    /// has not reached the same state.
    fn diverge(&mut self) -> Option<usize> {
        self.statistics.coverage = Coverage::Diverged(self.step);
        None
    }

    /// Chooses the next step in a known state: the next step of the sequence that is being
    /// explored.
    fn repeat(&mut self, enabled: &[A]) -> Option<usize> {
        let node = &self.nodes[self.step];
        if node.enabled != enabled {
            return self.diverge();
        }
        let wanted = node.tree.first();
        enabled.iter().position(|&action| Some(action) == wanted)
    }

    /// Chooses the next step in a new state.
    fn extend(&mut self, enabled: &[A]) -> Option<usize> {
        if self.nodes.len() == self.path {
            self.nodes.push(Node::new());
        }
        let (before, rest) = self.nodes.split_at_mut(self.path);
        let node = &mut rest[0];
        node.fill(enabled, before.last_mut());
        match self.reduction {
            Reduction::Plain | Reduction::Sleep => node.add_all(),
            Reduction::Source | Reduction::Optimal => {
                if !node.is_possible() {
                    node.tree.clear();
                    node.add_one();
                }
            }
        }
        let Some(first) = node.tree.first() else {
            self.statistics.redundant += 1;
            return None;
        };
        self.path += 1;
        enabled.iter().position(|&action| action == first)
    }

    /// Records the chosen step in the happens-before order of the run.
    fn record(&mut self, action: A) {
        if self.is_dynamic() {
            if self.step >= self.known {
                self.order.push(action, self.causes.cause(action));
            }
            self.causes.happened(action);
        }
        self.step += 1;
    }

    /// Ends a run at the maximum number of steps. To find races, the search treats each enabled
    /// action as if it were the next step.
    fn cut(&mut self, enabled: &[A]) {
        self.statistics.cut += 1;
        if !self.is_dynamic() {
            return;
        }
        let len = self.order.len();
        for &action in enabled {
            self.order.push(action, self.causes.cause(action));
            self.reverse_all(len);
            self.order.truncate(len);
        }
    }

    /// Plans to explore the opposite order of each race in the latest run. With source sets, only
    /// the races of new steps matter.
    fn analyse(&mut self) {
        let new = match self.reduction {
            Reduction::Plain | Reduction::Sleep => return,
            Reduction::Source => self.known,
            Reduction::Optimal => 0,
        };
        for second in new..self.order.len() {
            self.reverse_all(second);
        }
    }

    /// Plans to explore the opposite order of each race in which the given step is the later one.
    fn reverse_all(&mut self, second: usize) {
        for index in 0..self.order.races(second).len() {
            let first = self.order.races(second)[index];
            self.reverse(first, second);
        }
    }

    /// Plans to explore the second step before the first one, unless another run has shown this
    /// order.
    fn reverse(&mut self, first: usize, second: usize) {
        let is_optimal = self.reduction == Reduction::Optimal;
        let end = if is_optimal { self.order.len() } else { second };
        let sequence = Sequence::new(&self.order, first, second, end);
        let node = &mut self.nodes[first];
        let is_known = |&action: &A| {
            let is_weak = is_optimal && sequence.is_weak_initial(action);
            is_weak || sequence.initial(action).is_some()
        };
        if node.sleep.iter().any(is_known) {
            return;
        }
        match sequence.first() {
            Some(action) if !node.enabled.contains(&action) => node.add_all(),
            Some(_) if is_optimal => node.tree.insert(sequence),
            Some(action) if !node.tree.actions().any(|a| is_known(&a)) => node.tree.add(action),
            _ => {}
        }
    }

    /// Goes back to the last state from which more sequences must be explored. Returns false if
    /// there is no such state.
    fn backtrack(&mut self) -> bool {
        let is_reduced = self.reduction != Reduction::Plain;
        while self.path > 0 {
            let node = &mut self.nodes[self.path - 1];
            if node.advance(is_reduced) {
                self.known = self.path - 1;
                self.order.truncate(self.known);
                return true;
            }
            self.path -= 1;
        }
        false
    }

    /// Prepares the next run. If there is no next run, returns how the search has ended.
    fn prepare(&mut self) -> Option<Coverage> {
        if self.statistics.runs > 0 {
            if self.step < self.path {
                return Some(Coverage::Diverged(self.step));
            }
            self.analyse();
            if !self.backtrack() {
                let is_cut = self.statistics.cut > 0;
                let whole = if is_cut {
                    Coverage::Bounded
                } else {
                    Coverage::Everything
                };
                return Some(whole);
            }
        }
        (self.statistics.runs >= self.runs_max).then_some(Coverage::Bounded)
    }
}

impl<A: Action> Strategy<A> for Exhaustive<A> {
    fn begin(&mut self) -> bool {
        if self.statistics.coverage != Coverage::Unfinished {
            return false;
        }
        if let Some(coverage) = self.prepare() {
            self.statistics.coverage = coverage;
            return false;
        }
        self.statistics.runs += 1;
        self.step = 0;
        self.causes.clear();
        true
    }

    fn caused(&mut self, action: A) {
        if self.is_dynamic() {
            self.causes.announce(action, self.step.checked_sub(1));
        }
    }

    fn choose(&mut self, enabled: &[A]) -> Option<usize> {
        if self.step >= self.steps_max {
            self.cut(enabled);
            return None;
        }
        let chosen = if self.step < self.path {
            self.repeat(enabled)
        } else {
            self.extend(enabled)
        };
        if let Some(index) = chosen {
            self.record(enabled[index]);
        }
        chosen
    }
}
