//! Counts of the tasks that have begun and ended on a worker, before these counts are added to the
//! counters of the kinds of tasks.
//!
//! A worker often creates many tasks of one kind after another, and drops many. So the worker
//! remembers the kind of the latest task, and increments a plain counter as long as the kind stays
//! the same.

use std::cell::Cell;
use std::ptr;

use crate::cell::Table;

/// Maximum number of tasks in a [`Run`]. The count is then added to the counters of the kind of
/// task.
const RUN: u32 = 256;

/// A count of tasks of one kind that have begun, or have ended, one after another. Only the worker
/// uses it.
pub(crate) struct Run {
    /// Function table of the tasks that are counted here, or null.
    table: Cell<*const Table>,
    /// Number of tasks that can still be counted: [`RUN`] minus the number of counted tasks.
    left: Cell<u32>,
}

impl Run {
    fn new() -> Self {
        Self {
            table: Cell::new(ptr::null()),
            left: Cell::new(RUN),
        }
    }

    /// Counts a task, if its kind is the kind of the tasks that are counted here. Returns false if
    /// [`Run::take`] must be called, because the task is of another kind, or because the count has
    /// reached its maximum. Always returns false if [`Run::take`] was never called.
    #[inline(always)]
    fn counts(&self, table: &'static Table) -> bool {
        if !ptr::eq(self.table.get(), table) {
            return false;
        }
        // Stored at once, so that this is one instruction.
        self.left.set(self.left.get() - 1);
        self.left.get() != 0
    }

    /// Returns true if no tasks are counted.
    fn is_empty(&self) -> bool {
        self.left.get() == RUN
    }

    /// Returns the kind and the number of the counted tasks, and begins a new count.
    ///
    /// If `next` is a kind, the new count is for this kind. It begins at 1, for the task that
    /// [`Run::counts`] could not count. But if the old count has reached its maximum, it already
    /// includes this task, so the new count begins at 0. If `next` is `None`, the new count begins
    /// at 0.
    fn take(&self, next: Option<&'static Table>) -> Option<(&'static Table, u64)> {
        let left = self.left.get();
        let count = u64::from(RUN - left);
        let begins = next.is_some() && left > 0;
        self.left.set(RUN - u32::from(begins));
        let next = next.map_or(self.table.get(), ptr::from_ref);
        let table = self.table.replace(next);
        // SAFETY: null, or made from a `&'static Table`.
        let table = unsafe { table.as_ref() }?;
        (count > 0).then_some((table, count))
    }
}

/// Counts of a worker's new and ended tasks, before these counts are added to the counters of the
/// kinds.
pub(crate) struct Vitals {
    /// True if the work of each kind of task is counted.
    are_counted: bool,
    begun: Run,
    ended: Run,
}

/// A function table, the number of tasks with this table that have begun, and the number of tasks
/// with this table that have ended.
pub(crate) type Lives = (&'static Table, u64, u64);

impl Vitals {
    pub(crate) fn new(are_counted: bool) -> Self {
        Self {
            are_counted,
            begun: Run::new(),
            ended: Run::new(),
        }
    }

    /// Counts a task that has begun. Returns false if the caller must call
    /// [`Vitals::begin_other`].
    ///
    /// First compares the kinds of tasks, because this comparison always fails if tasks are not
    /// counted. So both cases need only few instructions.
    #[inline(always)]
    pub(crate) fn begin(&self, table: &'static Table) -> bool {
        self.begun.counts(table) || !self.are_counted
    }

    /// Completes the count of a task that has begun, after [`Vitals::begin`] has returned false.
    /// Calls `add` with the counts that must be added to the counters of the kinds now.
    pub(crate) fn begin_other(&self, table: &'static Table, add: impl FnMut(Lives)) {
        self.take(Some(table), None, add);
    }

    /// Counts a task that has ended, as [`Vitals::begin`] does. Returns false if the caller must
    /// call [`Vitals::end_other`].
    #[inline(always)]
    pub(crate) fn end(&self, table: &'static Table) -> bool {
        self.ended.counts(table) || !self.are_counted
    }

    /// Completes the count of a task that has ended, as [`Vitals::begin_other`] does.
    pub(crate) fn end_other(&self, table: &'static Table, add: impl FnMut(Lives)) {
        self.take(None, Some(table), add);
    }

    /// Passes all collected counts to `add`, and resets them to 0.
    #[inline]
    pub(crate) fn settle(&self, add: impl FnMut(Lives)) {
        if !self.begun.is_empty() || !self.ended.is_empty() {
            self.take(None, None, add);
        }
    }

    #[cold]
    #[inline(never)]
    fn take(
        &self,
        begins: Option<&'static Table>,
        ends: Option<&'static Table>,
        mut add: impl FnMut(Lives),
    ) {
        if let Some((table, count)) = self.begun.take(begins) {
            add((table, count, 0));
        }
        if let Some((table, count)) = self.ended.take(ends) {
            add((table, 0, count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::tables::nothing_to_drop;

    static FIRST: Table = Table::of_messages::<u8>(nothing_to_drop);
    static SECOND: Table = Table::of_messages::<u16>(nothing_to_drop);

    fn begin(vitals: &Vitals, table: &'static Table, add: impl FnMut(Lives)) {
        if !vitals.begin(table) {
            vitals.begin_other(table, add);
        }
    }

    fn end(vitals: &Vitals, table: &'static Table, add: impl FnMut(Lives)) {
        if !vitals.end(table) {
            vitals.end_other(table, add);
        }
    }

    #[test]
    fn every_task_is_counted_once() {
        let vitals = Vitals::new(true);
        let counts = Cell::new([0; 4]);
        let add = |(table, begun, ended): Lives| {
            let mut all = counts.get();
            let first = 2 * usize::from(!ptr::eq(table, &raw const FIRST));
            all[first] += begun;
            all[first + 1] += ended;
            counts.set(all);
            assert!(all[0] >= all[1] && all[2] >= all[3], "{all:?}");
        };
        for step in 0..1_000 {
            begin(&vitals, &FIRST, add);
            if step % 3 == 0 {
                begin(&vitals, &SECOND, add);
                end(&vitals, &SECOND, add);
            }
            end(&vitals, &FIRST, add);
        }
        vitals.settle(add);
        vitals.settle(add);
        assert_eq!(counts.get(), [1_000, 1_000, 334, 334]);
    }

    #[test]
    fn not_many_are_left_out() {
        let vitals = Vitals::new(true);
        let counted = Cell::new(0);
        for step in 1..10_000 {
            let add = |(_, begun, _)| counted.set(counted.get() + begun);
            begin(&vitals, &FIRST, add);
            assert!(counted.get() + u64::from(RUN) >= step);
        }
    }

    #[test]
    fn nothing_is_counted_if_tasks_are_not_counted() {
        let vitals = Vitals::new(false);
        for _ in 0..=RUN {
            assert!(vitals.begin(&FIRST) && vitals.end(&FIRST));
        }
        vitals.settle(|_| unreachable!("no task was counted"));
    }
}
