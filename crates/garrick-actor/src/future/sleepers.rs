//! Who sleeps inside an actor, and until when.
//!
//! A heap of deadlines and a table of sleepers, both the actor's own: however many sleep, the sponsor's timing wheel has
//! one entry for the actor, the earliest. A deadline is counted from the end of the poll in which the sleep was first
//! polled, so all of a poll's sleeps share one look at the clock. Nobody can be polled before that anyway.
//!
//! Cancelling is O(1): it vacates the place in the table, and the heap's entry finds nobody there. When half of the heap
//! is like that, it is swept. The rest is O(log n) of those who sleep; nothing is allocated once both have grown.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use garrick_sched::Nanos;

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
    /// Whether it is due.
    is_due: bool,
}

#[derive(Default)]
struct Table {
    sleepers: Vec<Sleeper>,
    vacant: Vec<usize>,
    /// Whose deadline is known, the earliest first.
    deadlines: BinaryHeap<Reverse<(Nanos, Key)>>,
    /// Who began to sleep in this poll, and for how long.
    fresh: Vec<(Nanos, Key)>,
    /// The number of the last sleep.
    last: u64,
    /// Entries of `deadlines` that lead to nobody.
    stale: usize,
}

impl Table {
    fn at(&mut self, key: Key) -> Option<&mut Sleeper> {
        let sleeper = self.sleepers.get_mut(key.place)?;
        (sleeper.number == key.number).then_some(sleeper)
    }

    fn occupy(&mut self, waker: &Waker) -> Key {
        self.last += 1;
        let sleeper = Sleeper {
            number: self.last,
            waker: Some(waker.clone()),
            is_due: false,
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
            deadlines,
            sleepers,
            ..
        } = self;
        deadlines.retain(|Reverse((_, key))| sleepers[key.place].number == key.number);
        self.stale = 0;
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Sleepers {
    /// Sleeps write and read it, and the actor before and after its polls; nobody waits for it long.
    table: Mutex<Table>,
}

impl Sleepers {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody begins to sleep.
    pub(super) fn begin(&self, delay: Duration, waker: &Waker) -> Key {
        let delay = Nanos::try_from(delay.as_nanos()).unwrap_or(Nanos::MAX);
        let mut table = self.lock();
        let key = table.occupy(waker);
        table.fresh.push((delay, key));
        key
    }

    /// Whether a sleep is over; if not, `waker` is to be woken. One that is over is forgotten.
    pub(super) fn is_over(&self, key: Key, waker: &Waker) -> bool {
        let mut table = self.lock();
        let Some(sleeper) = table.at(key) else {
            return true;
        };
        if sleeper.is_due {
            let _ = table.vacate(key);
            return true;
        }
        match &mut sleeper.waker {
            Some(known) if known.will_wake(waker) => {}
            known => *known = Some(waker.clone()),
        }
        false
    }

    /// A sleep is given up.
    pub(super) fn cancel(&self, key: Key) {
        let mut table = self.lock();
        let waited = table.at(key).is_some_and(|sleeper| !sleeper.is_due);
        // Dropped when the table is free again: a waker may do anything then.
        let waker = table.vacate(key);
        table.stale += usize::from(waited);
        if table.stale > SWEPT_MIN && table.stale > table.deadlines.len() / 2 {
            table.sweep();
        }
        drop(table);
        drop(waker);
    }

    /// Puts into `woken` whom to wake because the time is `now`.
    pub(super) fn take_due(&self, now: Nanos, woken: &mut Vec<Waker>) {
        let mut table = self.lock();
        while let Some(Reverse((deadline, key))) = table.deadlines.peek().copied()
            && deadline <= now
        {
            table.deadlines.pop();
            match table.at(key) {
                Some(sleeper) => {
                    sleeper.is_due = true;
                    woken.extend(sleeper.waker.take());
                }
                None => table.stale = table.stale.saturating_sub(1),
            }
        }
    }

    /// Whether anybody sleeps whose deadline is known.
    pub(super) fn any(&self) -> bool {
        !self.lock().deadlines.is_empty()
    }

    /// Gives those a deadline who began to sleep in the poll that is over, and says which one is the earliest.
    /// `now` is called if need be.
    pub(super) fn settle(&self, now: impl FnOnce() -> Nanos) -> Option<Nanos> {
        let mut table = self.lock();
        if !table.fresh.is_empty() {
            let now = now();
            let mut fresh = mem::take(&mut table.fresh);
            for (delay, key) in fresh.drain(..) {
                if table.at(key).is_some() {
                    let deadline = now.saturating_add(delay);
                    table.deadlines.push(Reverse((deadline, key)));
                } else {
                    table.stale = table.stale.saturating_sub(1);
                }
            }
            table.fresh = fresh;
        }
        while let Some(Reverse((deadline, key))) = table.deadlines.peek().copied() {
            if table.at(key).is_some() {
                return Some(deadline);
            }
            // Nobody is to be woken for one who has given up.
            table.deadlines.pop();
            table.stale = table.stale.saturating_sub(1);
        }
        None
    }

    /// Forgets everybody: the actor has ended.
    pub(super) fn clear(&self) {
        let table = mem::take(&mut *self.lock());
        drop(table);
    }
}
