//! Coverage: the pairs of messages that were handled one after the other, and the result of each
//! message (handled, undone, lost or repeated).

use std::collections::BTreeSet;
use std::fmt;

use garrick_sched::{Circumstances, Fate, TaskName};
use hashbrown::HashMap;

/// The kinds of events that a check has seen. If many seeds add no new kinds, then more seeds of
/// the same program will probably find nothing more.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// Pairs of messages that the same actor has handled one after the other.
    pairs: BTreeSet<(Message, Message)>,
    /// Pairs of a kind of message and a result: handled, undone, lost or repeated.
    outcomes: BTreeSet<(Message, Outcome)>,
    /// For each task of the current run, the message that the task has handled most recently.
    last: HashMap<TaskName, Message>,
    /// Most recent seed whose run has added an entry to `pairs` or `outcomes`.
    newest: Option<u64>,
}

/// A message: the type of its receiver, and its own type or kind.
type Message = (&'static str, &'static str);

/// Result of the delivery of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Handled,
    Undone,
    Lost,
    Doubled,
}

impl Coverage {
    /// Forgets the last messages of the previous run, before a new run begins.
    pub(crate) fn begin(&mut self) {
        self.last.clear();
    }

    /// Adds a step of the run with the seed `seed`. `to` is the receiver of the message.
    pub(crate) fn add(
        &mut self,
        seed: u64,
        to: TaskName,
        about: &Circumstances,
        fate: Fate,
        undone: bool,
    ) {
        if about.is_internal || !about.is_message {
            return;
        }
        let message = (about.type_name, about.kind.unwrap_or(about.message));
        let outcome = match (fate, undone) {
            (Fate::Lost, _) => Outcome::Lost,
            (_, true) => Outcome::Undone,
            (Fate::Doubled, _) => Outcome::Doubled,
            _ => Outcome::Handled,
        };
        let mut is_new = self.outcomes.insert((message, outcome));
        if outcome != Outcome::Lost
            && let Some(before) = self.last.insert(to, message)
        {
            is_new |= self.pairs.insert((before, message));
        }
        if is_new {
            self.newest = Some(seed);
        }
    }

    /// Returns the number of different pairs of messages that an actor has handled directly one
    /// after the other.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the number of different pairs that have occurred. A pair consists of a kind of
    /// message and its result: handled, undone, lost or repeated.
    #[must_use]
    pub fn outcomes(&self) -> usize {
        self.outcomes.len()
    }

    /// Returns the most recent seed whose run has increased [`pairs`](Self::pairs) or
    /// [`outcomes`](Self::outcomes).
    #[must_use]
    pub fn newest(&self) -> Option<u64> {
        self.newest
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} pairs of messages, {} outcomes",
            self.pairs(),
            self.outcomes()
        )?;
        if let Some(newest) = self.newest {
            write!(f, ", the last new one at seed {newest}")?;
        }
        Ok(())
    }
}
