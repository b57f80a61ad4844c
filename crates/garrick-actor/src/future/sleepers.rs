//! Sleeps inside an actor, and their deadlines.
//!
//! The actor has its own deadlines and its own table of sleepers. However many sleeps there are,
//! the sponsor's timing wheel has one entry for the actor, the earliest. A deadline counts from the
//! end of the poll in which the sleep was first polled, so all sleeps of a poll share one look at
//! the clock. No sleep can be polled again before that anyway.
//!
//! ```text
//!   settled: a deadline not before the last one in line ---> line, O(1)
//!            an earlier one ------------------------------> heap, O(log n)
//!   numbers: 1 2 3 4 | 5 6 7 8 9      all before `first_asleep` are over: their polls need no lock
//!                      ^ first_asleep
//! ```
//!
//! Sleeps of one length stand in line, at constant cost however many they are. Cancelling is O(1):
//! it vacates the place in the table, and the entry then leads nowhere. When half of the entries
//! are stale, they are swept. Nothing is allocated once all collections have grown.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use garrick_core::count::{Counter, CounterReader};
use garrick_sched::Nanos;

use crate::quiet;

/// Number of stale entries that are not worth a sweep.
const SWEPT_MIN: usize = 32;

/// Identifies a sleep. Identifies nothing once its place was vacated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Unique and ascending number of the sleep, so that sleeps of one deadline wake in order.
    number: u64,
    /// Place in the table.
    place: usize,
}

/// A place in the table.
struct Sleeper {
    /// Number of its sleep. 0 while vacant.
    number: u64,
    /// Waker of the sleep. Written by its polls, taken when it is due.
    waker: Option<Waker>,
}

#[derive(Default)]
struct Table {
    sleepers: Vec<Sleeper>,
    vacant: Vec<usize>,
    /// Sleeps with known deadlines, in the order of deadlines and of numbers.
    line: VecDeque<(Nanos, Key)>,
    /// Sleeps with an earlier deadline than the last in line had, the earliest first.
    heap: BinaryHeap<Reverse<(Nanos, Key)>>,
    /// Sleeps that began in this poll, and their lengths.
    fresh: Vec<(Nanos, Key)>,
    /// Number of the last sleep.
    last: u64,
    /// Number of stale entries in `line`, `heap` and `fresh`.
    stale: usize,
    /// No sleep with a smaller number is still pending. Written here, read by polls.
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

    /// Adds a sleep whose deadline is known.
    fn enlist(&mut self, deadline: Nanos, key: Key) {
        match self.line.back() {
            Some((last, _)) if deadline < *last => self.heap.push(Reverse((deadline, key))),
            _ => self.line.push_back((deadline, key)),
        }
    }

    /// Returns the earliest deadline, and true if it stands in line.
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

    /// Removes the entry that [`Table::earliest`] has returned.
    fn forget_earliest(&mut self, is_in_line: bool) {
        if is_in_line {
            self.line.pop_front();
        } else {
            self.heap.pop();
        }
    }

    /// Records that a removed entry was stale.
    fn was_stale(&mut self) {
        self.stale = self.stale.saturating_sub(1);
    }

    /// Updates `first_asleep` after some sleeps are over. While the heap has entries, whose numbers
    /// are in no order, nothing new is known.
    fn advance(&mut self) {
        if !self.heap.is_empty() {
            return;
        }
        let next = self.line.front().or(self.fresh.first());
        let first = next.map_or(self.last + 1, |(_, key)| key.number);
        self.first_asleep.set(first);
    }
}

/// The sleeps inside an actor.
pub(super) struct Sleepers {
    /// Sleeps write and read it, and the actor before and after its polls. The lock is never held
    /// for long.
    table: Mutex<Table>,
    /// Reader of the table's `first_asleep`, for code that does not hold the lock.
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

    /// Begins a sleep.
    pub(super) fn begin(&self, delay: Nanos, waker: &Waker) -> Key {
        // Cloned while the table is unlocked: a waker's clone may do anything.
        let waker = waker.clone();
        let mut table = self.lock();
        let key = table.occupy(waker);
        table.fresh.push((delay, key));
        key
    }

    /// Returns true if a sleep is over. If not, stores `waker` for it. A sleep that is over is
    /// forgotten.
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
        // Cloned and dropped while the table is unlocked: a waker may do anything, also cancel
        // another sleep.
        let waker = waker.clone();
        let mut table = self.lock();
        let before = table.at(key).map(|sleeper| sleeper.waker.replace(waker));
        drop(table);
        before.is_none()
    }

    /// Cancels a sleep.
    pub(super) fn cancel(&self, key: Key) {
        let mut table = self.lock();
        // Dropped when the table is unlocked again: a waker may do anything then.
        let waker = table.vacate(key);
        table.stale += usize::from(waker.is_some());
        if table.stale > SWEPT_MIN && table.stale > (table.line.len() + table.heap.len()) / 2 {
            table.sweep();
        }
        drop(table);
        drop(waker);
    }

    /// Adds the wakers of the sleeps that are due at `now` to `woken`.
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

    /// Sets the deadlines of the sleeps that began in the last poll. Returns the earliest deadline.
    /// Calls `now` only if needed.
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

    /// Forgets all sleeps, because the actor has ended.
    pub(super) fn clear(&self) {
        let mut table = self.lock();
        let sleepers = mem::take(&mut table.sleepers);
        table.vacant.clear();
        table.line.clear();
        table.heap.clear();
        table.fresh.clear();
        drop(table);
        // Their wakers may do anything.
        quiet::drop_each(sleepers);
    }
}
