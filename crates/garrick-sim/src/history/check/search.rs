//! The search of Wing and Gong (1993) with the memory of Lowe (2017).
//!
//! A configuration is the set of the operations that are already in the order, and the state after
//! them. The search extends the order by one candidate after another, and removes the last
//! operation when no candidate is left. The possible continuations of a configuration do not depend
//! on the order of its operations. So the search visits each configuration only once.
//!
//! Pending operations add the most configurations, because each of them may take effect at any
//! time, or never. So the search tries pending operations only after all others, and tries equal
//! pending operations in the order of their invocations (see [`Remaining`]). If configurations
//! differ only in pending operations, the search first tries the configurations with the fewest
//! pending operations. Then the search can skip each configuration whose pending operations include
//! those of a visited configuration with the same state (see [`Seen`]).

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::mem;

use super::linearized::Linearized;
use super::part::Part;
use super::remaining::Remaining;
use super::seen::Seen;
use crate::history::model::Model;

/// Result of a search.
pub(super) enum Found<S> {
    /// An order of all operations that have returned, and of some pending ones.
    Order(Vec<usize>),
    /// No order of the operations explains the history. Contains the furthest configuration that
    /// the search has reached.
    Stuck(DeadEnd<S>),
    /// There were more configurations than allowed.
    Limit,
}

/// A configuration that cannot be extended to an order of all operations.
pub(super) struct DeadEnd<S> {
    /// The operations that the search has put into its order, from first to last.
    pub(super) prefix: Vec<usize>,
    /// The operation that returned first among the operations that are not in `prefix`.
    pub(super) blocked: usize,
    /// The state after the operations in `prefix`.
    pub(super) state: S,
}

/// A search for an order of the operations on one independent part of the object.
pub(super) struct Search<'a, M: Model> {
    model: &'a M,
    part: &'a Part<'a, M>,
    /// Maximum number of configurations that the search visits.
    limit: usize,
    remaining: Remaining,
    linearized: Linearized,
    seen: Seen<M::State>,
    /// The levels below the current level. Each level except the lowest adds one returned operation
    /// to the order.
    below: Vec<Level<M::State>>,
    level: Level<M::State>,
    /// The operation to try next. `None` if all candidates for the next place in the order were
    /// tried.
    candidate: Option<usize>,
    /// The number of pending operations that are in the order.
    pending_placed: usize,
}

/// A level of the search. All its configurations contain the same returned operations. They differ
/// only in the pending operations that come after the last returned one in the order.
struct Level<S> {
    /// The last returned operation in the order. `None` on the lowest level.
    number: Option<usize>,
    /// The configuration that is being explored.
    present: Branch<S>,
    /// The configurations that are still to be explored.
    waiting: VecDeque<Branch<S>>,
}

/// A configuration that the search can continue from: a state of the model, and the pending
/// operations that come after the last returned operation in the order.
struct Branch<S> {
    state: S,
    /// The pending operations that come after the last returned operation in the order.
    pending: Vec<usize>,
}

impl<'a, M: Model> Search<'a, M> {
    /// Returns a search that visits at most `limit` configurations.
    pub(super) fn new(model: &'a M, part: &'a Part<'a, M>, limit: usize) -> Self {
        let remaining = Remaining::new(part);
        let present = Branch {
            state: model.init(),
            pending: Vec::new(),
        };
        Self {
            model,
            part,
            limit,
            linearized: Linearized::new(part.returned(), part.len()),
            seen: Seen::new(),
            below: Vec::new(),
            level: Level {
                number: None,
                present,
                waiting: VecDeque::new(),
            },
            candidate: remaining.first(),
            remaining,
            pending_placed: 0,
        }
    }

    /// Returns the number of configurations that were visited.
    pub(super) fn explored(&self) -> usize {
        self.seen.len()
    }

    /// Searches for an order of the operations in which the model allows all results.
    pub(super) fn run(&mut self) -> Found<M::State> {
        let Some(mut furthest) = self.dead_end() else {
            return Found::Order(Vec::new());
        };
        let mut rank = self.rank();
        while !self.remaining.is_done() {
            if self.seen.len() >= self.limit {
                return Found::Limit;
            }
            if let Some(number) = self.candidate {
                self.place(number);
                continue;
            }
            if rank < self.rank() {
                rank = self.rank();
                furthest = self.dead_end().unwrap_or(furthest);
            }
            self.place_pending();
            if !self.try_next() {
                return Found::Stuck(furthest);
            }
        }
        Found::Order(self.order())
    }

    /// Puts the operation `number` next in the order, if this leads to new configurations.
    /// Otherwise, continues with the next candidate.
    fn place(&mut self, number: usize) {
        let branch = |state| Branch {
            state,
            pending: Vec::new(),
        };
        let mut waiting: VecDeque<_> = self.enter_after(number).into_iter().map(branch).collect();
        let Some(present) = waiting.pop_front() else {
            self.candidate = self.remaining.after(number);
            return;
        };
        self.take(number);
        let level = Level {
            number: Some(number),
            present,
            waiting,
        };
        self.below.push(mem::replace(&mut self.level, level));
        self.candidate = self.remaining.first();
    }

    /// Adds to this level all configurations that result from putting one more pending operation
    /// next in the order.
    fn place_pending(&mut self) {
        let mut candidate = self.remaining.first_pending();
        while let Some(number) = candidate {
            for state in self.enter_after(number) {
                let mut pending = self.level.present.pending.clone();
                pending.push(number);
                self.level.waiting.push_back(Branch { state, pending });
            }
            candidate = self.remaining.pending_after(number);
        }
    }

    /// Finds the new configurations that result from putting the operation `number` next in the
    /// order, and records that they were visited. Returns their states.
    fn enter_after(&mut self, number: usize) -> Vec<M::State> {
        let operation = self.part.operation(number);
        let state = &self.level.present.state;
        let states = self.model.step(state, &operation.op, operation.ret());
        let mut states: Vec<_> = states.into_iter().collect();
        if !states.is_empty() {
            self.linearized.insert(number);
            states.retain(|state| {
                let may_enter = self.seen.len() < self.limit;
                may_enter && self.seen.insert(&self.linearized, state.clone())
            });
            self.linearized.remove(number);
        }
        states
    }

    /// Continues with the next configuration of this level, or, if there is none, with the next
    /// candidate of the level below. Returns false if all configurations and candidates were tried.
    fn try_next(&mut self) -> bool {
        for number in mem::take(&mut self.level.present.pending).into_iter().rev() {
            self.put_back(number);
        }
        if let Some(branch) = self.level.waiting.pop_front() {
            branch.pending.iter().for_each(|number| self.take(*number));
            self.level.present = branch;
            self.candidate = self.remaining.first();
            return true;
        }
        let (Some(number), Some(below)) = (self.level.number, self.below.pop()) else {
            return false;
        };
        self.put_back(number);
        self.level = below;
        self.candidate = self.remaining.after(number);
        true
    }

    fn take(&mut self, number: usize) {
        self.remaining.take(number);
        self.linearized.insert(number);
        self.pending_placed += usize::from(self.is_pending(number));
    }

    fn put_back(&mut self, number: usize) {
        self.remaining.put_back(number);
        self.linearized.remove(number);
        self.pending_placed -= usize::from(self.is_pending(number));
    }

    fn is_pending(&self, number: usize) -> bool {
        number >= self.part.returned()
    }

    fn order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        for level in self.below.iter().chain([&self.level]) {
            order.extend(level.number);
            order.extend(&level.present.pending);
        }
        order
    }

    /// Returns the progress of the search, so that two moments of the search can be compared. The
    /// result has three parts, the most important part first:
    /// - The earliest return of an operation that is not in the order. A later return is better.
    /// - The number of returned operations in the order. A greater number is better.
    /// - The number of pending operations in the order. A smaller number is better, because pending
    ///   operations need not be in the order.
    fn rank(&self) -> (Option<usize>, usize, Reverse<usize>) {
        let blocked = self.remaining.first_to_return();
        let time = blocked.and_then(|number| self.part.operation(number).ended());
        (time, self.below.len(), Reverse(self.pending_placed))
    }

    /// Returns the configuration at which the search is stuck. Returns `None` if the order that the
    /// search has built contains all completed operations.
    fn dead_end(&self) -> Option<DeadEnd<M::State>> {
        Some(DeadEnd {
            prefix: self.order(),
            blocked: self.remaining.first_to_return()?,
            state: self.level.present.state.clone(),
        })
    }
}
