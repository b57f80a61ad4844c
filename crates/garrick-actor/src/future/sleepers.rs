//! Who sleeps inside an actor, and until when.
//!
//! Deadlines and a table of sleepers, both the actor's own: however many sleep, the sponsor's timing wheel has one entry for
//! the actor, the earliest. A deadline is counted from the end of the poll in which the sleep was first polled, so all of a
//! poll's sleeps share one look at the clock. Nobody can be polled before that anyway.
//!
//! ```text
//!   settled: a deadline not before the last one in line ---> line, O(1)
//!            an earlier one ------------------------------> heap, O(log n)
//!   numbers: 1 2 3 4 | 5 6 7 8 9      all before `first_asleep` are over: their polls need no lock
//!                      ^ first_asleep
//! ```
//!
//! Sleeps of one length stand in line, which costs the same however many they are. Cancelling is O(1): it vacates the place in
//! the table, and the entry finds nobody there. When half of the entries are like that, they are swept. Nothing is allocated
//! once all have grown.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use garrick_core::count::{Counter, CounterReader};
use garrick_sched::Nanos;

use crate::quiet;

/// Entries of cancelled sleeps that are not worth a sweep.
const SWEPT_MIN: usize = 32;

/// Names a sleeper; nobody any more once it was vacated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Different for each sleep, and growing, so that those of one deadline wake in order.
    number: u64,
    /// The place in the table.
    place: usize,
}

/// A place in the table.
struct Sleeper {
    /// The number of its sleep; 0 while vacant.
    number: u64,
    /// Whom to wake. Written by its polls, taken when it is due.
    waker: Option<Waker>,
}

#[derive(Default)]
struct Table {
    sleepers: Vec<Sleeper>,
    vacant: Vec<usize>,
    /// Whose deadline is known, in the order of deadlines and of numbers.
    line: VecDeque<(Nanos, Key)>,
    /// Whose deadline is earlier than one in line was, the earliest first.
    heap: BinaryHeap<Reverse<(Nanos, Key)>>,
    /// Who began to sleep in this poll, and for how long.
    fresh: Vec<(Nanos, Key)>,
    /// The number of the last sleep.
    last: u64,
    /// Entries of the two, and of `fresh`, that lead to nobody.
    stale: usize,
    /// No sleep with a smaller number is still to come. Written here, read by polls.
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

    /// The deadline of a sleep is known.
    fn enlist(&mut self, deadline: Nanos, key: Key) {
        match self.line.back() {
            Some((last, _)) if deadline < *last => self.heap.push(Reverse((deadline, key))),
            _ => self.line.push_back((deadline, key)),
        }
    }

    /// The earliest deadline, and whether it stands in line.
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

    /// Takes out what [`Table::earliest`] has shown.
    fn forget_earliest(&mut self, is_in_line: bool) {
        if is_in_line {
            self.line.pop_front();
        } else {
            self.heap.pop();
        }
    }

    /// An entry that was taken out led to nobody.
    fn was_stale(&mut self) {
        self.stale = self.stale.saturating_sub(1);
    }

    /// Some are over. With any in the heap, whose numbers are in no order, nothing new is known.
    fn advance(&mut self) {
        if !self.heap.is_empty() {
            return;
        }
        let next = self.line.front().or(self.fresh.first());
        let first = next.map_or(self.last + 1, |(_, key)| key.number);
        self.first_asleep.set(first);
    }
}

/// See the module.
pub(super) struct Sleepers {
    /// Sleeps write and read it, and the actor before and after its polls; nobody waits for it long.
    table: Mutex<Table>,
    /// The table's `first_asleep`, for who does not have the lock.
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

    /// Somebody begins to sleep.
    pub(super) fn begin(&self, delay: Nanos, waker: &Waker) -> Key {
        // Cloned while the table is free: a waker may do anything then.
        let waker = waker.clone();
        let mut table = self.lock();
        let key = table.occupy(waker);
        table.fresh.push((delay, key));
        key
    }

    /// Whether a sleep is over; if not, `waker` is to be woken. One that is over is forgotten.
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
        // Cloned and dropped while the table is free: a waker may do anything, also give up another sleep.
        let waker = waker.clone();
        let mut table = self.lock();
        let before = table.at(key).map(|sleeper| sleeper.waker.replace(waker));
        drop(table);
        before.is_none()
    }

    /// A sleep is given up.
    pub(super) fn cancel(&self, key: Key) {
        let mut table = self.lock();
        // Dropped when the table is free again: a waker may do anything then.
        let waker = table.vacate(key);
        table.stale += usize::from(waker.is_some());
        if table.stale > SWEPT_MIN && table.stale > (table.line.len() + table.heap.len()) / 2 {
            table.sweep();
        }
        drop(table);
        drop(waker);
    }

    /// Puts into `woken` whom to wake because the time is `now`.
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

    /// Whether anybody sleeps whose deadline is known.
    pub(super) fn any(&self) -> bool {
        self.lock().earliest().is_some()
    }

    /// Gives those a deadline who began to sleep in the poll that is over, and says which one is the earliest.
    /// `now` is called if need be.
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
            // Nobody is to be woken for one who has given up.
            table.forget_earliest(is_in_line);
            table.was_stale();
        }
        None
    }

    /// Forgets everybody: the actor has ended.
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
