//! The check that a history is linearizable.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use super::model::Model;
use super::recorded::{End, History};

/// Number of configurations after which a check gives up.
const CONFIGURATIONS_MAX: usize = 2_000_000;

/// The result of [`check`].
#[derive(Debug)]
pub enum Verdict {
    /// The history is linearizable. Contains an order of the calls, by their numbers. A call that
    /// has not returned is missing if it has had no effect.
    Linearizable(Vec<usize>),
    /// The history is not linearizable.
    NotLinearizable(Explanation),
    /// The check has given up after this number of configurations.
    Unknown {
        /// Number of configurations.
        explored: usize,
    },
}

/// The reason why a history is not linearizable.
#[derive(Debug)]
pub struct Explanation {
    /// The longest order of calls that fits, by their numbers.
    pub prefix: Vec<usize>,
    /// Texts of the calls in this order.
    placed: Vec<String>,
    /// The state of the object after them.
    state: String,
    /// The calls of which none can come next.
    stuck: Vec<String>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "the history is not linearizable. The longest order that fits:"
        )?;
        for call in &self.placed {
            writeln!(f, "  {call}")?;
        }
        writeln!(
            f,
            "leads to the state {}. None of these calls can come next:",
            self.state
        )?;
        for call in &self.stuck {
            writeln!(f, "  {call}")?;
        }
        Ok(())
    }
}

/// A call that may have had an effect.
struct Operation<'h, M: Model> {
    /// Number of the call in the history.
    number: usize,
    op: &'h M::Op,
    called_at: usize,
    /// Time and result. `None` if the call has not returned.
    returned: Option<(usize, &'h M::Ret)>,
}

impl<M: Model> Operation<'_, M> {
    fn text(&self) -> String {
        match self.returned {
            Some((_, ret)) => format!("{}: {:?} = {ret:?}", self.number, self.op),
            None => format!("{}: {:?} has not returned", self.number, self.op),
        }
    }
}

/// Checks that a history is linearizable.
///
/// # Examples
/// ```
/// use garrick_sim::history::{History, Register, RegisterOp, Verdict, check};
///
/// let mut history = History::new();
/// let write = history.call(RegisterOp::Write(1));
/// let read = history.call(RegisterOp::Read);
/// history.complete(read, Some(1));
/// history.complete(write, None);
/// let late = history.call(RegisterOp::Read);
/// history.complete(late, Some(0)); // The value before the write.
/// let Verdict::NotLinearizable(why) = check(&Register(0), &history) else {
///     panic!("a stale read");
/// };
/// println!("{why}");
/// ```
pub fn check<M: Model>(model: &M, history: &History<M::Op, M::Ret>) -> Verdict {
    let mut parts: BTreeMap<u64, Vec<Operation<'_, M>>> = BTreeMap::new();
    for (number, call) in history.calls.iter().enumerate() {
        let returned = match &call.end {
            End::Failed => continue,
            End::Pending => None,
            End::Returned(at, ret) => Some((*at, ret)),
        };
        parts
            .entry(model.part(&call.op))
            .or_default()
            .push(Operation {
                number,
                op: &call.op,
                called_at: call.called_at,
                returned,
            });
    }
    let mut order = Vec::new();
    let mut explored = 0;
    for operations in parts.values() {
        match Search::new(model, operations).run(&mut explored) {
            Found::Order(part) => order.extend(part),
            Found::Nothing(why) => return Verdict::NotLinearizable(why),
            Found::GaveUp => return Verdict::Unknown { explored },
        }
    }
    Verdict::Linearizable(order)
}

/// Result of the search in one part.
enum Found {
    Order(Vec<usize>),
    Nothing(Explanation),
    GaveUp,
}

/// Set of the placed operations, as a bitmap.
type Placed = Vec<u64>;

/// A depth-first search for an order of the operations of one part.
struct Search<'s, 'h, M: Model> {
    model: &'s M,
    /// Operations in the order of their calls.
    operations: &'s [Operation<'h, M>],
    placed: Placed,
    /// Number of returned operations that are not placed.
    left: usize,
    /// Configurations that were seen.
    seen: HashSet<(Placed, M::State)>,
    steps: Vec<Step<M>>,
    longest: (Vec<usize>, Option<M::State>),
}

/// A step of the search: an operation that was placed.
struct Step<M: Model> {
    /// Operation that was placed last, or `None` at the beginning.
    operation: Option<usize>,
    /// State after it.
    state: M::State,
    /// Operations that may come next, the next one to try last.
    next: Vec<usize>,
}

impl<'s, 'h, M: Model> Search<'s, 'h, M> {
    fn new(model: &'s M, operations: &'s [Operation<'h, M>]) -> Self {
        Self {
            model,
            operations,
            placed: vec![0; operations.len().div_ceil(64)],
            left: operations
                .iter()
                .filter(|operation| operation.returned.is_some())
                .count(),
            seen: HashSet::new(),
            steps: Vec::new(),
            longest: (Vec::new(), None),
        }
    }

    fn run(mut self, explored: &mut usize) -> Found {
        self.enter(None, self.model.init());
        while let Some(step) = self.steps.last_mut() {
            if self.left == 0 {
                let placed = self.steps.iter().filter_map(|step| step.operation);
                return Found::Order(placed.map(|at| self.operations[at].number).collect());
            }
            let Some(next) = step.next.pop() else {
                self.leave();
                continue;
            };
            let operation = &self.operations[next];
            let ret = operation.returned.map(|(_, ret)| ret);
            let Some(after) = self.model.step(&step.state, operation.op, ret) else {
                continue;
            };
            self.mark(next, true);
            if !self.seen.insert((self.placed.clone(), after.clone())) {
                self.mark(next, false);
                continue;
            }
            *explored += 1;
            if *explored > CONFIGURATIONS_MAX {
                return Found::GaveUp;
            }
            self.enter(Some(next), after);
        }
        Found::Nothing(self.explain())
    }

    /// Adds a step.
    fn enter(&mut self, operation: Option<usize>, state: M::State) {
        let next = self.candidates();
        if self.longest.1.is_none() || self.steps.len() > self.longest.0.len() {
            let placed = self.steps.iter().filter_map(|step| step.operation);
            self.longest.0 = placed.chain(operation).collect();
            self.longest.1 = Some(state.clone());
        }
        self.steps.push(Step {
            operation,
            state,
            next,
        });
    }

    /// Removes the last step.
    fn leave(&mut self) {
        if let Some(Step {
            operation: Some(operation),
            ..
        }) = self.steps.pop()
        {
            self.mark(operation, false);
        }
    }

    fn is_placed(&self, operation: usize) -> bool {
        self.placed[operation / 64] >> (operation % 64) & 1 == 1
    }

    fn mark(&mut self, operation: usize, is_placed: bool) {
        self.placed[operation / 64] ^= 1 << (operation % 64);
        if self.operations[operation].returned.is_some() {
            if is_placed {
                self.left -= 1;
            } else {
                self.left += 1;
            }
        }
    }

    /// Returns the operations that may come next: those that were called before the first of the
    /// others has returned.
    fn candidates(&self) -> Vec<usize> {
        let full = self
            .placed
            .iter()
            .take_while(|word| **word == u64::MAX)
            .count();
        let first = (full * 64).min(self.operations.len());
        let mut candidates = Vec::new();
        let mut first_return = usize::MAX;
        for (at, operation) in self.operations.iter().enumerate().skip(first) {
            if operation.called_at > first_return {
                break;
            }
            if self.is_placed(at) {
                continue;
            }
            if let Some((returned, _)) = operation.returned {
                first_return = first_return.min(returned);
            }
            candidates.push(at);
        }
        candidates.retain(|&at| self.operations[at].called_at < first_return);
        // The operation that was called first is tried first.
        candidates.reverse();
        candidates
    }

    fn explain(mut self) -> Explanation {
        let (order, state) = std::mem::take(&mut self.longest);
        self.placed.fill(0);
        for &operation in &order {
            self.placed[operation / 64] |= 1 << (operation % 64);
        }
        let text = |at: &usize| self.operations[*at].text();
        let mut stuck = self.candidates();
        stuck.reverse();
        Explanation {
            prefix: order.iter().map(|at| self.operations[*at].number).collect(),
            placed: order.iter().map(text).collect(),
            state: format!("{:?}", state.expect("the search begins with a state")),
            stuck: stuck.iter().map(text).collect(),
        }
    }
}
