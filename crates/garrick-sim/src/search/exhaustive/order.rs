//! Happens-before, and the races of a run.
//!
//! A step happens before a later step if both change the same task, if both belong to the same
//! chain, or if the first step is the cause of the later one. A chain consists of steps that happen
//! in a fixed order, such as the delivery of the messages from one sender to one receiver. The
//! relation is transitive. Steps that may change everything are ordered with all other steps. The
//! past of each step is a set of bits, one for each earlier step.
//!
//! Two steps race if they change the same task, no other step is ordered between them, and the
//! later step does not need the earlier one. A step needs its cause and its predecessor in its
//! chain, and all steps before these. If two steps race, the later one could have come first.

use crate::search::action::Action;

/// Returns true if swapping the two actions has no effect on the results.
pub(super) fn commute<A: Action>(one: A, other: A) -> bool {
    let differ = match (one.changes(), other.changes()) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    };
    differ && one.chain() != other.chain()
}

/// A set of steps. Step `n` is in the set if bit `n % 64` of word `n / 64` is set.
#[derive(Clone, Debug, Default)]
struct Past(Vec<u64>);

impl Past {
    fn contains(&self, step: usize) -> bool {
        let word = self.0.get(step / 64);
        word.is_some_and(|word| word >> (step % 64) & 1 == 1)
    }

    fn insert(&mut self, step: usize) {
        let word = step / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (step % 64);
    }

    fn unite(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }
}

#[derive(Clone, Debug)]
struct Event<A> {
    action: A,
    past: Past,
    /// Earlier steps that race with this step.
    races: Vec<usize>,
}

/// Steps of a run, with the happens-before relation.
#[derive(Clone, Debug)]
pub(super) struct Order<A> {
    events: Vec<Event<A>>,
}

impl<A: Action> Order<A> {
    pub(super) fn new() -> Self {
        Self { events: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.events.truncate(len);
    }

    pub(super) fn action(&self, step: usize) -> A {
        self.events[step].action
    }

    pub(super) fn races(&self, step: usize) -> &[usize] {
        &self.events[step].races
    }

    /// Returns true if the first step happens before the second one. The second step must not be
    /// earlier in the run.
    pub(super) fn is_before(&self, first: usize, second: usize) -> bool {
        self.events[second].past.contains(first)
    }

    /// Adds a step and its cause. The cause is `None` if the setup has caused the step.
    pub(super) fn push(&mut self, action: A, cause: Option<usize>) {
        let mut past = self.needed(action, cause);
        let conflicts = self.conflicts(action);
        let is_race = |step: &usize| !past.contains(*step);
        let races: Vec<usize> = conflicts.iter().copied().filter(is_race).collect();
        for step in conflicts {
            self.include(&mut past, step);
        }
        self.events.push(Event {
            action,
            past,
            races,
        });
    }

    /// Adds a step to a set of steps, together with all steps that happen before it.
    fn include(&self, past: &mut Past, step: usize) {
        past.unite(&self.events[step].past);
        past.insert(step);
    }

    /// Returns the steps that the action needs: its cause, the last earlier step of its chain, and
    /// all steps that happen before these two. A chain consists of actions that happen in a fixed
    /// order, such as the messages from one sender to one receiver.
    fn needed(&self, action: A, cause: Option<usize>) -> Past {
        let mut past = Past::default();
        let chain = action.chain();
        let before = self
            .events
            .iter()
            .rposition(|event| event.action.chain() == chain);
        for step in [cause, before].into_iter().flatten() {
            self.include(&mut past, step);
        }
        past
    }

    /// Returns the latest steps that do not commute with the action, because they change the same
    /// task as the action or may change everything. None of the returned steps happens before
    /// another one of them.
    fn conflicts(&self, action: A) -> Vec<usize> {
        match action.changes() {
            Some(task) => {
                let is_conflict =
                    |event: &Event<A>| event.action.changes().is_none_or(|t| t == task);
                self.events
                    .iter()
                    .rposition(is_conflict)
                    .into_iter()
                    .collect()
            }
            None => self.last(),
        }
    }

    /// Returns the last steps in the happens-before order. No other step happens after one of them.
    fn last(&self) -> Vec<usize> {
        let mut past = Past::default();
        let mut last = Vec::new();
        for (step, event) in self.events.iter().enumerate().rev() {
            if !past.contains(step) {
                last.push(step);
                past.unite(&event.past);
            }
            if event.action.changes().is_none() {
                break;
            }
        }
        last
    }
}
