//! Facts that actors record and properties read.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;

use garrick_actor::Note;
use garrick_sched::Nanos;
use hashbrown::HashMap;

use crate::history::{Called, History, Returned};

/// The facts of a run so far, in the order of the turns that have recorded them.
///
/// An actor records a fact by [`Context::note`](garrick_actor::Context::note). The fact is added
/// when the turn commits. If the turn is undone, its facts are dropped.
#[derive(Default)]
pub struct Facts {
    all: Vec<Noted>,
    /// For each type of fact, the positions of its facts in the list of all facts.
    by_type: HashMap<TypeId, Vec<u32>>,
}

/// A fact that the simulation itself records: the node with this name has crashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crashed(pub String);

/// A fact that the simulation itself records: the node with this name has started again after a
/// crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restarted(pub String);

/// A fact that the simulation itself records: a partition has begun. The string contains the names
/// of the nodes that are cut off, separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut(pub String);

/// A fact that the simulation itself records: a partition has healed. The string contains the names
/// of the nodes that were cut off, separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Healed(pub String);

/// A recorded fact, with the time and the step at which it was recorded.
struct Noted {
    fact: Box<dyn Any + Send>,
    format: fn(&dyn Any) -> String,
    at: Nanos,
    step: u32,
}

impl Facts {
    /// Returns the facts of type `F`, oldest first.
    pub fn seen<F: Any>(&self) -> impl DoubleEndedIterator<Item = &F> + ExactSizeIterator + Clone {
        self.positions::<F>().iter().map(|&position| {
            let noted = &self.all[position as usize];
            noted.fact.downcast_ref().expect("facts are kept by type")
        })
    }

    /// Returns the facts of type `F` with their times in nanoseconds since the start of the run,
    /// oldest first.
    pub fn timed<F: Any>(&self) -> impl DoubleEndedIterator<Item = (Nanos, &F)> + Clone {
        let times = self.positions::<F>().iter();
        let times = times.map(|&position| self.all[position as usize].at);
        times.zip(self.seen::<F>())
    }

    /// Returns the facts of type `F` with their positions among the facts of all types, oldest
    /// first.
    pub fn placed<F: Any>(&self) -> impl DoubleEndedIterator<Item = (usize, &F)> + Clone {
        let positions = self.positions::<F>().iter();
        let positions = positions.map(|&position| position as usize);
        positions.zip(self.seen::<F>())
    }

    /// Returns the newest fact of type `F`.
    #[must_use]
    pub fn last<F: Any>(&self) -> Option<&F> {
        self.seen().next_back()
    }

    /// Returns the history of the calls that clients have recorded.
    pub(crate) fn history<Op, Ret>(&self) -> History<Op, Ret>
    where
        Op: Any + Clone,
        Ret: Any + Clone,
    {
        let mut history = History::new();
        let mut open = BTreeMap::new();
        for noted in &self.all {
            if let Some(called) = noted.fact.downcast_ref::<Called<Op>>() {
                open.insert(
                    called.client,
                    history.invoke(called.client, called.op.clone()),
                );
            } else if let Some(returned) = noted.fact.downcast_ref::<Returned<Ret>>()
                && let Some(call) = open.remove(&returned.client)
            {
                history.complete(call, returned.ret.clone());
            }
        }
        history
    }

    /// Returns the number of facts of all types.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns true if no fact was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn positions<F: Any>(&self) -> &[u32] {
        let positions = self.by_type.get(&TypeId::of::<F>());
        positions.map_or(&[], Vec::as_slice)
    }

    /// Adds a fact that was recorded in step number `step` at time `at`.
    pub(crate) fn add(&mut self, note: Note, at: Nanos, step: u32) {
        let position = u32::try_from(self.all.len()).expect("a run notes fewer than 2^32 facts");
        let kind = (*note.fact).type_id();
        self.by_type.entry(kind).or_default().push(position);
        self.all.push(Noted {
            fact: note.fact,
            format: note.format,
            at,
            step,
        });
    }

    /// Returns the step number and the text of each fact, beginning with the fact at the position
    /// `from`.
    pub(crate) fn texts(&self, from: usize) -> impl Iterator<Item = (u32, String)> {
        let facts = self.all[from..].iter();
        facts.map(|noted| (noted.step, (noted.format)(&*noted.fact)))
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = self.texts(0).map(|(_, text)| text);
        f.debug_list().entries(texts).finish()
    }
}
