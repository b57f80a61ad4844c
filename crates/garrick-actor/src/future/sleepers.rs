//! The sleeps inside an async actor and their deadlines.
//!
//! Each actor has its own table of sleeps. The timing wheel contains only one entry for the actor,
//! which is the earliest deadline of all sleeps. A sleep starts at the end of the actor's poll in
//! which the sleep was first polled. So for all sleeps that start in a poll, the clock is read only
//! once.
//!
//! ```text
//!   settled: a deadline not before the last one in line ---> line, O(1)
//!            an earlier one ------------------------------> heap, O(log n)
//!   numbers: 1 2 3 4 | 5 6 7 8 9      all before `first_asleep` are over: their polls need no lock
//!                      ^ first_asleep
//! ```
//!
//! Sleeps with the same duration are stored in `line`, where adding or removing a sleep takes O(1).
//! Cancelling a sleep takes O(1) too: it frees the place in the table, and the entry in `line` or
//! `heap` becomes stale. Stale entries are removed when they are more than half of all entries.
//! Once all collections have grown to their final size, there are no more allocations.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use garrick_core::count::{Counter, CounterReader};
use garrick_sched::Nanos;

use crate::quiet;

/// Number of stale entries (entries of cancelled sleeps) that a table may have without being swept.
/// A sweep removes all stale entries of `line` and `heap`.
const SWEPT_MIN: usize = 32;

/// A key that identifies a sleep. The key becomes invalid when the sleep is over or cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Number that identifies the sleep. Later sleeps have higher numbers. Sleeps with the same
    /// deadline are woken in the order of their numbers.
    number: u64,
    /// Index of the sleep in the table.
    place: usize,
}

/// An entry of the table of sleeps. The entry contains one sleep, or is free.
struct Sleeper {
    /// Sequence number of the sleep. 0 if this entry is free.
    number: u64,
    /// Waker of the sleep. Each poll of the sleep stores the waker. The actor takes the waker when
    /// the sleep is over.
    waker: Option<Waker>,
}

#[derive(Default)]
struct Table {
    sleepers: Vec<Sleeper>,
    vacant: Vec<usize>,
    /// Sleeps with known deadlines, sorted by deadline and by number.
    line: VecDeque<(Nanos, Key)>,
    /// Sleeps with known deadlines that are not in `line`. When such a sleep was added, its
    /// deadline was earlier than the last deadline in `line`.
    heap: BinaryHeap<Reverse<(Nanos, Key)>>,
    /// Sleeps that started in the current poll, with their durations.
    fresh: Vec<(Nanos, Key)>,
    /// Sequence number of the newest sleep.
    last: u64,
    /// Number of entries in `line`, `heap` and `fresh` that belong to cancelled sleeps.
    stale: usize,
    /// Lower bound on the sequence numbers of all sleeps that are not over. Polls read this value
    /// without the lock.
    first_asleep: Counter,
}

impl Table {
    fn at(&mut self, key: Key) -> Option<&mut Sleeper> {
        let sleeper = self.sleepers.get_mut(key.place)?;
        (sleeper.number == key.number).then_some(sleeper)
    }

    fn occupy(&mut self, waker: Waker) -> Key {
        self.last += 1;
        let sleeper = Sleeper {
            number: self.last,
            waker: Some(waker),
        };
        let place = self.vacant.pop().unwrap_or(self.sleepers.len());
        match self.sleepers.get_mut(place) {
            Some(vacant) => *vacant = sleeper,
            None => self.sleepers.push(sleeper),
        }
        let number = self.last;
        Key { number, place }
    }

    fn vacate(&mut self, key: Key) -> Option<Waker> {
        let sleeper = self.at(key)?;
        sleeper.number = 0;
        let waker = sleeper.waker.take();
        self.vacant.push(key.place);
        waker
    }

    fn sweep(&mut self) {
        let Self {
            line,
            heap,
            sleepers,
            ..
        } = self;
        line.retain(|(_, key)| sleepers[key.place].number == key.number);
        heap.retain(|Reverse((_, key))| sleepers[key.place].number == key.number);
        self.stale = 0;
    }

    /// Adds a sleep with a known deadline to one of the two sorted collections, `line` or `heap`.
    fn enlist(&mut self, deadline: Nanos, key: Key) {
        match self.line.back() {
            Some((last, _)) if deadline < *last => self.heap.push(Reverse((deadline, key))),
            _ => self.line.push_back((deadline, key)),
        }
    }

    /// Returns the earliest deadline, the key of its sleep, and a flag. The flag is true if the
    /// entry is in `line`, and false if it is in `heap`.
    fn earliest(&self) -> Option<(Nanos, Key, bool)> {
        let in_line = self
            .line
            .front()
            .map(|(deadline, key)| (*deadline, *key, true));
        let in_heap = self
            .heap
            .peek()
            .map(|Reverse((deadline, key))| (*deadline, *key, false));
        match (in_line, in_heap) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Removes the entry that [`Table::earliest`] returned.
    fn forget_earliest(&mut self, is_in_line: bool) {
        if is_in_line {
            self.line.pop_front();
        } else {
            self.heap.pop();
        }
    }

    /// Decrements the number of stale entries (entries of cancelled sleeps), because one of them
    /// was removed.
    fn was_stale(&mut self) {
        self.stale = self.stale.saturating_sub(1);
    }

    /// Updates `first_asleep` after sleeps are over. Has no effect while the heap contains entries,
    /// because entries of the heap are not sorted by number.
    fn advance(&mut self) {
        if !self.heap.is_empty() {
            return;
        }
        let next = self.line.front().or(self.fresh.first());
        let first = next.map_or(self.last + 1, |(_, key)| key.number);
        self.first_asleep.set(first);
    }
}

/// The sleeps inside an async actor.
pub(super) struct Sleepers {
    /// Table of the sleeps. Locked for short periods, by polls of sleeps, and by the actor before
    /// and after its own polls.
    table: Mutex<Table>,
    /// Reader of the lower bound `Table::first_asleep`, for code that does not hold the lock.
    first_asleep: CounterReader,
}

impl Default for Sleepers {
    fn default() -> Self {
        let table = Table::default();
        Self {
            first_asleep: table.first_asleep.reader(),
            table: Mutex::new(table),
        }
    }
}

impl Sleepers {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a sleep.
    pub(super) fn begin(&self, delay: Nanos, waker: &Waker) -> Key {
        // The waker is cloned while the table is unlocked, because its code may do anything.
        let waker = waker.clone();
        let mut table = self.lock();
        let key = table.occupy(waker);
        table.fresh.push((delay, key));
        key
    }

    /// Returns true if the sleep with this key is over. The key is then no longer valid. If the
    /// sleep is not over, stores `waker`, which is woken when the sleep is over.
    pub(super) fn is_over(&self, key: Key, waker: &Waker) -> bool {
        if key.number < self.first_asleep.get() {
            return true;
        }
        let known = self.lock().at(key).map(|sleeper| {
            let known = sleeper.waker.as_ref();
            known.is_some_and(|known| known.will_wake(waker))
        });
        match known {
            None => return true,
            Some(true) => return false,
            Some(false) => {}
        }
        // Wakers are cloned and dropped while the table is unlocked, because their code may do
        // anything, even cancel another sleep.
        let mut waker = Some(waker.clone());
        let mut table = self.lock();
        let swapped = table
            .at(key)
            .map(|sleeper| mem::swap(&mut sleeper.waker, &mut waker));
        let is_over = swapped.is_none();
        drop(table);
        drop(waker);
        is_over
    }

    /// Cancels a sleep.
    pub(super) fn cancel(&self, key: Key) {
        let mut table = self.lock();
        // The waker is dropped after the table is unlocked, because its code may do anything.
        let waker = table.vacate(key);
        table.stale += usize::from(waker.is_some());
        if table.stale > SWEPT_MIN && table.stale > (table.line.len() + table.heap.len()) / 2 {
            table.sweep();
        }
        drop(table);
        drop(waker);
    }

    /// Removes the sleeps that are due at `now`, and adds their wakers to `woken`.
    pub(super) fn take_due(&self, now: Nanos, woken: &mut Vec<Waker>) {
        let table = &mut *self.lock();
        while let Some((deadline, key, is_in_line)) = table.earliest()
            && deadline <= now
        {
            table.forget_earliest(is_in_line);
            match table.vacate(key) {
                Some(waker) => woken.push(waker),
                None => table.was_stale(),
            }
        }
        table.advance();
    }

    /// Returns true if there is a sleep with a known deadline.
    pub(super) fn any(&self) -> bool {
        self.lock().earliest().is_some()
    }

    /// Sets the deadlines of the sleeps that started in the latest poll. Returns the earliest
    /// deadline of all sleeps. Calls `now` only if it needs the current time.
    pub(super) fn settle(&self, now: impl FnOnce() -> Nanos) -> Option<Nanos> {
        let table = &mut *self.lock();
        if !table.fresh.is_empty() {
            let now = now();
            let mut fresh = mem::take(&mut table.fresh);
            for (delay, key) in fresh.drain(..) {
                if table.at(key).is_some() {
                    table.enlist(now.saturating_add(delay), key);
                } else {
                    table.was_stale();
                }
            }
            table.fresh = fresh;
        }
        while let Some((deadline, key, is_in_line)) = table.earliest() {
            if table.at(key).is_some() {
                return Some(deadline);
            }
            // A cancelled sleep wakes no future.
            table.forget_earliest(is_in_line);
            table.was_stale();
        }
        None
    }

    /// Removes all sleeps, because the actor has stopped.
    pub(super) fn clear(&self) {
        let mut table = self.lock();
        let sleepers = mem::take(&mut table.sleepers);
        table.vacant.clear();
        table.line.clear();
        table.heap.clear();
        table.fresh.clear();
        drop(table);
        // The wakers are dropped after the table is unlocked, because their code may do anything.
        quiet::drop_each(sleepers);
    }
}
