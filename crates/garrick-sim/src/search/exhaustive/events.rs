//! The events of a run, their order by causes, and their races.
//!
//! Event `i` comes *before* event `j` if the order matters: both change the same task, or `i` has
//! caused `j`, or there is an event between them. The two *race* if no third event is between them
//! in this sense, and `i` has not caused `j`. Then there is a run with the opposite order.

use std::collections::{BTreeMap, VecDeque};

use super::bits::Bits;
use crate::search::action::Action;
use crate::search::pos::races;

/// The events of a run.
#[derive(Debug, Clone)]
pub(super) struct Events<A> {
    /// Events of this run, and of the previous run up to the step at which this run differs.
    events: Vec<Event<A>>,
    /// Number of events of this run.
    len: usize,
    /// Step from which on the run differs from the previous one.
    differs_from: usize,
    /// For each action that was caused and has not happened, the events that have caused it, oldest
    /// first. `None` stands for the setup.
    causes: BTreeMap<A, VecDeque<Option<usize>>>,
}

/// An event.
#[derive(Debug, Clone)]
struct Event<A> {
    action: A,
    /// Events that come before it.
    before: Bits,
}

impl<A: Action> Events<A> {
    pub(super) fn new() -> Self {
        Self {
            events: Vec::new(),
            len: 0,
            differs_from: 0,
            causes: BTreeMap::new(),
        }
    }

    /// Begins a run that repeats the previous one up to step `differs_from`.
    pub(super) fn begin(&mut self, differs_from: usize) {
        self.events.truncate(differs_from);
        self.len = 0;
        self.differs_from = differs_from;
        self.causes.clear();
    }

    /// Returns the number of events of this run.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Records that the last event, or the setup, has caused an action.
    pub(super) fn caused(&mut self, action: A) {
        let cause = self.len.checked_sub(1);
        self.causes.entry(action).or_default().push_back(cause);
    }

    /// Adds an event. For each earlier event with which it races, calls `reverse` with the step of
    /// the earlier event, and with the actions that a run with the opposite order can begin with at
    /// that step.
    pub(super) fn add(&mut self, action: A, mut reverse: impl FnMut(usize, &[A])) {
        let cause = self.causes.get_mut(&action).and_then(VecDeque::pop_front);
        let index = self.len;
        self.len += 1;
        if index < self.differs_from {
            return;
        }
        let mut before = Bits::default();
        if let Some(cause) = cause.flatten() {
            self.add_with_earlier(&mut before, cause);
        }
        let mut racing = Vec::new();
        for earlier in (0..index).rev() {
            let other = self.events[earlier].action;
            if before.contains(earlier) || !races(other, action) {
                continue;
            }
            self.add_with_earlier(&mut before, earlier);
            if other.chain() != action.chain() {
                racing.push(earlier);
            }
        }
        self.events.push(Event { action, before });
        for earlier in racing {
            let initials = self.initials(earlier, index);
            reverse(earlier, &initials);
        }
    }

    /// Adds an event and all events before it to a set.
    fn add_with_earlier(&self, set: &mut Bits, event: usize) {
        set.add_all(&self.events[event].before);
        set.insert(event);
    }

    /// Returns the actions with which a run can begin at step `earlier` that has event `later`
    /// without event `earlier`: the first actions of the events after `earlier` that do not depend
    /// on it, and of `later`.
    fn initials(&self, earlier: usize, later: usize) -> Vec<A> {
        let is_independent = |event: &usize| !self.events[*event].before.contains(earlier);
        let mut sequence: Vec<usize> = (earlier + 1..later).filter(is_independent).collect();
        sequence.push(later);
        let is_first = |event: &&usize| {
            let before = &self.events[**event].before;
            !sequence.iter().any(|other| before.contains(*other))
        };
        let first = sequence.iter().filter(is_first);
        // `later` comes first, so that it is preferred.
        first
            .rev()
            .map(|event| self.events[*event].action)
            .collect()
    }
}
