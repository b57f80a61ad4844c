//! A stage that distributes values over several channels by their keys.

use std::fmt;
use std::hash::Hash;

use super::key::channel_of;
use crate::channel::Poke;
use crate::{Cx, Receiver, Senders, Stage, Wait, Wiring};

/// A stage that distributes values over several outputs by their keys. Created by [`partition`].
pub struct Partition<T, F> {
    input: Receiver<T>,
    outputs: Senders<T>,
    key: F,
    /// The plan: the index of the output channel for each of the next values, in order. The vector
    /// is a field so that its memory is reused.
    plan: Vec<u32>,
    /// Number of free slots that each output channel will have after the plan is carried out. The
    /// vector is a field so that its memory is reused.
    room: Vec<usize>,
    /// Number of slots that must become free in a full output before the stage is woken.
    wanted: usize,
}

/// Creates a stage that distributes the values of `input` over `outputs` by their keys. `key`
/// returns the key of a value.
///
/// Values with equal keys go to the same output, in order. A hash of the key determines the output,
/// so the output of a key is the same in every run. If one output is full, it blocks all outputs:
/// the first value for the full output and all values behind it stay in the input. If some keys are
/// much more frequent than others, create the outputs with more slots. If the receiver of an output
/// is gone, the stage ends, because the values for this output must not go to another one. While no
/// value comes, the stage notices this only if all receivers are gone.
///
/// Values are moved directly from channel to channel, one batch at a time.
///
/// Each step looks at all outputs. So the time of a step grows with the number of outputs, even if
/// the step moves a single value. For hundreds of outputs, give the input and the outputs many
/// slots, so that a step moves many values.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, stages};
///
/// let mut graph = Graph::new();
/// let (words, words_in) = graph.channel(64)?;
/// let (parts, parts_in) = graph.bundle::<&str>(3, 64)?;
/// graph.source("words", stages::produce(words, ["tea", "milk", "tea", "tea"]));
/// graph.stage("by word", stages::partition(words_in, parts, |word| *word));
/// for part in parts_in {
///     let mut seen = 0;
///     graph.stage("count", stages::consume(part, move |words: &[&str]| {
///         seen += words.iter().filter(|word| **word == "tea").count();
///         assert!(seen == 0 || seen <= 3);
///     }));
/// }
/// assert!(graph.start()?.join().failures().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn partition<T, K, F>(input: Receiver<T>, outputs: Senders<T>, key: F) -> Partition<T, F>
where
    F: FnMut(&T) -> K,
    K: Hash,
{
    Partition {
        plan: Vec::with_capacity(input.batch()),
        room: Vec::with_capacity(outputs.len()),
        input,
        outputs,
        key,
        wanted: 1,
    }
}

impl<T, F> Partition<T, F> {
    /// Sets how many free slots the stage waits for when an output is full. The default is 1.
    #[must_use]
    pub fn wait_for(mut self, slots: usize) -> Self {
        self.wanted = slots;
        self
    }

    /// Plans which output channel each of the next values goes to, for at most one batch. If a
    /// value goes to a full output channel, the plan ends before this value, and the method returns
    /// the index of the full channel. Otherwise returns `None`.
    fn plan<K: Hash>(&mut self) -> Option<usize>
    where
        F: FnMut(&T) -> K,
    {
        self.plan.clear();
        self.room.clear();
        self.room
            .extend(self.outputs.iter_mut().map(|to| to.free()));
        let batch = self.input.batch();
        for value in self.input.peek().iter().take(batch) {
            let to = channel_of(&(self.key)(value), self.room.len());
            let Some(left) = self.room[to].checked_sub(1) else {
                return Some(to);
            };
            self.room[to] = left;
            // Fits, since channels have numbers of 32 bits.
            self.plan.push(to as u32);
        }
        None
    }

    /// Moves the planned values to their output channels.
    fn carry_out(&mut self) {
        if self.plan.is_empty() {
            return;
        }
        let batch = self.plan.len();
        let mut pokes: Vec<Poke<'_, T>> =
            self.outputs.iter_mut().map(|to| to.poke(batch)).collect();
        let mut plan = self.plan.iter();
        self.input.pop_each(batch, |value| {
            let to = plan.next().map_or(0, |to| *to as usize);
            let pushed = pokes[to].push(value);
            debug_assert!(pushed.is_ok(), "the plan counts on free slots only");
        });
        for poke in pokes {
            poke.commit();
        }
    }
}

impl<T, K, F> Stage for Partition<T, F>
where
    T: Send + 'static,
    K: Hash,
    F: FnMut(&T) -> K + Send + 'static,
{
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        if self.outputs.is_empty() || self.outputs.iter().any(|to| to.is_closed()) {
            return Wait::done();
        }
        let full = self.plan();
        self.carry_out();
        if self.input.is_finished() {
            return Wait::done();
        }
        let rest = match full {
            Some(to) => Wait::free(&self.outputs[to], self.wanted),
            // One output is ready, unless all receivers are gone, which ends the wait.
            None => Wait::readable(&self.input, 1).and(Wait::any_free(&self.outputs, 1)),
        };
        super::next(self.plan.len(), rest)
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.input).has(&self.outputs);
    }
}

impl<T, F> fmt::Debug for Partition<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partition")
            .field("input", &self.input)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}
