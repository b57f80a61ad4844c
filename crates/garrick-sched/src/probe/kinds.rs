//! Counters for each kind of task, in a small hash table with one writer.

use std::sync::OnceLock;

use garrick_core::prim::atomic::{AtomicU64, Ordering::Relaxed};

use super::KindSample;
use super::durations::Counters;
use super::gauge::Allowance;
use super::messages::Messages;
use crate::cell::Table;
use crate::letters::name_of_others;
use crate::world::Nanos;

/// Maximum number of places that one search for a kind of task checks. So at least this number of
/// kinds are counted separately. Kinds for which the search finds no place are counted together.
const KINDS_MAX: usize = 256;

/// Index of the place that all kinds without a separate place share. The indices of all other
/// places are smaller.
pub(super) const OTHERS: usize = 2 * KINDS_MAX;

/// One of the counters that exist for each kind of task.
#[derive(Clone, Copy)]
pub(super) enum Count {
    Begun,
    Ended,
    Turns,
    Activations,
    Busy,
    Failures,
    Recoveries,
    Restarts,
    SlowTurns,
}

const COUNTS: usize = Count::SlowTurns as usize + 1;

/// Counts of the messages that wait for tasks of one kind.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Mailboxes {
    /// Sum of the lengths of all mailboxes.
    pub(super) messages: u64,
    /// Number of messages in the longest mailbox.
    pub(super) longest: u64,
}

/// Counters of one kind of task. Written by one worker, read by any thread.
#[derive(Default)]
pub(super) struct Kind {
    /// Function table of the tasks of this kind. Written once, when the first task of the kind is
    /// counted.
    table: OnceLock<&'static Table>,
    counts: [AtomicU64; COUNTS],
    /// Number of messages in the mailboxes of the worker's tasks of this kind, at the last census
    /// (count of waiting messages). The field `longest` is the number of messages in the longest of
    /// these mailboxes.
    messages: AtomicU64,
    longest: AtomicU64,
    /// Estimated number of turns in each class of durations.
    turn_times: Counters,
    /// Number of messages in each class of waiting times. Created when the first waiting time is
    /// counted.
    waits: OnceLock<Box<Counters>>,
    /// Counters by kind of message. Created at the first timed activation of the kind, if its
    /// messages have kinds.
    by_message: OnceLock<Box<Messages>>,
    /// The encoded [`Allowance`] for the measurement of turns.
    allowance: AtomicU64,
}

impl Kind {
    /// Adds `by` to a counter. Only the thread that owns the counters may call this.
    #[inline]
    pub(super) fn add(&self, count: Count, by: u64) {
        let counter = &self.counts[count as usize];
        // Relaxed, both: one writer, and each counter is independent.
        counter.store(counter.load(Relaxed).wrapping_add(by), Relaxed);
    }

    /// Counts `count` turns whose average duration is `time`. Only the thread that owns the
    /// counters may call this.
    pub(super) fn add_turns(&self, time: Nanos, count: u64) {
        self.turn_times.add(time, count);
    }

    /// Counts a message that has waited for `time`. Only the thread that owns the counters may call
    /// this.
    pub(super) fn waited(&self, time: Nanos) {
        self.waits.get_or_init(Box::default).add(time, 1);
    }

    /// Returns the allowance (the time budget) for the measurement of turns.
    pub(super) fn allowance(&self) -> Allowance {
        Allowance::from_word(self.allowance.load(Relaxed))
    }

    /// Sets the allowance (the time budget) for the measurement of turns. Only the thread that owns
    /// the counters may call this.
    pub(super) fn set_allowance(&self, allowance: Allowance) {
        self.allowance.store(allowance.word(), Relaxed);
    }

    /// Returns the counters by kind of message. Returns `None` if the messages have no kinds, or if
    /// the kind of task is counted together with other kinds.
    pub(super) fn messages(&self) -> Option<&Messages> {
        let names = self.table.get()?.messages;
        let create = || Box::new(Messages::new(names));
        (!names.is_empty()).then(|| &**self.by_message.get_or_init(create))
    }

    /// Publishes the result of a census (a count of waiting messages). Only the thread that owns
    /// the counters may call this.
    pub(super) fn show_mailboxes(&self, mailboxes: Mailboxes) {
        // Relaxed, both: as in `add`.
        self.messages.store(mailboxes.messages, Relaxed);
        self.longest.store(mailboxes.longest, Relaxed);
    }

    /// Returns the result of the last census (count of waiting messages) for this kind of task.
    pub(super) fn mailboxes(&self) -> Mailboxes {
        Mailboxes {
            messages: self.messages.load(Relaxed),
            longest: self.longest.load(Relaxed),
        }
    }

    fn get(&self, count: Count) -> u64 {
        self.counts[count as usize].load(Relaxed)
    }

    /// Returns true if any counter is above 0. To check only the counter of activations is not
    /// enough: the tasks that other threads create for the sponsor (group of workers), or move to
    /// the sponsor, are counted separately, without activations.
    fn is_used(&self) -> bool {
        self.counts.iter().any(|counter| counter.load(Relaxed) > 0)
    }

    fn add_to(&self, sample: &mut KindSample) {
        // A task that has ended has begun: read in this order, no sample shows more ended than
        // begun.
        sample.ended += self.get(Count::Ended);
        sample.begun += self.get(Count::Begun);
        sample.turns += self.get(Count::Turns);
        sample.activations += self.get(Count::Activations);
        sample.busy += self.get(Count::Busy);
        sample.failures += self.get(Count::Failures);
        sample.recoveries += self.get(Count::Recoveries);
        sample.restarts += self.get(Count::Restarts);
        sample.slow_turns += self.get(Count::SlowTurns);
        self.turn_times.add_to(&mut sample.turn_times);
        if let Some(waits) = self.waits.get() {
            waits.add_to(&mut sample.waits);
        }
        if let Some(messages) = self.by_message.get() {
            messages.add_to(&mut sample.messages);
        }
        let mailboxes = self.mailboxes();
        sample.in_mailboxes += mailboxes.messages;
        sample.longest_mailbox = sample.longest_mailbox.max(mailboxes.longest);
    }
}

/// Counters of one worker, by kind of task.
pub(super) struct Kinds {
    /// Places of the hash table, with open addressing. A place is never freed.
    places: Box<[Kind]>,
    /// Counters of all kinds of tasks that found no place in the table.
    others: Kind,
}

impl Kinds {
    pub(super) fn new() -> Self {
        Self {
            places: (0..OTHERS).map(|_| Kind::default()).collect(),
            others: Kind::default(),
        }
    }

    /// Returns the counters for the tasks with the function table `table`. A kind of task has two
    /// function tables: one for tasks that are watched, and one for all other tasks. Each table has
    /// separate counters here. A sample adds up the counters of both tables.
    #[inline]
    pub(super) fn of(&self, table: &'static Table) -> &Kind {
        self.at(self.place_of(table))
    }

    /// Returns the counters at index `place` of the table.
    #[inline]
    pub(super) fn at(&self, place: usize) -> &Kind {
        self.places.get(place).unwrap_or(&self.others)
    }

    /// Returns the index of the place that contains the counters of the kind of task with the
    /// function table `table`. The index never changes. Returns [`OTHERS`] if the kind has no
    /// separate place.
    #[inline]
    pub(super) fn place_of(&self, table: &'static Table) -> usize {
        let first = self.first_place(table);
        match self.places[first].table.get() {
            Some(known) if std::ptr::eq(*known, table) => first,
            _ => self.find(table, first),
        }
    }

    fn first_place(&self, table: &'static Table) -> usize {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
        let hash = (std::ptr::from_ref(table).addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize % self.places.len()
    }

    #[inline(never)]
    fn find(&self, table: &'static Table, first: usize) -> usize {
        // The search is limited, because chains become long when the table fills up.
        let mut places = (first..first + KINDS_MAX).map(|place| place % self.places.len());
        let is_its =
            |&place: &usize| std::ptr::eq(*self.places[place].table.get_or_init(|| table), table);
        places.find(is_its).unwrap_or(OTHERS)
    }

    /// Adds the counts of each kind of task to `samples`. The function table of a kind identifies
    /// its sample. Does not get the names of the kinds, because that would call foreign code, and
    /// the caller may hold a lock.
    pub(super) fn add_to(&self, samples: &mut Vec<Unnamed>) {
        for kind in &self.places {
            if let Some(&table) = kind.table.get() {
                kind.add_to(sample_of(Some(table), samples));
            }
        }
        if self.others.is_used() {
            self.others.add_to(sample_of(None, samples));
        }
    }
}

/// A function table, and the counts of the tasks that have this table. `None` instead of a table
/// stands for all kinds of tasks for which there was no place.
pub(super) type Unnamed = (Option<&'static Table>, KindSample);

/// Returns the sample for the function table `table`. Adds a new sample if there is none.
fn sample_of<'a>(
    table: Option<&'static Table>,
    samples: &'a mut Vec<Unnamed>,
) -> &'a mut KindSample {
    let at = |table: Option<&'static Table>| table.map(std::ptr::from_ref);
    let index = samples
        .iter()
        .position(|(other, _)| at(*other) == at(table));
    let index = index.unwrap_or_else(|| {
        samples.push((table, KindSample::default()));
        samples.len() - 1
    });
    &mut samples[index].1
}

/// Returns the samples with their names, and merges samples with equal names. To get the names,
/// calls foreign code.
pub(super) fn named(unnamed: Vec<Unnamed>) -> Vec<KindSample> {
    let (mut samples, mut others) = (Vec::<KindSample>::new(), None);
    for (table, mut sample) in unnamed {
        let Some(table) = table else {
            others = Some(sample);
            continue;
        };
        sample.name = table.name_of();
        sample.internal = table.internal;
        match samples.iter_mut().find(|known| known.name == sample.name) {
            Some(known) => known.add(&sample),
            None => samples.push(sample),
        }
    }
    if let Some(mut others) = others {
        others.name = name_of_others(|name| samples.iter().any(|sample| sample.name == name));
        samples.push(others);
    }
    samples
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;

    #[test]
    fn kinds_without_a_place_are_in_the_sample_before_their_first_activation() {
        let kinds = Kinds::new();
        let mut samples = Vec::new();
        kinds.add_to(&mut samples);
        assert!(samples.is_empty());

        kinds.at(OTHERS).add(Count::Begun, 3);
        kinds.add_to(&mut samples);
        let [(None, others)] = &samples[..] else {
            panic!("one sample for all kinds without a place");
        };
        assert_eq!((others.begun, others.ended, others.activations), (3, 0, 0));
    }
}
