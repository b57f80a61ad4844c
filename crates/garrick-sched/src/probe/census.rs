//! The census of a worker. In a census, the worker counts the messages in the mailboxes of its
//! tasks, and lists the tasks that stand out: those with the longest mailboxes, those with the
//! oldest messages, and the busiest tasks.
//!
//! Only the worker can read these mailboxes. So a thread that takes a sample reads the results of
//! the last census, and requests the next census. The worker takes the next census after its
//! current turn, or when it goes to sleep. If more than [`CENSUS_MAX`] tasks of a run queue are
//! ready, the worker counts only some of them. Each counted task then represents several tasks.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use garrick_core::prim::unmodelled::{AtomicU64, Relaxed};

use super::ages::Ages;
use super::kinds::{Kinds, Mailboxes, OTHERS};
use super::top::{Busiest, Found, Highest};
use crate::cell::{Table, TaskId};
use crate::world::Nanos;

/// Maximum number of tasks in each run queue that are counted in one census (a count of waiting
/// messages). With this limit, a census takes at most about 0.2 ms.
pub(crate) const CENSUS_MAX: usize = 2_048;

/// Length of a mailbox above which a task in a census (a count of waiting messages) represents no
/// other tasks. An activation handles at most this number of messages. So each activation of a task
/// with a longer mailbox leaves messages, and the task is listed at the end of the activation, even
/// without a census.
const HEAVY: u64 = 256;

/// Requests for censuses of one worker, and the results. A census is a count of the waiting
/// messages. Used by the worker and by other threads.
#[derive(Default)]
pub(super) struct Censuses {
    /// Number of census requests so far. Incremented by threads that take samples.
    asked: AtomicU64,
    /// Number of census requests at the time of the latest census (count of waiting messages).
    /// Written by the worker.
    answered: AtomicU64,
    found: Mutex<Found>,
}

/// Measurements of the mailbox of one task.
#[derive(Clone, Copy)]
pub(crate) struct Mailbox {
    /// Sequence number of the oldest message in the mailbox.
    pub(crate) first: usize,
    /// Sequence number that the next message of the mailbox gets.
    pub(crate) end: usize,
    /// Number of messages in the mailbox.
    pub(crate) waiting: u64,
    /// Time for which the oldest message with a measured time has waited, in nanoseconds. 0 if no
    /// time is known.
    pub(crate) oldest: Nanos,
}

impl Censuses {
    /// Returns the results of the latest census (count of waiting messages).
    pub(super) fn found(&self) -> Found {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.clone()
    }

    /// Requests a new census: the worker then counts its waiting messages.
    pub(super) fn ask(&self) {
        // Relaxed: the number is independent.
        self.asked.fetch_add(1, Relaxed);
    }

    /// Returns true if another census (count of waiting messages) was requested after the latest
    /// one.
    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        // Relaxed, both: a hint, and each number is independent.
        self.asked.load(Relaxed) != self.answered.load(Relaxed)
    }

    fn publish(&self, found: Found) {
        let mut last = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *last, found);
        drop(last);
        // Dropped after the lock is released.
        drop(old);
    }
}

/// The data for censuses (counts of waiting messages). Only the worker accesses this data.
pub(super) struct Tally {
    counts: RefCell<Counts>,
}

struct Counts {
    /// Time of the latest census (count of waiting messages).
    began: Nanos,
    /// Counts of the waiting messages of each kind of task. The index is the place of the kind in
    /// the table of kinds.
    mailboxes: Vec<Mailboxes>,
    /// Indices of those kinds of tasks for which the latest or the current census (count of waiting
    /// messages) has found messages.
    places: Vec<usize>,
    /// Tasks that the current census has counted and that have more than [`HEAVY`] messages.
    heavy: Vec<TaskId>,
    longest: Highest,
    oldest: Highest,
    busiest: Busiest,
    ages: Ages,
}

/// The counters of a census (count of waiting messages) that is being taken.
pub(crate) struct Count<'a> {
    kinds: &'a Kinds,
    counts: &'a mut Counts,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            counts: RefCell::new(Counts {
                began: 0,
                mailboxes: vec![Mailboxes::default(); OTHERS + 1],
                places: Vec::new(),
                heavy: Vec::new(),
                longest: Highest::default(),
                oldest: Highest::default(),
                busiest: Busiest::default(),
                ages: Ages::default(),
            }),
        }
    }

    /// Returns true if the latest census (count of waiting messages) found any messages.
    pub(super) fn has_shown(&self) -> bool {
        !self.counts.borrow().places.is_empty()
    }

    /// Begins to add up the running times of `task`, which runs now. Returns true if the caller
    /// must pass the label of the task to [`Tally::name`].
    pub(super) fn follow(&self, task: TaskId, table: &'static Table) -> bool {
        self.counts.borrow_mut().busiest.follow(task, table)
    }

    /// Sets the label of the task that runs now.
    pub(super) fn name(&self, label: Option<String>) {
        self.counts.borrow_mut().busiest.name(label);
    }

    /// Records that the label of the task that runs now could not be requested.
    pub(super) fn name_later(&self) {
        self.counts.borrow_mut().busiest.name_later();
    }

    /// Adds `time` to the running time of the task that runs now.
    pub(super) fn add_time(&self, time: Nanos) {
        self.counts.borrow_mut().busiest.add(time);
    }

    /// Adds `time` to the running time of a task. The task need not be running now.
    pub(super) fn add_time_for(&self, task: TaskId, table: &'static Table, time: Nanos) {
        self.counts.borrow_mut().busiest.add_for(task, table, time);
    }

    /// Lists a task if its mailbox is among the longest. The latest activation of the task has left
    /// `waiting` messages. `first` is the sequence number of the oldest of these messages.
    pub(super) fn put(
        &self,
        task: TaskId,
        table: &'static Table,
        (first, waiting): (usize, usize),
        label: impl FnOnce() -> Option<String>,
    ) {
        let counts = &mut *self.counts.borrow_mut();
        counts.ages.left(task, table, first);
        counts.longest.puts(task, table, waiting as u64, label);
    }

    /// Takes a census at the time `now`: counts the messages in the mailboxes. The function `walk`
    /// passes tasks to the census. If `is_whole` is true, these are all tasks that have messages.
    /// Otherwise, these are only some of them.
    pub(super) fn take(
        &self,
        censuses: &Censuses,
        kinds: &Kinds,
        now: Nanos,
        is_whole: bool,
        walk: impl FnOnce(&mut Count<'_>),
    ) {
        let asked = censuses.asked.load(Relaxed);
        censuses.answered.store(asked, Relaxed);
        let counts = &mut *self.counts.borrow_mut();
        if is_whole {
            counts.longest.take();
            counts.oldest.take();
        }
        counts.ages.begin(now);
        walk(&mut Count { kinds, counts });
        let longest = counts.longest.take();
        counts.ages.keep(&longest);
        for listed in &longest {
            let is_missed =
                !is_whole && listed.amount > HEAVY && !counts.heavy.contains(&listed.task);
            let mailboxes = counts.at(kinds.place_of(listed.table));
            mailboxes.longest = mailboxes.longest.max(listed.amount);
            mailboxes.messages += if is_missed { listed.amount } else { 0 };
        }
        counts.heavy.clear();
        counts.show(kinds);
        censuses.publish(Found {
            began: counts.began,
            at: now,
            busiest: counts.busiest.take(),
            longest,
            oldest: counts.oldest.take(),
        });
        counts.began = now;
    }

    /// Publishes that no messages wait and that no tasks stand out, because the worker has ended.
    pub(super) fn end(&self, censuses: &Censuses, kinds: &Kinds) {
        self.counts.borrow_mut().show(kinds);
        censuses.publish(Found::default());
    }
}

impl Counts {
    /// Returns the counts of the waiting messages for the kind of task with the index `place`.
    fn at(&mut self, place: usize) -> &mut Mailboxes {
        let mailboxes = &mut self.mailboxes[place];
        if mailboxes.messages == 0 && !self.places.contains(&place) {
            self.places.push(place);
        }
        mailboxes
    }

    /// Publishes the counts of the waiting messages of each kind of task, and resets the counts to
    /// 0.
    fn show(&mut self, kinds: &Kinds) {
        let mailboxes = &mut self.mailboxes;
        self.places.retain(|&place| {
            let found = std::mem::take(&mut mailboxes[place]);
            kinds.at(place).show_mailboxes(found);
            // A kind without messages has now been published as empty. It is forgotten. A kind may
            // have a longest mailbox although no message was counted, because a census that is not
            // whole does not read all mailboxes.
            found != Mailboxes::default()
        });
    }
}

impl Count<'_> {
    /// Counts a task with its mailbox. The task represents `weight` tasks, itself included.
    pub(crate) fn add(
        &mut self,
        task: TaskId,
        table: &'static Table,
        mailbox: Mailbox,
        weight: u64,
        label: impl Fn() -> Option<String>,
    ) {
        if self.counts.busiest.wants_names() {
            self.counts.busiest.name_one(task, table, &label);
        }
        let waiting = mailbox.waiting;
        let weight = if waiting > HEAVY {
            self.counts.heavy.push(task);
            1
        } else {
            weight
        };
        let mailboxes = self.counts.at(self.kinds.place_of(table));
        mailboxes.messages = mailboxes
            .messages
            .saturating_add(waiting.saturating_mul(weight));
        mailboxes.longest = mailboxes.longest.max(waiting);
        let age = self.counts.ages.age_of(task, table, mailbox.first);
        let oldest = mailbox.oldest.max(age);
        if oldest > 0 {
            self.counts.oldest.puts(task, table, oldest, &label);
        }
        if waiting > 1 && self.counts.longest.puts(task, table, waiting, label) {
            let Mailbox { first, end, .. } = mailbox;
            self.counts.ages.note(task, table, first, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::tables::nothing_to_drop;

    static FIRST: Table = Table::of_messages::<u8>(nothing_to_drop);
    static SECOND: Table = Table::of_messages::<u8>(nothing_to_drop);

    /// Returns a mailbox in which no message has a measured time.
    fn of(waiting: u64) -> Mailbox {
        Mailbox {
            first: 0,
            end: waiting as usize,
            waiting,
            oldest: 0,
        }
    }

    fn shown(kinds: &Kinds, table: &'static Table) -> Mailboxes {
        kinds.of(table).mailboxes()
    }

    #[test]
    fn a_census_counts_what_waits_now() {
        let (censuses, kinds, tally) = (Censuses::default(), Kinds::new(), Tally::new());
        assert!(!censuses.is_asked());
        censuses.ask();
        assert!(censuses.is_asked());
        tally.take(&censuses, &kinds, 100, true, |count| {
            count.add(TaskId(1), &FIRST, of(5), 1, || Some("one".to_owned()));
            count.add(TaskId(2), &FIRST, of(7), 1, || None);
            count.add(TaskId(3), &SECOND, of(1), 4, || {
                panic!("one message is nothing special")
            });
        });
        assert!(!censuses.is_asked());
        let found_of = |messages, longest| Mailboxes { messages, longest };
        assert_eq!(shown(&kinds, &FIRST), found_of(12, 7));
        assert_eq!(shown(&kinds, &SECOND), found_of(4, 1));
        let found = censuses.found();
        assert_eq!((found.began, found.at), (0, 100));
        let longest: Vec<_> = found.longest.iter().map(|l| (l.task, l.amount)).collect();
        assert_eq!(longest, [(TaskId(2), 7), (TaskId(1), 5)]);
        assert_eq!(found.longest[1].label.as_deref(), Some("one"));
        tally.take(&censuses, &kinds, 150, true, |count| {
            count.add(TaskId(3), &SECOND, of(2), 1, || None);
        });
        assert_eq!(
            shown(&kinds, &FIRST),
            Mailboxes::default(),
            "nothing waits there"
        );
        assert_eq!(shown(&kinds, &SECOND), found_of(2, 2));
        assert_eq!(censuses.found().began, 100);
    }

    #[test]
    fn a_partial_census_keeps_what_activations_have_found() {
        let (censuses, kinds, tally) = (Censuses::default(), Kinds::new(), Tally::new());
        for is_whole in [false, true] {
            tally.put(TaskId(9), &FIRST, (0, 12_500), || None);
            tally.take(&censuses, &kinds, 0, is_whole, |count| {
                count.add(TaskId(1), &FIRST, of(2), 40, || None);
            });
            let found = censuses.found().longest;
            let is_listed = found.iter().any(|listed| listed.task == TaskId(9));
            assert_eq!(is_listed, !is_whole);
            let messages = if is_whole { 80 } else { 80 + 12_500 };
            assert_eq!(shown(&kinds, &FIRST).messages, messages);
        }
    }

    #[test]
    fn a_long_mailbox_represents_no_others() {
        let (censuses, kinds, tally) = (Censuses::default(), Kinds::new(), Tally::new());
        tally.put(TaskId(9), &FIRST, (0, 12_500), || None);
        tally.take(&censuses, &kinds, 0, false, |count| {
            count.add(TaskId(9), &FIRST, of(12_400), 40, || None);
        });
        let found_of = |messages, longest| Mailboxes { messages, longest };
        assert_eq!(shown(&kinds, &FIRST), found_of(12_400, 12_400));
    }
}
